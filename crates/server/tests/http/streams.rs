//! WebSocket viewers.

use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use ptyard_server::api::stream::ServerNote;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::site::{Site, soon};

/// What a viewer gets.
#[derive(Debug)]
enum Got {
    Bytes(u64, Vec<u8>),
    Note(ServerNote),
    Pong(Vec<u8>),
    End,
}

struct Viewer(WebSocketStream<UnixStream>);

impl Viewer {
    async fn open(site: &Site, id: &str, query: &str) -> Self {
        let address = format!("ws://localhost/v1/terminals/{id}/stream?{query}");
        let opened = tokio_tungstenite::client_async(address, site.connect().await);
        Self(soon("the stream", opened).await.unwrap().0)
    }

    async fn next(&mut self) -> Got {
        match soon("a message", self.0.next()).await {
            Some(Ok(Message::Binary(framed))) => {
                let (offset, bytes) = framed.split_first_chunk().expect("an offset goes before the bytes");
                Got::Bytes(u64::from_be_bytes(*offset), bytes.to_vec())
            }
            Some(Ok(Message::Text(text))) => Got::Note(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Pong(data))) => Got::Pong(data.to_vec()),
            Some(Ok(Message::Ping(_) | Message::Frame(_))) => panic!("the server sends no such thing"),
            Some(Ok(Message::Close(_)) | Err(_)) | None => Got::End,
        }
    }

    /// The next note, output passed over.
    async fn note(&mut self) -> ServerNote {
        loop {
            match self.next().await {
                Got::Note(note) => return note,
                Got::Bytes(..) | Got::Pong(_) => {}
                Got::End => panic!("the stream ended before a note"),
            }
        }
    }

    /// Output until it holds `text`.
    async fn until(&mut self, text: &str) -> String {
        let mut seen = Vec::new();
        loop {
            match self.next().await {
                Got::Bytes(_, bytes) => seen.extend(bytes),
                Got::Note(_) | Got::Pong(_) => {}
                Got::End => panic!("the stream ended before {text}"),
            }
            let shown = String::from_utf8_lossy(&seen);
            if shown.contains(text) {
                return shown.into_owned();
            }
        }
    }

    async fn send(&mut self, message: Message) {
        self.0.send(message).await.unwrap();
    }
}

#[tokio::test]
async fn case_rs02_a_viewer_that_is_cut_off_again_and_again_sees_every_byte_once() {
    let site = Site::start();
    let script = "for i in $(seq 1 2000); do echo line-$i; sleep .0005; done";
    let command = json!({"command": script, "login": false, "shell": "/bin/sh", "yield_ms": 250});
    let started = site.exec(command).await;
    let mut seen = Vec::new();
    let mut cuts = 0;
    let exit = 'connections: loop {
        let mut viewer = Viewer::open(&site, &started.id, &format!("since={}", seen.len())).await;
        let mut messages = 0;
        loop {
            match viewer.next().await {
                Got::Note(ServerNote::Hello { offset, .. }) => assert_eq!(offset, seen.len() as u64),
                Got::Note(ServerNote::Exit { exit, offset }) => {
                    assert_eq!(offset, seen.len() as u64);
                    break 'connections exit;
                }
                Got::Bytes(at, bytes) => {
                    assert_eq!(at, seen.len() as u64, "no gap and no repeat");
                    seen.extend(bytes);
                    messages += 1;
                    if messages > cuts % 7 {
                        cuts += 1;
                        continue 'connections;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    };
    let expected: String = (1..=2000).map(|n| format!("line-{n}\n")).collect();
    assert!(String::from_utf8(seen).unwrap() == expected);
    assert_eq!(exit.code, Some(0));
    assert!(cuts > 3, "it was cut {cuts} times");
    site.close().await;
}

#[tokio::test]
async fn case_g03_pings_are_answered_promptly_under_a_flood() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["yes"], "yield_ms": 250, "max_tokens": 1})).await;
    let mut viewer = Viewer::open(&site, &started.id, "since=0").await;
    let mut bytes_seen = 0;
    for turn in 0..20_u8 {
        let asked = Instant::now();
        viewer.send(Message::Ping(vec![turn].into())).await;
        loop {
            match viewer.next().await {
                Got::Bytes(_, bytes) => bytes_seen += bytes.len(),
                Got::Note(_) => {}
                Got::Pong(data) => {
                    assert_eq!(data, [turn]);
                    break;
                }
                Got::End => panic!("the viewer was dropped"),
            }
        }
        assert!(asked.elapsed() < Duration::from_secs(3), "pong {turn} took {:?}", asked.elapsed());
    }
    assert!(bytes_seen > 100_000, "it was no flood: {bytes_seen} bytes");
    site.close().await;
}

#[tokio::test]
async fn case_l03_little_output_lies_between_a_pong_and_a_slow_viewer() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["yes"], "yield_ms": 250, "max_tokens": 1})).await;
    let mut viewer = Viewer::open(&site, &started.id, "since=0").await;
    for turn in 0..10_u8 {
        // The viewer reads nothing meanwhile: the server fills what there is to fill.
        for _ in 0..3 {
            site.call(hyper::Method::GET, "/healthz", &serde_json::Value::Null).await;
        }
        viewer.send(Message::Ping(vec![turn].into())).await;
        let mut bytes_ahead = 0;
        loop {
            match viewer.next().await {
                Got::Bytes(_, bytes) => bytes_ahead += bytes.len(),
                Got::Note(_) => {}
                Got::Pong(_) => break,
                Got::End => panic!("the viewer was dropped"),
            }
        }
        // The kernel's 128 KiB and two messages: at 100 KB/s less than a heartbeat of 3 s. This viewer reads another
        // 128 KiB ahead itself.
        let most = (128 + 2 * 64 + 128) << 10;
        assert!(bytes_ahead <= most, "{bytes_ahead} bytes lay before pong {turn}");
    }
    site.close().await;
}

