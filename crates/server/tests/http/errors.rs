//! Refusals of a real yard.

use hyper::Method;
use serde_json::{Value, json};

use crate::site::Site;

#[tokio::test]
async fn case_api04_every_kind_of_refusal_has_its_own_code() {
    let site = Site::start();
    let ended = site.exec(json!({"argv": ["true"], "until": ["exit"], "name": "ended"})).await;
    let running =
        site.exec(json!({"argv": ["cat"], "stdin": "pipe", "name": "running", "yield_ms": 250})).await;
    let removed = site.exec(json!({"argv": ["true"], "until": ["exit"]})).await;
    site.call(Method::DELETE, &format!("/v1/terminals/{}", removed.id), &Value::Null).await.json::<Value>();

    let write = |id: &str| format!("/v1/terminals/{id}/write");
    let typed = json!({"input": {"chars": "x"}});
    let calls = [
        (Method::POST, write("nobody"), typed.clone(), 404, "unknown_terminal"),
        (Method::POST, write(&removed.id), typed.clone(), 410, "terminal_removed"),
        (Method::POST, write(&ended.id), typed, 409, "terminal_exited"),
        (Method::DELETE, format!("/v1/terminals/{}", running.id), Value::Null, 409, "terminal_running"),
        (
            Method::POST,
            "/v1/terminals".into(),
            json!({"argv": ["/nowhere/at/all"]}),
            422,
            "program_not_found",
        ),
        (Method::POST, "/v1/terminals".into(), json!({}), 400, "invalid_argument"),
        (
            Method::POST,
            "/v1/terminals".into(),
            json!({"argv": ["a"], "env": {"": "x"}}),
            400,
            "invalid_argument",
        ),
        (
            Method::POST,
            "/v1/terminals".into(),
            json!({"argv": ["a"], "caller_env": {"A=B": "x"}}),
            400,
            "invalid_argument",
        ),
        (
            Method::POST,
            "/v1/terminals".into(),
            json!({"argv": ["echo", "x".repeat(200_000)]}),
            400,
            "invalid_argument",
        ),
        (Method::POST, "/v1/terminals".into(), json!({"argv": "cat"}), 400, "invalid_request"),
        (Method::POST, "/v1/terminals/running/resize".into(), json!({"size": "1x1"}), 400, "invalid_size"),
        (Method::POST, "/v1/terminals/running/resize".into(), json!({"size": "80x24"}), 409, "not_a_tty"),
        (
            Method::POST,
            "/v1/terminals/running/signal".into(),
            json!({"signal": "NOPE"}),
            400,
            "unknown_signal",
        ),
        (
            Method::GET,
            "/v1/terminals/running/output?since=999999".into(),
            Value::Null,
            416,
            "offset_beyond_end",
        ),
        (
            Method::GET,
            "/v1/terminals/running/output?max_bytes=0".into(),
            Value::Null,
            400,
            "invalid_argument",
        ),
        // Fields without their names would be taken for a signal and whom it is for.
        (Method::POST, "/v1/terminals/running/signal".into(), json!(["TERM", false]), 400, "invalid_request"),
        (
            Method::POST,
            "/v1/terminals".into(),
            json!({"command": "x", "backend": "mars"}),
            501,
            "unsupported",
        ),
        (Method::PUT, "/v1/terminals".into(), json!({}), 405, "invalid_request"),
        (Method::GET, "/v2".into(), Value::Null, 404, "not_found"),
    ];
    for (method, path, body, status, code) in calls {
        let (got_status, error) = site.call(method, &path, &body).await.refusal();
        assert_eq!((got_status, error.code.as_str()), (status, code), "{path}: {}", error.message);
        assert!(!error.retryable);
        assert!(code != "unsupported" || error.message.contains("there are local"), "{}", error.message);
    }
    site.close().await;
}

#[tokio::test]
async fn an_oversized_body_is_refused_and_the_refusal_can_be_read() {
    let site = Site::start();
    let body = json!({"command": "x".repeat(17 << 20)});
    let answer = site.call(Method::POST, "/v1/terminals", &body).await;
    assert_eq!(answer.code(), (413, "input_too_large".to_owned()));
    site.close().await;
}
