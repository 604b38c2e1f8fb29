//! What becomes of panes.

use std::sync::Arc;

use ptyard_core::{ErrorCode, Exit};
use ptyard_terminal::backend::{Backend, Io, Stdin};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::herdr::socket;
use ptyard_testkit::vendors::play::{exit, read_until, type_all};

use crate::stage::{Stage, directory, lives, settings, spec};

const WAITS: [&str; 3] = ["sh", "-c", "echo ready; exec sleep 1000000"];

#[tokio::test]
async fn a_program_has_a_tab_of_its_own_that_shows_it_under_its_name() {
    let stage = Stage::new();
    let (mut program, label) = stage.start(&WAITS).await;
    read_until(&mut program, "ready").await;
    stage.until("the viewer", |herdr| herdr.printed(&label).contains("viewer of ")).await;
    let shown = stage.herdr.printed(&label);
    assert!(shown.contains(&format!("viewer of {label} for sh")), "{shown}");
    // Another one in the same workspace.
    let (_other, other) = stage.start(&WAITS).await;
    assert!(stage.herdr.tabs().ends_with(&[label, other]), "{:?}", stage.herdr.tabs());
}

#[tokio::test]
async fn nothing_of_the_program_is_told_to_herdr() {
    let stage = Stage::new();
    let (mut program, label) =
        stage.start(&["sh", "-c", "echo ready; exec sleep 1000000", "secret-word"]).await;
    read_until(&mut program, "ready").await;
    stage.until("the viewer", |herdr| herdr.printed(&label).contains("viewer of ")).await;
    assert!(!stage.herdr.printed(&label).contains("secret-word"));
}

#[tokio::test]
async fn law_04_a_pane_that_a_person_closes_hangs_up_on_its_program() {
    let stage = Stage::new();
    let (mut program, label) = stage.start(&WAITS).await;
    read_until(&mut program, "ready").await;
    stage.has_looked().await;
    stage.herdr.close(&label);
    let end = exit(&mut program).await;
    // Not lost: it is a child of this machine's own.
    assert!(end.code.is_none() && end.signal.is_some(), "{end:?}");
}

#[tokio::test]
async fn law_04_a_close_of_a_reused_id_ends_nobody_else() {
    let stage = Stage::new();
    stage.herdr.tells_ids_only();
    let (mut first, first_label) = stage.start(&WAITS).await;
    let (mut second, second_label) = stage.start(&WAITS).await;
    read_until(&mut first, "ready").await;
    read_until(&mut second, "ready").await;
    stage.has_looked().await;
    let first_id = stage.herdr.pane_id(&first_label).unwrap();
    stage.herdr.close(&first_label);
    exit(&mut first).await;
    // The second pane has the first one's id now, and the close of that id is told again.
    assert_eq!(stage.herdr.pane_id(&second_label), Some(first_id.clone()));
    let told = format!("{{\"event\":\"pane_closed\",\"data\":{{\"pane_id\":\"{first_id}\"}}}}\n");
    stage.herdr.tell(told.as_bytes());
    stage.has_looked().await;
    // And with all of history behind a connection that broke.
    stage.herdr.cut();
    soon("another subscription", stage.herdr.subscribed(2)).await;
    stage.has_looked().await;
    assert!(lives(&mut second).await);
    assert_eq!(stage.herdr.tabs().iter().filter(|label| **label == second_label).count(), 1);
}

#[tokio::test]
async fn a_program_outlives_herdr_and_is_shown_again() {
    let stage = Stage::new();
    let (mut program, label) = stage.start(&["sh", "-c", "echo ready; read -r x; exit 4"]).await;
    read_until(&mut program, "ready").await;
    stage.has_looked().await;
    stage.herdr.stop();
    assert!(lives(&mut program).await);
    stage.herdr.start_again();
    stage.until("a pane again", |herdr| herdr.printed(&label).contains("viewer of ")).await;
    assert!(lives(&mut program).await);
    let mut sink = program.sink.take().unwrap();
    type_all(&mut *sink, b"go\r").await;
    assert_eq!(exit(&mut program).await, Exit::exited(4));
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_panes_as_they_are() {
    let stage = Stage::new();
    let (mut program, label) = stage.start(&WAITS).await;
    read_until(&mut program, "ready").await;
    for times in 2..5 {
        stage.has_looked().await;
        stage.herdr.cut();
        soon("another subscription", stage.herdr.subscribed(times)).await;
    }
    stage.has_looked().await;
    assert!(lives(&mut program).await);
    assert_eq!(stage.herdr.tabs().iter().filter(|tab| **tab == label).count(), 1);
}

#[tokio::test]
async fn a_server_is_started_where_none_answers() {
    let directory = directory();
    let backend = Arc::new(ptyard_backends::herdr::Herdr::new(settings(&directory))).at("work").unwrap();
    let started = soon("the start", backend.start(spec(&WAITS))).await;
    let beside = socket(directory.path(), "work").with_extension("pid");
    let pid: i32 = std::fs::read_to_string(beside).unwrap().parse().unwrap();
    let server = rustix::process::Pid::from_raw(pid).unwrap();
    let mut program = started.unwrap();
    read_until(&mut program, "ready").await;
    drop(program);
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn what_cannot_be_is_refused_and_leaves_no_pane() {
    let stage = Stage::new();
    let before = stage.herdr.tabs();
    let mut pipes = spec(&WAITS);
    pipes.io = Io::Pipes(Stdin::Null);
    let refused = stage.backend.start(pipes).await.err().unwrap();
    assert_eq!(refused.code, ErrorCode::Unsupported, "{refused}");
    let missing = stage.backend.start(spec(&["no-such-program-here"])).await.err().unwrap();
    assert_eq!(missing.code, ErrorCode::ProgramNotFound, "{missing}");
    assert_eq!(stage.herdr.tabs(), before);
    let at = |place: &str| Arc::clone(&stage.backend).at(place).err().map(|error| error.code);
    assert_eq!(at("work:1-2"), Some(ErrorCode::Unsupported));
    assert_eq!(at("%5"), Some(ErrorCode::Unsupported));
    for bad in ["-x", ".", "a b", "a/b", "a\nb", &"x".repeat(65)] {
        assert_eq!(at(bad), Some(ErrorCode::InvalidArgument), "{bad:?}");
    }
    assert_eq!(at("work"), None);
}

#[tokio::test]
async fn without_herdr_a_start_is_refused() {
    let directory = directory();
    let mut settings = settings(&directory);
    settings.program = "/no/such/herdr".into();
    let backend = ptyard_backends::herdr::Herdr::new(settings);
    assert_eq!(backend.version().await.err().unwrap().code, ErrorCode::BackendUnreachable);
    let refused = backend.start(spec(&WAITS)).await.err().unwrap();
    assert_eq!(refused.code, ErrorCode::BackendUnreachable, "{refused}");
}

#[tokio::test]
async fn many_starts_at_once_share_one_workspace() {
    let stage = Stage::new();
    let mut programs = Vec::new();
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let backend = Arc::clone(&stage.backend);
        all.spawn(async move { backend.start(spec(&WAITS)).await });
    }
    while let Some(started) = all.join_next().await {
        programs.push(started.unwrap().unwrap());
    }
    assert_eq!(stage.herdr.workspaces(), ["ptyard"]);
    assert_eq!(programs.len(), 8);
}
