//! Law 3: whoever vanishes, whenever, costs nothing.

use std::fmt::Write as _;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::site::{Site, raw_post, soon};

/// How often callers vanish.
const TIMES: usize = 20;

/// Sends a long poll that nothing ends.
async fn poll_for_ever(site: &Site, id: &str) -> UnixStream {
    let mut caller = site.connect().await;
    let poll = raw_post(
        &format!("/v1/terminals/{id}/write"),
        &json!({"yield_ms": 600_000, "until": ["regex:never printed"]}),
    );
    caller.write_all(&poll).await.unwrap();
    caller
}

/// Types a line and waits until the log holds it; the shared cursor stays where it is.
async fn type_line(site: &Site, id: &str, line: &str) {
    let info: ptyard_server::api::TerminalInfo = site.get(&format!("/v1/terminals/{id}")).await;
    let body = json!({
        "input": {"chars": format!("{line}\n")}, "since": info.log.end,
        "until": [format!("regex:{line}")], "yield_ms": 30_000
    });
    let window = site.write(id, body).await;
    assert_eq!(window.ended_by, "regex", "{line} was not echoed");
}

#[tokio::test]
async fn law_03_callers_who_vanish_while_they_wait_cost_nothing() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let mut expected = started.output;
    for turn in 0..TIMES {
        let caller = poll_for_ever(&site, &started.id).await;
        let line = format!("<line {turn}>");
        type_line(&site, &started.id, &line).await;
        writeln!(expected, "{line}").unwrap();
        drop(caller);
    }
    // It comes at once: had one of the calls lived on, it would hold the cursor.
    let all = site
        .write(&started.id, json!({"until": [format!("regex:<line {}>", TIMES - 1)], "yield_ms": 30_000}))
        .await;
    assert_eq!(all.output, expected);
    assert_eq!(all.from, started.next);
    site.close().await;
}

#[tokio::test]
async fn law_03_callers_who_vanish_with_more_requests_on_the_way_cost_nothing() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let mut caller = site.connect().await;
    let path = format!("/v1/terminals/{}/write", started.id);
    // The second request lies unread in the connection, so the end of the peer is not read either; it is asked of
    // the kernel before the window is handed over.
    let mut both = raw_post(&path, &json!({"until": ["regex:<now>"], "yield_ms": 30_000}));
    both.extend_from_slice(&raw_post(&path, &json!({"yield_ms": 250})));
    caller.write_all(&both).await.unwrap();
    type_line(&site, &started.id, "<before>").await;
    drop(caller);
    type_line(&site, &started.id, "<now>").await;
    let all = site.write(&started.id, json!({"until": ["regex:<now>"], "yield_ms": 30_000})).await;
    assert_eq!(all.output, "<before>\n<now>\n");
    site.close().await;
}

#[tokio::test]
async fn law_03_callers_who_vanish_in_the_middle_of_a_long_reply_cost_nothing() {
    let site = Site::start();
    let lines = 300_000;
    let started = site
        .exec(json!({
            "command": format!("read go; seq {lines}"), "login": false, "shell": "/bin/sh",
            "stdin": "pipe", "yield_ms": 250
        }))
        .await;
    assert_eq!(started.output, "");
    let path = format!("/v1/terminals/{}/write", started.id);
    let poll = json!({"until": ["exit"], "yield_ms": 60_000, "max_tokens": 4_000_000});
    site.until_exit(&started.id, "go\n").await;
    for turn in 0..5 {
        let mut caller = site.connect().await;
        caller.write_all(&raw_post(&path, &poll)).await.unwrap();
        // The reply is on its way; more of it than the sockets hold stays with the server.
        let mut some = vec![0; 1 + turn * 50_000];
        soon("the beginning of the reply", caller.read_exact(&mut some)).await.unwrap();
        drop(caller);
    }
    let all = site.write(&started.id, poll).await;
    let expected: String = (1..=lines).fold(String::new(), |mut text, n| {
        writeln!(text, "{n}").unwrap();
        text
    });
    assert_eq!(all.from, 0);
    assert!(all.output == expected, "{} of {} bytes", all.output.len(), expected.len());
    assert_eq!(
        all.exit.and_then(|exit| exit.code),
        Some(0),
        "the end comes with the window that was delivered"
    );
    site.close().await;
}

#[tokio::test]
async fn law_03_a_client_whose_connection_broke_asks_again_from_its_offset() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["printf", "abcdef"], "until": ["exit"]})).await;
    for since in 0..=6 {
        let again = site.write(&started.id, json!({"since": since, "until": ["exit"]})).await;
        assert_eq!(again.output, &"abcdef"[since..]);
        assert_eq!((again.from, again.next), (since as u64, 6));
    }
    site.close().await;
}

impl Site {
    /// Types and waits for the end of the program; moves no cursor.
    async fn until_exit(&self, id: &str, chars: &str) {
        let path = format!("/v1/terminals/{id}/write");
        let body = json!({"input": {"chars": chars}, "since": 0, "until": ["exit"], "yield_ms": 60_000, "max_tokens": 1});
        let window: ptyard_server::api::WindowReply = self.post(&path, body).await;
        assert_eq!(window.ended_by, "exit");
    }
}