#[tokio::test]
async fn case_l03_a_viewer_that_does_not_read_holds_up_nobody() {
    let site = Site::start();
    // 22 MB: more than any buffer on the way, less than the log keeps.
    let started = site.exec(json!({"argv": ["seq", "1", "3000000"], "yield_ms": 250, "max_tokens": 1})).await;
    let _stuck = Viewer::open(&site, &started.id, "since=0").await;
    let mut other = Viewer::open(&site, &started.id, "since=0").await;
    let mut bytes_seen = 0;
    while bytes_seen < 4 << 20 {
        if let Got::Bytes(at, bytes) = other.next().await {
            assert_eq!(at, bytes_seen);
            bytes_seen += bytes.len() as u64;
        }
    }
    site.close().await;
}

#[tokio::test]
async fn case_g01_a_frame_that_declares_more_than_is_taken_ends_the_stream_by_its_header() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let lengths: [&[u8]; 4] = [
        &[0x82, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 1],
        &[0x82, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff],
        &[0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0],
        &[0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ];
    for header in lengths {
        let mut viewer = site.connect().await;
        let hello = format!(
            "GET /v1/terminals/{}/stream?input=true HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            started.id
        );
        viewer.write_all(hello.as_bytes()).await.unwrap();
        viewer.write_all(header).await.unwrap();
        viewer.write_all(b"maskbody").await.unwrap();
        let mut rest = Vec::new();
        // The end, whether it is clean or a reset.
        let _ = soon("the end of the stream", viewer.read_to_end(&mut rest)).await;
        assert!(rest.starts_with(b"HTTP/1.1 101"));
    }
    // The terminal was not touched.
    let window =
        site.write(&started.id, json!({"input": {"chars": "alive\n"}, "until": ["regex:alive"]})).await;
    assert_eq!(window.output, "alive\n");
    site.close().await;
}

#[tokio::test]
async fn case_rs05_an_observer_is_refused_what_a_driver_may() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "tty": true, "size": "120x40", "yield_ms": 250})).await;
    let mut observer = Viewer::open(&site, &started.id, "since=0").await;
    let hello = observer.note().await;
    assert_eq!(hello, ServerNote::Hello { id: started.id.clone(), offset: 0, cols: 120, rows: 40 });
    observer.send(Message::Binary(b"typed by an observer\n".to_vec().into())).await;
    let resize = Message::Text(r#"{"type":"resize","cols":80,"rows":24}"#.into());
    observer.send(resize.clone()).await;
    for _ in 0..2 {
        let ServerNote::Error { code, message } = observer.note().await else { panic!("it was not refused") };
        assert_eq!(code, "forbidden");
        assert!(message.contains("input=true"), "{message}");
    }
    // Case R06: still the size it had.
    let info: ptyard_server::api::TerminalInfo = site.get(&format!("/v1/terminals/{}", started.id)).await;
    assert_eq!((info.size.cols, info.size.rows), (120, 40));

    let mut driver = Viewer::open(&site, &started.id, "since=0&input=true").await;
    driver.send(Message::Binary(b"typed by a driver\n".to_vec().into())).await;
    let shown = driver.until("typed by a driver").await;
    assert!(!shown.contains("observer"), "{shown}");
    driver.send(resize).await;
    let resized = ServerNote::Resized { cols: 80, rows: 24 };
    while observer.note().await != resized {}
    site.close().await;
}

#[tokio::test]
async fn a_driver_is_told_what_cannot_be_followed_and_stays() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let mut driver = Viewer::open(&site, &started.id, "input=true").await;
    assert!(matches!(driver.note().await, ServerNote::Hello { .. }));
    for (sent, expected) in [
        ("not json", "invalid_request"),
        (r#"{"type":"resize","cols":1,"rows":1}"#, "invalid_size"),
        (r#"{"type":"resize","cols":80,"rows":24}"#, "not_a_tty"),
    ] {
        driver.send(Message::Text(sent.into())).await;
        let ServerNote::Error { code, .. } = driver.note().await else { panic!("{sent} was followed") };
        assert_eq!(code, expected, "{sent}");
    }
    driver.send(Message::Binary(b"still here\n".to_vec().into())).await;
    driver.until("still here").await;
    site.close().await;
}

#[tokio::test]
async fn a_stream_without_upgrade_or_terminal_is_refused_in_words() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let path = format!("/v1/terminals/{}/stream", started.id);
    let answer = site.call(hyper::Method::GET, &path, &serde_json::Value::Null).await;
    assert_eq!(answer.code(), (426, "invalid_request".to_owned()));
    let address = "ws://localhost/v1/terminals/nobody/stream";
    let opened = tokio_tungstenite::client_async(address, site.connect().await).await;
    let Err(tokio_tungstenite::tungstenite::Error::Http(response)) = opened else { panic!("it was let in") };
    assert_eq!(response.status().as_u16(), 404);
    site.close().await;
}

#[tokio::test]
async fn streams_of_a_stopping_server_are_closed() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let mut viewer = Viewer::open(&site, &started.id, "").await;
    assert!(matches!(viewer.next().await, Got::Note(ServerNote::Hello { .. })));
    let closing = tokio::spawn(site.close());
    loop {
        if matches!(viewer.next().await, Got::End) {
            break;
        }
    }
    closing.await.unwrap();
}
