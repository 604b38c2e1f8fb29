//! Mail over HTTP.

use hyper::header::HeaderValue;
use hyper::{Method, StatusCode};
use ptyard_server::CLIENT_HEADER;
use ptyard_server::api::{Batching, ErrorReply, MailboxInfo, MessageInfo, Urgency};
use serde_json::{Value, json};

use crate::site::{Answer, Site, request, send};

fn ids(page: &[MessageInfo]) -> Vec<&str> {
    page.iter().map(|message| message.id.as_str()).collect()
}

#[tokio::test]
async fn case_i07_how_an_inbox_stands_is_told_and_how_it_is_drained_is_kept() {
    let site = Site::start();
    site.exec(json!({"argv": ["cat"], "stdin": "pipe", "name": "worker", "yield_ms": 250})).await;
    let path = "/v1/terminals/worker/mailbox";
    let empty: MailboxInfo = site.get(path).await;
    assert_eq!(
        (empty.batching, empty.pending, empty.oldest, empty.oldest_age_ms),
        (Batching::One, 0, None, None)
    );
    let send = async |body: Value| site.call(Method::POST, "/v1/terminals/worker/inbox", &body).await;
    let first = send(json!({"text": "first"})).await;
    let first: MessageInfo = serde_json::from_slice(&first.body).unwrap();
    let urgent = send(json!({"text": "second", "urgency": "now"})).await;
    assert_eq!(serde_json::from_slice::<MessageInfo>(&urgent.body).unwrap().urgency, Urgency::Now);
    assert_eq!(send(json!({"text": "x", "urgency": "soon"})).await.status, StatusCode::BAD_REQUEST);
    let told: MailboxInfo = site.get(path).await;
    assert_eq!((told.pending, told.urgent, told.uncertain), (2, 1, 0));
    assert_eq!((told.oldest, told.oldest_age_ms.is_some()), (Some(first.id.clone()), true));
    let drained = site.call(Method::POST, path, &json!({"batching": "drain"})).await;
    assert_eq!(serde_json::from_slice::<MailboxInfo>(&drained.body).unwrap().batching, Batching::Drain);
    assert_eq!(
        site.call(Method::POST, path, &json!({"batching": "all"})).await.status,
        StatusCode::BAD_REQUEST
    );
    assert_eq!(site.call(Method::POST, path, &json!({})).await.status, StatusCode::OK);
    assert_eq!(site.get::<MailboxInfo>(path).await.batching, Batching::Drain);
    let cancelled = site.call(Method::POST, &format!("/v1/messages/{}/cancel", first.id), &Value::Null).await;
    assert_eq!(serde_json::from_slice::<MessageInfo>(&cancelled.body).unwrap().age_ms, None);
    site.close().await;
}

#[tokio::test]
async fn law_13_mail_is_accepted_looked_at_taken_back_and_sent_again() {
    let site = Site::start();
    let to = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "name": "worker", "yield_ms": 250})).await;
    let from = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "name": "boss", "yield_ms": 250})).await;
    let send = async |body: Value| site.call(Method::POST, "/v1/terminals/worker/inbox", &body).await;
    let answer = send(json!({"text": "hello", "from": "boss", "key": "k"})).await;
    assert_eq!(answer.status, StatusCode::OK);
    let sent: MessageInfo = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((sent.seq, sent.state.as_str(), sent.text.as_str()), (1, "pending", "hello"));
    assert_eq!((&sent.to, sent.from.as_ref()), (&to.id, Some(&from.id)));
    // The same again is the same; another text under the key is refused.
    let again = send(json!({"text": "hello", "from": "boss", "key": "k"})).await;
    assert_eq!(serde_json::from_slice::<MessageInfo>(&again.body).unwrap().id, sent.id);
    let other = send(json!({"text": "other", "from": "boss", "key": "k"})).await;
    assert_eq!(other.status, StatusCode::CONFLICT);
    // A wait ends with the time, and the message was accepted all the same.
    let waited = send(json!({"text": "second", "wait": "completed", "timeout_ms": 1})).await;
    let second: MessageInfo = serde_json::from_slice(&waited.body).unwrap();
    assert_eq!((second.seq, second.state.as_str()), (2, "pending"));
    let page: Vec<MessageInfo> = site.get("/v1/terminals/worker/inbox?most=1").await;
    assert_eq!(ids(&page), [sent.id.as_str()]);
    assert!(page[0].age_ms.is_some());
    let page: Vec<MessageInfo> = site.get(&format!("/v1/terminals/worker/inbox?after={}", sent.id)).await;
    assert_eq!(ids(&page), [second.id.as_str()]);
    let path = format!("/v1/messages/{}", sent.id);
    let cancelled = site.call(Method::POST, &format!("{path}/cancel"), &Value::Null).await;
    assert_eq!(serde_json::from_slice::<MessageInfo>(&cancelled.body).unwrap().state, "cancelled");
    let open: Vec<MessageInfo> = site.get("/v1/terminals/worker/inbox").await;
    let all: Vec<MessageInfo> = site.get("/v1/terminals/worker/inbox?all=true").await;
    assert_eq!((open.len(), all.len()), (1, 2));
    let retried = site.call(Method::POST, &format!("{path}/retry"), &Value::Null).await;
    assert_eq!(serde_json::from_slice::<MessageInfo>(&retried.body).unwrap().state, "pending");
    let shown: MessageInfo = site.get(&path).await;
    assert_eq!((shown.seq, shown.state.as_str()), (1, "pending"));
    site.close().await;
}

