//! The MCP server that CAO gives to whoever directs agents from outside.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::site::Site;

/// What a tool answers, once `wanted` holds.
fn until(tools: &mut Client, tool: &str, arguments: &Value, wanted: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let told = tools.call(tool, arguments);
        if wanted(&told) {
            return told;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{tool}: {told}");
    }
}

#[test]
fn an_operator_launches_tells_reads_and_shuts_down() {
    let Some(site) = Site::start() else { return };
    let mut tools = Client::start(site.program("cao-ops-mcp-server"));
    let profiles = tools.call("list_profiles", &json!({}));
    assert!(profiles.to_string().contains("\"helper\""), "{profiles}");
    let installed = tools.call("install_profile", &json!({"source": "developer", "provider": "codex"}));
    assert_eq!(
        (&installed["success"], &installed["agent_name"]),
        (&json!(true), &json!("developer")),
        "{installed}"
    );

    let what =
        json!({"agent_profile": "helper", "session_name": "cao-ops", "initial_message": "first words"});
    let launched = tools.call("launch_session", &what);
    assert_eq!(launched["success"], true, "{launched}");
    let terminal = json!({"terminal_id": launched["terminal_id"]});
    let last = json!({"terminal_id": launched["terminal_id"], "mode": "last"});
    until(&mut tools, "get_terminal_output", &last, |told| {
        told.to_string().contains("You said: first words")
    });

    let words = json!({"terminal_id": launched["terminal_id"], "message": "more words"});
    let told = tools.call("send_session_message", &words);
    assert_eq!(told["success"], true, "{told}");
    until(&mut tools, "get_terminal_output", &last, |told| told.to_string().contains("You said: more words"));
    let status =
        until(&mut tools, "get_terminal_status", &terminal, |told| told.to_string().contains("completed"));
    assert!(status.to_string().contains("cao-ops"), "{status}");

    let ended = tools.call("shutdown_session", &json!({"session_name": "cao-ops"}));
    assert!(ended.to_string().contains("cao-ops"), "{ended}");
    assert_eq!(site.get("/sessions"), json!([]));
}
