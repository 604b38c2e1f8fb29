//! A CLI as the client of `ptyard mcp`: what its model calls goes through the CLI's own MCP client.

use ptyard_testkit::model::Turn;
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::yard::Yard;

/// What the CLIs call the server.
const SERVER: &str = "ptyard";

fn calls(tool: &str, arguments: Value, then: &str) -> Turn {
    Turn::Calls { server: SERVER.into(), tool: tool.into(), arguments, then: then.into() }
}

/// Set up by `ptyard mcp install`, it starts a program, and types into it in another run: the program outlived the first.
pub(crate) fn a_client_starts_a_program_and_types_into_it(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let installed = yard.run(&["mcp", "install", cli.client]);
    assert!(installed.status.success(), "{installed:?}");
    let program = r#"read -r line; printf 'it was told %s\n' "$line"; exit 3"#;
    let started = json!({"cmd": program, "tty": true, "yield_time_ms": 300});
    yard.model.on("start it", calls("exec_command", started, "It runs."));
    yard.once("Please start it.");
    let result = yard.model.wait("start it", |asked| asked.result.is_some()).result.unwrap();
    let session = session_of(&result);

    let typed = json!({"session_id": session, "chars": "äöü €\n", "yield_time_ms": 10_000});
    yard.model.on("tell it", calls("write_stdin", typed, "It was told."));
    yard.once("Please tell it.");
    let result = yard.model.wait("tell it", |asked| asked.result.is_some()).result.unwrap();
    assert!(result.contains("it was told äöü €"), "{result}");
    assert!(result.contains("exited with code 3") || result.contains(r#""code":3,"#), "{result}");
}

/// The session in a result: some clients give the model the text, others the document that comes with it.
fn session_of(result: &str) -> u32 {
    let after = ["session ID ", r#""session_id":"#].iter().find_map(|before| result.split_once(before));
    let (_, after) = after.unwrap_or_else(|| panic!("{result}"));
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Two agents send each other a message, each with the tool of its own CLI.
pub(crate) fn two_agents_send_each_other_messages(cli: &'static Cli) {
    let yard = Yard::new(cli);
    yard.ready();
    yard.ready_as("other");
    let id = |name: &str| yard.json(&["info", name])["id"].as_str().unwrap().to_owned();
    let (first, second) = (id("agent"), id("other"));
    let there = json!({"receiver_id": second, "message": "A word from the first."});
    let back = json!({"receiver_id": first, "message": "A word from the second."});
    yard.model.on("tell the other", calls("send_message", there, "Told."));
    yard.model.on("word from the first", calls("send_message", back, "Answered."));
    yard.send("Please tell the other.");
    yard.model.wait_asked("word from the second");
    let mail = |name: &str| yard.json(&["inbox", name, "--all"]);
    assert_eq!(mail("other")[0]["from"], first.as_str(), "{}", mail("other"));
    assert_eq!(mail("agent")[1]["from"], second.as_str(), "{}", mail("agent"));
    assert_eq!(yard.model.count("A word from the"), 2, "{:?}", yard.model.prompts());
}
