//! Cloudflare's bridge, as a client of its own speaks to it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptyard_testkit::vendors::cloudflare::{CloudflareServer, KEY};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::wire::{Wire, agrees};

#[tokio::test]
async fn the_server_answers_as_the_vendor_was_recorded() {
    let server = CloudflareServer::start().await;
    let bearer = format!("Bearer {KEY}");
    let api = Wire::new(&server.url(), &[("authorization", bearer.as_str())]);
    let (status, made) = api.ask("POST", "/v1/sandbox", &Value::Null).await;
    assert_eq!(status, 200);
    agrees("a sandbox", &made, &json!({"id": "mfrggzdfmy2tqnrzgezdgnbvge"}));
    let path = format!("/v1/sandbox/{}", made["id"].as_str().unwrap());

    let order = json!({"argv": ["sh", "-c", "echo hi; exit 3"], "timeout_ms": 30_000});
    let (status, told) = api.text("POST", &format!("{path}/exec"), &order).await;
    let said = STANDARD.encode("hi\n");
    assert_eq!(
        (status, told),
        (200, format!("event: stdout\ndata: {said}\n\nevent: exit\ndata: {{\"exit_code\":3}}\n\n"))
    );

    // Not every bridge tells how a terminal ended; the recorded one did.
    server.fail(|faults| faults.tells_exits = true);
    let mut socket = api.socket(&format!("{path}/pty?cols=80&rows=24"), &[]).await;
    let (ready, _buffer_before_it) = socket.document().await;
    assert_eq!(ready, json!({"type": "ready"}));
    socket.send(Message::binary("exec sh -c 'exit 7'\n")).await;
    let (end, output) = socket.document().await;
    assert_eq!((&end["type"], &end["code"]), (&json!("exit"), &json!(7)), "{end}");
    assert!(!output.is_empty(), "what is printed comes as bytes");
    assert_eq!(api.text("DELETE", &path, &Value::Null).await.0, 204);
}
