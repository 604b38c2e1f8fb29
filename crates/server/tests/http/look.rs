//! Calls that only look, and calls that end a program.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request};
use ptyard_server::api::{Done, KillReply, ReadReply, ScreenReply, TerminalInfo, Version};
use serde_json::{Value, json};

use crate::site::{Answer, Site, send};

#[tokio::test]
async fn output_is_read_as_json_or_as_bytes_and_as_often_as_wanted() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["printf", r"a\000\377z"], "until": ["exit"]})).await;
    let path = format!("/v1/terminals/{}/output", started.id);
    for _ in 0..2 {
        let range: ReadReply = site.get(&path).await;
        assert_eq!((range.from, range.next, range.evicted), (0, 4, 0));
        assert_eq!(BASE64.decode(range.data_base64).unwrap(), b"a\0\xffz");
    }
    let raw = site.call(Method::GET, &format!("{path}?raw=true&since=1&max_bytes=2"), &Value::Null).await;
    assert_eq!(&raw.body[..], b"\0\xff");
    assert_eq!(raw.headers["content-type"], "application/octet-stream");
    assert_eq!(raw.headers["ptyard-from"], "1");
    assert_eq!(raw.headers["ptyard-next"], "3");
    assert_eq!(raw.headers["ptyard-evicted"], "0");
    let accepting =
        Request::get(&path).header("host", "localhost").header("accept", "application/octet-stream");
    let answer = send(site.connect().await, accepting.body(Full::<Bytes>::default()).unwrap()).await;
    assert_eq!(&Answer::read(answer).await.body[..], b"a\0\xffz");
    site.close().await;
}

#[tokio::test]
async fn case_api02_terminals_are_listed_and_shown_by_id_short_id_and_name() {
    let site = Site::start();
    let started =
        site.exec(json!({"argv": ["cat"], "stdin": "pipe", "name": "kitten", "yield_ms": 250})).await;
    let short = started.session_id.expect("it runs").to_string();
    for at in [started.id.as_str(), &short, "kitten"] {
        let info: TerminalInfo = site.get(&format!("/v1/terminals/{at}")).await;
        assert_eq!(info.id, started.id);
        assert_eq!(info.state, "running");
        assert_eq!(info.argv, ["cat"]);
        assert_eq!(info.log.bytes_kept, 0);
        assert!(info.status["status"].is_string());
        assert!(info.created_at.ends_with('Z'), "{}", info.created_at);
    }
    let listed: Vec<TerminalInfo> = site.get("/v1/terminals").await;
    assert_eq!(listed.len(), 1);

    let killed: KillReply = site.post("/v1/terminals/kitten/kill", Value::Null).await;
    assert_eq!(killed.id, started.id);
    assert!(killed.exit.is_some() && killed.survivors.is_empty());
    let removed = site.call(Method::DELETE, "/v1/terminals/kitten", &Value::Null).await;
    assert_eq!(removed.json::<Done>(), Done { id: Some(started.id), ok: true });
    assert_eq!(site.get::<Vec<TerminalInfo>>("/v1/terminals").await.len(), 0);
    site.close().await;
}

#[tokio::test]
async fn a_screen_is_shown_as_json_text_or_ansi() {
    let site = Site::start();
    let program = json!({"argv": ["printf", r"one\ntwo"], "tty": true, "size": "40x5", "until": ["exit"]});
    let started = site.exec(program).await;
    let path = format!("/v1/terminals/{}/screen", started.id);
    let shown: ScreenReply = site.get(&path).await;
    assert_eq!((shown.cols, shown.rows), (40, 5));
    assert_eq!(shown.lines[..2], ["one", "two"]);
    let text = site.call(Method::GET, &format!("{path}?format=text"), &Value::Null).await;
    assert_eq!(text.headers["content-type"], "text/plain; charset=utf-8");
    assert!(text.body.starts_with(b"one\ntwo"));
    let ansi = site.call(Method::GET, &format!("{path}?format=ansi&scrollback=10"), &Value::Null).await;
    assert!(ansi.status.is_success());
    let odd = site.call(Method::GET, &format!("{path}?format=png"), &Value::Null).await;
    assert_eq!(odd.code(), (400, "invalid_argument".to_owned()));
    site.close().await;
}

#[tokio::test]
async fn input_ends_and_signals_arrive() {
    let site = Site::start();
    let reader = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let closed: Done = site.post(&format!("/v1/terminals/{}/close-stdin", reader.id), Value::Null).await;
    assert!(closed.ok);
    let end = site.write(&reader.id, json!({"until": ["exit"], "yield_ms": 30_000})).await;
    assert_eq!(end.exit.and_then(|exit| exit.code), Some(0));
    assert_eq!(end.session_id, None);

    let sleeper = site.exec(json!({"argv": ["sleep", "1000"], "yield_ms": 250})).await;
    let path = format!("/v1/terminals/{}/signal", sleeper.id);
    let sent: Done = site.post(&path, json!({"signal": "SIGUSR1"})).await;
    assert_eq!(sent.id, Some(sleeper.id.clone()));
    let end = site.write(&sleeper.id, json!({"until": ["exit"], "yield_ms": 30_000})).await;
    let exit = end.exit.expect("USR1 ends it");
    assert_eq!((exit.signal, exit.cause.as_str()), (Some(10), "signaled"));
    site.close().await;
}

#[tokio::test]
async fn the_server_says_which_it_is_and_what_it_serves() {
    let site = Site::start();
    let version: Version = site.get("/v1/version").await;
    assert_eq!(version.protocol, ptyard_server::api::PROTOCOL);
    assert_eq!(version.pid, std::process::id());
    assert_eq!(version.state, site.dir.path().display().to_string());
    let described = site.call(Method::GET, "/v1/openapi.json", &Value::Null).await;
    assert_eq!(&described.body[..], ptyard_server::openapi_json().as_bytes());
    let health = site.call(Method::GET, "/healthz", &Value::Null).await;
    assert_eq!(&health.body[..], b"ok\n");
    site.close().await;
}