#[tokio::test]
async fn mail_that_cannot_be_is_refused_with_its_code() {
    let site = Site::start();
    site.exec(json!({"argv": ["cat"], "stdin": "pipe", "name": "worker", "yield_ms": 250})).await;
    let inbox = "/v1/terminals/worker/inbox";
    let code = async |method, path: &str, body: Value| {
        let answer = site.call(method, path, &body).await;
        assert!(!answer.status.is_success());
        serde_json::from_slice::<ErrorReply>(&answer.body).unwrap().error.code
    };
    let (get, post) = (Method::GET, Method::POST);
    assert_eq!(
        code(post.clone(), "/v1/terminals/nobody/inbox", json!({"text": "x"})).await,
        "unknown_terminal"
    );
    assert_eq!(code(post.clone(), inbox, json!({"text": "x", "from": "worker"})).await, "invalid_argument");
    assert_eq!(code(post.clone(), inbox, json!({"text": ""})).await, "invalid_argument");
    assert_eq!(
        code(post.clone(), inbox, json!({"text": "x".repeat((1 << 20) + 1)})).await,
        "input_too_large"
    );
    assert_eq!(code(get.clone(), "/v1/messages/m99", Value::Null).await, "unknown_message");
    assert_eq!(code(get.clone(), "/v1/messages/99", Value::Null).await, "invalid_argument");
    assert_eq!(code(get, &format!("{inbox}?most=0"), Value::Null).await, "invalid_argument");
    site.close().await;
}

#[tokio::test]
async fn a_program_that_says_what_it_is_called_is_told_so_and_a_terminal_is_not() {
    let site = Site::start();
    site.exec(json!({"argv": ["cat"], "stdin": "pipe", "name": "worker", "yield_ms": 250})).await;
    let called = async |path: &str, body: Value, name: &[u8]| {
        let mut request = request(Method::POST, path, &body);
        request.headers_mut().insert(CLIENT_HEADER, HeaderValue::from_bytes(name).unwrap());
        Answer::read(send(site.connect().await, request).await).await
    };
    let told: MessageInfo =
        called("/v1/messages", json!({"to": "worker", "text": "hi"}), "an ägent".as_bytes()).await.json();
    let sent: MessageInfo = called("/v1/terminals/worker/inbox", json!({"text": "hi"}), b"ui").await.json();
    assert_eq!(
        [told.origin.as_deref(), sent.origin.as_deref()],
        [Some("client:an ägent"), Some("client:ui")]
    );
    // A flow is nobody's to be: what a program says is one word more.
    let sent: MessageInfo =
        called("/v1/terminals/worker/inbox", json!({"text": "hi"}), b"flow:x").await.json();
    assert_eq!(sent.origin.as_deref(), Some("client:flow:x"));
    for bad in [&b" "[..], b"\xff", &[b'a'; 129]] {
        let answer = called("/v1/terminals/worker/inbox", json!({"text": "hi"}), bad).await;
        assert_eq!(answer.code(), (400, "invalid_argument".to_owned()));
    }
    assert_eq!(site.get::<MailboxInfo>("/v1/terminals/worker/mailbox").await.pending, 3);
    site.close().await;
}
