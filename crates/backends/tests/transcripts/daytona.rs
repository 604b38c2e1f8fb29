//! Daytona, as its Python client 0.226.1 speaks. What it says of sessions without a terminal is left out: programs are
//! run in terminals here, and on pipes by a carrier in one.

use ptyard_testkit::vendors::daytona::{DaytonaServer, KEY};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::wire::{Wire, agrees};

#[tokio::test]
async fn the_server_answers_as_the_vendor_was_recorded() {
    let server = DaytonaServer::start().await;
    let bearer = format!("Bearer {KEY}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("accept", "application/json"),
        ("x-daytona-source", "sdk-python-async"),
    ];
    let api = Wire::new(&server.url(), &headers);
    let order = json!({
        "name": "9bff2266", "env": {"A": "1"}, "labels": {"code-toolbox-language": "python"},
        "autoStopInterval": 0, "volumes": [],
    });
    let (status, made) = api.ask("POST", "/api/sandbox", &order).await;
    assert_eq!(status, 200);
    let recorded = json!({
        "id": "sb-1", "organizationId": "org", "name": "n", "user": "daytona", "env": {}, "labels": {},
        "public": false, "networkBlockAll": false, "target": "us", "cpu": 1, "gpu": 0, "memory": 1, "disk": 3,
        "state": "started", "desiredState": "started", "toolboxProxyUrl": "http://127.0.0.1:1/toolbox",
    });
    agrees("a sandbox that was made", &made, &recorded);

    let id = made["id"].as_str().unwrap();
    let path = format!("/toolbox/{id}/process/pty");
    let create = format!("{path}/create-connect?id=terminal-1&cols=80&rows=24&cwd=/tmp");
    let offered = "X-Daytona-Pty-Exit-Control,X-Daytona-Pty-Envs~eyJBIjogIjEifQ";
    let mut socket = api.socket(&create, &[("sec-websocket-protocol", offered)]).await;
    assert_eq!(socket.protocol.as_deref(), Some("X-Daytona-Pty-Exit-Control"));
    let (first, before) = socket.document().await;
    assert_eq!((first, before), (json!({"type": "control", "status": "connected"}), Vec::new()));
    socket.send(Message::binary("exec sh\n")).await;
    let size = json!({"cols": 120, "rows": 40});
    assert_eq!(api.text("POST", &format!("{path}/terminal-1/resize"), &size).await.0, 200);
    socket.send(Message::binary("exit 7\n")).await;
    let (end, output) = socket.document().await;
    let said = json!({"type": "control", "status": "exited", "exitCode": 7, "exitReason": "non-zero exit"});
    agrees("the end", &end, &said);
    assert_eq!((&end["status"], &end["exitCode"]), (&said["status"], &said["exitCode"]));
    assert!(!output.is_empty(), "what is printed comes as bytes");
    let Message::Close(Some(close)) = socket.next().await else { panic!("it is not closed") };
    let reason: Value = serde_json::from_str(&close.reason).unwrap();
    assert_eq!((u16::from(close.code), &reason["exitCode"]), (1011, &json!(7)), "{reason}");

    let (status, _) = api.text("DELETE", &format!("{path}/terminal-1"), &Value::Null).await;
    assert!([200, 204].contains(&status), "{status}");
    let (status, _) = api.text("DELETE", &format!("/api/sandbox/{id}"), &Value::Null).await;
    assert_eq!(status, 200);
}
