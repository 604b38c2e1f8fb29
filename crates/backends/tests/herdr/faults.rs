//! What comes over the wire that nobody expects.

use ptyard_core::turn::{Position, Status};
use ptyard_terminal::backend::Started;
use ptyard_testkit::soon;
use ptyard_testkit::vendors::play::read_until;
use std::future::poll_fn;

use crate::stage::{Stage, lives};

const WAITS: [&str; 3] = ["sh", "-c", "echo ready; exec sleep 1000000"];

async fn until_said(program: &mut Started, status: Status) -> Position {
    soon(status.as_str(), async {
        loop {
            let said = poll_fn(|cx| program.control.poll_evidence(cx)).await;
            if said.status == status {
                return said.position;
            }
        }
    })
    .await
}

#[tokio::test]
async fn case_w14_lines_of_any_size_bad_utf_8_and_odd_json_end_nothing() {
    let stage = Stage::new();
    let (mut program, label) = stage.start(&WAITS).await;
    read_until(&mut program, "ready").await;
    stage.has_looked().await;
    let huge = |bytes: usize| {
        let title = "x".repeat(bytes);
        format!(
            "{{\"event\":\"pane_updated\",\"data\":{{\"pane\":{{\"pane_id\":\"9-9\",\"title\":\"{title}\"}}}}}}\n"
        )
    };
    let oddities: Vec<Vec<u8>> = vec![
        huge(1 << 20).into_bytes(),
        huge(9 << 20).into_bytes(),
        b"{\"event\":\"pane_updated\",\"data\":{\"pane\":{\"pane_id\":\"\xff\xfe\"}}}\n".to_vec(),
        b"\xff\xfe\xfd\n".to_vec(),
        b"[]\n[1]\nnull\n7\n\"x\"\n{}\n\n\n".to_vec(),
        b"{\"event\":null,\"data\":7}\n".to_vec(),
        b"{\"event\":\"pane_closed\",\"data\":{}}\n".to_vec(),
        format!("{}\n", "[".repeat(200_000)).into_bytes(),
    ];
    for (n, odd) in oddities.iter().enumerate() {
        stage.herdr.tell(odd);
        stage.herdr.sees(&label, "working");
        until_said(&mut program, Status::Processing).await;
        stage.herdr.sees(&label, "done");
        until_said(&mut program, Status::Completed).await;
        assert!(lives(&mut program).await, "after {n}");
    }
    // All on the one connection.
    assert_eq!(stage.herdr.subscriptions(), 1);
}

#[tokio::test]
async fn renumbered_panes_are_told_apart() {
    for ids_only in [false, true] {
        let stage = Stage::new();
        if ids_only {
            stage.herdr.tells_ids_only();
        }
        stage.herdr.person_opens_workspace("ptyard");
        stage.herdr.person_opens("somebody's");
        let (mut first, first_label) = stage.start(&WAITS).await;
        let (mut second, second_label) = stage.start(&WAITS).await;
        read_until(&mut first, "ready").await;
        read_until(&mut second, "ready").await;
        stage.has_looked().await;
        let id = stage.herdr.pane_id(&second_label);
        // A person closes a tab before theirs, and both have other ids.
        stage.herdr.close("somebody's");
        assert_ne!(stage.herdr.pane_id(&second_label), id);
        assert!(stage.herdr.pane_id(&first_label).is_some());
        stage.has_looked().await;
        stage.herdr.sees(&second_label, "working");
        until_said(&mut second, Status::Processing).await;
        // The first one's id was the second one's until now.
        stage.herdr.sees(&first_label, "blocked");
        until_said(&mut first, Status::WaitingUserAnswer).await;
        stage.herdr.sees(&second_label, "done");
        until_said(&mut second, Status::Completed).await;
        assert!(lives(&mut first).await && lives(&mut second).await);
    }
}

#[tokio::test]
async fn a_herdr_that_cannot_be_asked_ends_nothing() {
    let stage = Stage::new();
    let (mut program, label) = stage.start(&WAITS).await;
    read_until(&mut program, "ready").await;
    stage.has_looked().await;
    stage.herdr.answers_snapshots_with(Some("[]"));
    let before = stage.herdr.snapshots();
    stage.herdr.tell(b"{\"event\":\"pane_closed\",\"data\":{\"pane_id\":\"1-1\"}}\n");
    // It is asked again and again, with pauses.
    soon("looks", stage.herdr.asked(before + 3)).await;
    assert!(lives(&mut program).await);
    stage.herdr.answers_snapshots_with(None);
    stage.herdr.sees(&label, "working");
    until_said(&mut program, Status::Processing).await;
    assert!(lives(&mut program).await);
}
