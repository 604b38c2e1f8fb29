//! E2B, as its Python client 2.31.0 speaks.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptyard_testkit::vendors::e2b::{E2bServer, KEY};
use serde_json::{Value, json};

use crate::wire::{Frames, Wire, agrees};

fn process(program: &Value, tty: bool) -> Value {
    let envs = json!({"LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "TERM": "xterm-256color", "A": "1"});
    let mut order = json!({"process": {"cmd": "/bin/sh", "args": program, "envs": envs, "cwd": "/tmp"}});
    if tty {
        order["pty"] = json!({"size": {"cols": 80, "rows": 24}});
    } else {
        order["stdin"] = json!(false);
    }
    order
}

async fn begun(stream: &mut Frames) -> Value {
    let (flags, first) = stream.next().await;
    assert_eq!(flags, 0);
    agrees("the start", &first, &json!({"event": {"start": {"pid": 4242}}}));
    first["event"]["start"]["pid"].clone()
}

#[tokio::test]
async fn the_server_answers_as_the_vendor_was_recorded() {
    let server = E2bServer::start().await;
    let api = Wire::new(&server.url(), &[("x-api-key", KEY)]);
    let order = json!({
        "templateID": "base", "allow_internet_access": true, "autoPause": true, "autoPauseMemory": true,
        "autoResume": {"enabled": true}, "envVars": {"A": "1"}, "metadata": {}, "secure": true, "timeout": 300,
    });
    let (status, made) = api.ask("POST", "/sandboxes", &order).await;
    assert_eq!(status, 201);
    let recorded = json!({
        "clientID": "c1", "envdVersion": "0.6.4", "sandboxID": "sbx1", "templateID": "base",
        "envdAccessToken": "envd-tok", "domain": null, "trafficAccessToken": null,
    });
    agrees("a sandbox that was made", &made, &recorded);

    let id = made["sandboxID"].as_str().unwrap();
    let token = made["envdAccessToken"].as_str().unwrap();
    let headers = [
        ("x-access-token", token),
        ("e2b-sandbox-id", id),
        ("e2b-sandbox-port", "49983"),
        ("keepalive-ping-interval", "50"),
        ("connect-timeout-ms", "86400000"),
        ("connect-protocol-version", "1"),
        ("connect-content-encoding", "identity"),
    ];
    let daemon = Wire::new(&server.url(), &headers);

    let script = json!(["-c", "echo out; echo err >&2; exit 3"]);
    let mut stream = daemon.frames("/process.Process/Start", &process(&script, false)).await;
    begun(&mut stream).await;
    let mut data = vec![stream.next().await.1, stream.next().await.1];
    data.sort_by_key(Value::to_string);
    let encoded = |text: &str| STANDARD.encode(text);
    assert_eq!(
        data,
        [
            json!({"event": {"data": {"stderr": encoded("err\n")}}}),
            json!({"event": {"data": {"stdout": encoded("out\n")}}})
        ]
    );
    let (_, end) = stream.next().await;
    let said = json!({"exitCode": 3, "exited": true, "status": "exit status 3", "error": "exit status 3"});
    assert_eq!(end, json!({"event": {"end": said}}));
    assert_eq!(stream.next().await, (2, json!({})));

    let mut stream = daemon.frames("/process.Process/Start", &process(&json!(["-i"]), true)).await;
    let pid = begun(&mut stream).await;
    agrees("output of a tty", &stream.next().await.1, &json!({"event": {"data": {"pty": "dXNlcg=="}}}));
    let process = json!({"pid": pid});
    let input = json!({"process": process, "input": {"pty": encoded("exec cat\n")}});
    assert_eq!(daemon.ask("POST", "/process.Process/SendInput", &input).await.0, 200);
    let size = json!({"process": process, "pty": {"size": {"cols": 120, "rows": 40}}});
    assert_eq!(daemon.ask("POST", "/process.Process/Update", &size).await.0, 200);
    let signal = json!({"process": process, "signal": "SIGNAL_SIGKILL"});
    assert_eq!(daemon.ask("POST", "/process.Process/SendSignal", &signal).await.0, 200);
    let (_, end) = stream.next_word().await;
    let said =
        json!({"exitCode": -1, "exited": false, "status": "signal: killed", "error": "signal: killed"});
    assert_eq!(end, json!({"event": {"end": said}}));
    assert_eq!(stream.next().await, (2, json!({})));

    let (status, _) = api.text("DELETE", &format!("/sandboxes/{id}"), &Value::Null).await;
    assert_eq!(status, 204);
}
