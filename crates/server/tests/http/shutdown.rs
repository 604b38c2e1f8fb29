//! How a server ends.

use futures_util::StreamExt;
use hyper::Method;
use ptyard_server::Served;
use ptyard_server::api::{Done, Leaving, WaitReply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;

use crate::site::{Answer, Site, request, soon};

#[tokio::test]
async fn a_stop_is_answered_ends_the_programs_and_leaves_no_socket() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["sleep", "1000"], "yield_ms": 250})).await;
    let pid = {
        let info: ptyard_server::api::TerminalInfo = site.get(&format!("/v1/terminals/{}", started.id)).await;
        info.pid.expect("a local program has a pid")
    };
    let done: Done = site.post("/v1/stop", Value::Null).await;
    assert!(done.ok);
    let served = soon("the end of the server", site.served).await.unwrap();
    assert!(matches!(served, Served::Stopped) && !site.socket.exists());
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_err(), "the program still lives");
}

#[tokio::test]
async fn law_04_whoever_waits_when_the_server_stops_hears_how_the_program_ended() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let path = format!("/v1/terminals/{}", started.id);
    let mut poll = site.connect().await;
    let body = json!({"until": ["regex:never printed"], "yield_ms": 600_000, "input": {"chars": "taken\n"}});
    // What is typed is echoed: then the poll is known to wait.
    poll.write_all(&crate::site::raw_post(&format!("{path}/write"), &body)).await.unwrap();
    site.until(&started.id, 0, "taken").await;
    let socket = site.socket.clone();
    let closing = tokio::spawn(site.close());
    let mut answer = String::new();
    soon("the answer", poll.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(r#""cause":"killed","by":"stop""#), "{answer}");
    closing.await.unwrap();
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_server_that_leaves_answers_whoever_waits_and_lets_its_programs_go_on() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let path = format!("/v1/terminals/{}", started.id);
    let mut poll = site.connect().await;
    let body = json!({"until": ["regex:never printed"], "yield_ms": 600_000, "input": {"chars": "taken\n"}});
    poll.write_all(&crate::site::raw_post(&format!("{path}/write"), &body)).await.unwrap();
    site.until(&started.id, 0, "taken").await;
    let url = format!("ws://localhost{path}/stream?since=0");
    let (mut viewer, _) = tokio_tungstenite::client_async(url, site.connect().await).await.unwrap();
    let leaving: Leaving = site.post("/v1/replace", Value::Null).await;
    assert_eq!(leaving.listen, None);
    let mut answer = String::new();
    soon("the answer", poll.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains(r#""code":"server_replaced""#), "{answer}");
    let closed = soon("the close", async {
        loop {
            if let Message::Close(frame) = viewer.next().await.unwrap().unwrap() {
                return frame.unwrap();
            }
        }
    });
    assert_eq!(u16::from(closed.await.code), 1012, "service restart");
    drop(viewer);
    let Served::Leaving(yard) = soon("the end of the server", site.served).await.unwrap() else {
        panic!("it stopped its programs");
    };
    assert!(!site.socket.exists());
    let info = yard.list().remove(0);
    assert!(info.exit.is_none(), "{info:?}");
    yard.shutdown().await;
}

#[tokio::test]
async fn idle_and_silent_connections_do_not_hold_up_the_end() {
    let site = Site::start();
    let _silent = site.connect().await;
    let (mut idle, connection) =
        hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(site.connect().await))
            .await
            .unwrap();
    tokio::spawn(connection);
    let answer = idle.send_request(request(Method::GET, "/healthz", &Value::Null)).await.unwrap();
    assert!(Answer::read(answer).await.status.is_success());
    let began = std::time::Instant::now();
    site.close().await;
    assert!(began.elapsed() < std::time::Duration::from_secs(4), "they were cut after {:?}", began.elapsed());
}

#[tokio::test]
async fn a_wait_ends_at_its_time() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let path = format!("/v1/terminals/{}/wait", started.id);
    let reply: WaitReply = site.post(&path, json!({"until": ["exit"], "timeout_ms": 50})).await;
    assert_eq!((reply.ended_by.as_str(), reply.exit), ("deadline", None));
    site.close().await;
}
