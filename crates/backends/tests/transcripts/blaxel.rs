//! Blaxel, as its Python client 0.4.24 speaks.

use ptyard_testkit::vendors::blaxel::{BlaxelServer, KEY};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::wire::{Wire, agrees, path_of};

#[tokio::test]
async fn the_server_answers_as_the_vendor_was_recorded() {
    let server = BlaxelServer::start().await;
    let bearer = format!("Bearer {KEY}");
    let headers = [
        ("x-blaxel-authorization", bearer.as_str()),
        ("x-blaxel-workspace", "ws"),
        ("blaxel-version", "2026-09-22"),
    ];
    let api = Wire::new(&server.url(), &headers);
    let order = json!({
        "metadata": {"name": "agents-x"},
        "spec": {
            "enabled": true, "region": "us-pdx-1",
            "runtime": {"envs": [{"name": "A", "value": "1"}], "image": "blaxel/base-image:latest", "memory": 4096},
        },
    });
    let (status, made) = api.ask("POST", "/v0/sandboxes?createIfNotExist=true", &order).await;
    assert_eq!(status, 200);
    let recorded = json!({
        "metadata": {"name": "agents-x", "workspace": "ws", "url": "http://127.0.0.1:1/sbx"},
        "spec": {"region": "us-pdx-1", "runtime": {"image": "blaxel/base-image:latest", "memory": 4096}},
        "status": "DEPLOYED", "events": [],
    });
    agrees("a sandbox that was made", &made, &recorded);
    assert_eq!((&made["metadata"]["name"], &made["status"]), (&json!("agents-x"), &json!("DEPLOYED")));

    let base = made["metadata"]["url"].as_str().unwrap();
    let (_, path) = path_of(base);
    let query = format!("token={KEY}&cols=80&rows=24&sessionId=pty-360128292ca9&workingDir=/tmp");
    let mut socket = api.socket(&format!("{path}/terminal/ws?{query}"), &[]).await;
    let (first, _) = socket.document().await;
    agrees("output", &first, &json!({"type": "output", "data": "$ "}));
    assert_eq!(first["type"], "output");
    let typed = json!({"type": "input", "data": "exec sh -c 'exit 7'\n"});
    socket.send(Message::text(typed.to_string())).await;
    // The end is told by nothing but the close.
    loop {
        match socket.next().await {
            Message::Text(text) => {
                let more: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(more["type"], "output", "{more}");
            }
            Message::Close(_) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(api.text("DELETE", "/v0/sandboxes/agents-x", &Value::Null).await.0, 200);
}
