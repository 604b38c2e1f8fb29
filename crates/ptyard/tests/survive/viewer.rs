//! Viewers as other programs would be ones: they go on from their offset when their server goes.

use std::path::Path;
use std::time::Duration;

use ptyard::client::{Client, StreamItem, Typing};
use serde_json::json;

use crate::stage::{LIMIT, Stage};

/// What a viewer saw.
pub(crate) struct Viewed {
    pub(crate) bytes: Vec<u8>,
    /// The end of the log, as the exit told it.
    pub(crate) end: u64,
    pub(crate) reconnects: u32,
}

/// Follows a terminal to its end, over as many servers as it takes.
pub(crate) fn follow(socket: &Path, id: &str) -> Viewed {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut viewed = Viewed { bytes: Vec::new(), end: 0, reconnects: 0 };
        loop {
            if view(socket, id, &mut viewed).await {
                return viewed;
            }
            viewed.reconnects += 1;
        }
    })
}

/// Says whether it saw the end.
async fn view(socket: &Path, id: &str, viewed: &mut Viewed) -> bool {
    let Ok(client) = Client::connect(socket).await else {
        tokio::time::sleep(Duration::from_millis(5)).await;
        return false;
    };
    let since = Some(viewed.bytes.len() as u64);
    let Ok((mut stream, _input)) = client.stream(id, since, Typing::No).await else { return false };
    loop {
        match stream.next().await {
            Ok(Some(StreamItem::Output { at, bytes })) => {
                assert_eq!(at, viewed.bytes.len() as u64, "a hole, or bytes twice");
                viewed.bytes.extend_from_slice(&bytes);
            }
            Ok(Some(StreamItem::Exit { offset, .. })) => {
                viewed.end = offset;
                return true;
            }
            Ok(Some(StreamItem::Gap { from, to })) => panic!("{from} to {to} is gone"),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return false,
        }
    }
}

#[test]
fn case_n03_of_500_viewers_that_come_while_a_program_ends_each_sees_the_end() {
    const AT_ONCE: usize = 10;
    let stage = Stage::new();
    stage.server();
    let socket = stage.state().join("ptyard.sock");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let viewers = async {
        let mut crowd = tokio::task::JoinSet::new();
        for _ in 0..AT_ONCE {
            let socket = socket.clone();
            crowd.spawn(async move {
                let mut client = Client::connect(&socket).await.unwrap();
                for _ in 0..500 / AT_ONCE {
                    let argv = ["bash", "-c", "echo x; sleep 0.0$RANDOM; echo y"];
                    let request = serde_json::from_value(json!({"argv": argv, "yield_ms": 0, "tty": true}));
                    let started = client.exec(&request.unwrap()).await.unwrap();
                    let mut viewed = Viewed { bytes: Vec::new(), end: 0, reconnects: 0 };
                    assert!(view(&socket, &started.id, &mut viewed).await, "{}: no end", started.id);
                    assert_eq!(viewed.bytes, b"x\r\ny\r\n");
                }
            });
        }
        crowd.join_all().await
    };
    let all = runtime.block_on(async { tokio::time::timeout(LIMIT, viewers).await });
    assert_eq!(all.expect("somebody waits for ever").len(), AT_ONCE);
}
