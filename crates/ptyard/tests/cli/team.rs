//! Agents that work together over MCP, as `ptyard mcp --terminal` serves them.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fake::{err, out};
use crate::live::Yard;
use crate::mcp::Session;

/// An agent that only says who it is, and its terminal.
struct Member {
    id: String,
    token: String,
}

impl Member {
    fn start(yard: &Yard, options: &[&str]) -> Self {
        let script = "echo \"<$PTYARD_TOKEN>\"; sleep 600";
        let launch = ["launch", "--provider", "generic"];
        let reply = yard.json(&[&launch, options, &["--", "sh", "-c", script]].concat());
        let id = reply["id"].as_str().unwrap().to_owned();
        let began = Instant::now();
        loop {
            let printed = out(&yard.run(&["read", &id, "--raw", "--since", "0"]));
            if let Some((token, _)) = printed.split_once('<').and_then(|(_, rest)| rest.split_once('>')) {
                return Self { id, token: token.to_owned() };
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{printed:?}");
        }
    }

    /// `ptyard mcp --terminal` as a program in this terminal would start it.
    fn command(&self, yard: &Yard, terminal: &str) -> Command {
        let mut command = yard.command(&["mcp", "--terminal", terminal]);
        command.env("PTYARD_TERMINAL", &self.id).env("PTYARD_TOKEN", &self.token);
        command
    }

    fn session(&self, yard: &Yard) -> Session {
        Session::over(self.command(yard, &self.id))
    }
}

/// A profile whose agents answer at once.
fn helper(yard: &Yard) {
    let own = yard.state().join("profiles");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("helper.md"), "---\nname: helper\ndescription: Helps\n---\n").unwrap();
}

#[test]
fn case_sec04_a_server_of_one_terminal_speaks_for_no_other() {
    let yard = Yard::new();
    let (mine, other) = (Member::start(&yard, &[]), Member::start(&yard, &["--name", "other"]));
    for terminal in [other.id.as_str(), "other"] {
        let refused = mine.command(&yard, terminal).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(err(&refused).contains("speaks for terminal"), "{refused:?}");
    }
    let mut forged = mine.command(&yard, &other.id);
    let refused = forged.env("PTYARD_TERMINAL", &other.id).output().unwrap();
    assert!(err(&refused).contains("not that of the terminal"), "{refused:?}");
    let nobody = yard.run(&["mcp", "--terminal", &mine.id]);
    assert!(err(&nobody).contains("nothing here says"), "{nobody:?}");
}

#[test]
fn an_agent_sends_reads_and_looks_in_its_own_name() {
    let yard = Yard::new();
    helper(&yard);
    let boss = Member::start(&yard, &["--session", "team", "--name", "boss"]);
    let other = Member::start(&yard, &["--session", "team", "--name", "other"]);
    let mut session = boss.session(&yard);
    let tools = session.request("tools/list", &json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"handoff") && !names.contains(&"exec_command"), "{names:?}");
    // An agent sees of others what they tell it: no screens, no logs.
    assert_eq!(session.hello["capabilities"]["resources"], Value::Null);
    let screen = json!({"uri": format!("ptyard://terminals/{}/screen", other.id)});
    for (method, params) in [("resources/list", json!({})), ("resources/read", screen.clone())] {
        assert_eq!(session.request(method, &params), Value::Null, "{method}");
    }
    let mut operator = Session::over(yard.command(&["mcp"]));
    assert!(operator.request("resources/read", &screen)["contents"].is_array());

    let (text, sent) = session.call("send_message", &json!({"receiver_id": "other", "message": "hello"}));
    assert!(text.contains("is stored"), "{text}");
    assert_eq!(sent["structuredContent"]["sender_id"], boss.id);
    assert_eq!(sent["structuredContent"]["receiver_id"], other.id);
    let (text, read) = other.session(&yard).call("read_inbox", &json!({}));
    assert!(text.contains("hello"), "{text}");
    assert_eq!(read["structuredContent"]["messages"][0]["from"], boss.id);
    assert_eq!(read["structuredContent"]["messages"][0]["origin"], Value::Null, "a terminal vouches for it");

    let (text, none) = session.call("send_message", &json!({"message": "to whom?"}));
    assert_eq!(
        (&none["isError"], &none["structuredContent"]["error"]["code"]),
        (&json!(true), &json!("no_receiver"))
    );
    assert!(text.contains("give `receiver_id`"), "{text}");
    let (_, itself) = session.call("send_message", &json!({"receiver_id": boss.id, "message": "me"}));
    assert_eq!(itself["structuredContent"]["error"]["code"], "self_send");

    let (text, agents) = session.call("list_agents", &json!({}));
    assert!(text.contains("(boss)") && text.contains("(other)"), "{text}");
    assert_eq!(agents["structuredContent"]["agents"].as_array().unwrap().len(), 2);
    let (text, _) = session.call("list_profiles", &json!({}));
    assert!(text.contains("helper: Helps"), "{text}");
    let (text, status) = session.call("get_status", &json!({"terminal_id": "other"}));
    assert!(text.starts_with("Terminal other is "), "{text}");
    assert!(status["structuredContent"]["status"].is_string());
    let (text, unknown) = session.call("get_status", &json!({"terminal_id": 77_777}));
    assert_eq!(unknown["isError"], true);
    assert!(text.contains("`list_agents`"), "{text}");
    let (_, refused) = session.call("delete_terminal", &json!({"terminal_id": "other"}));
    assert_eq!(refused["structuredContent"]["error"]["code"], "forbidden");
    let (_, refused) = session.call("answer_user_prompt", &json!({"terminal_id": boss.id, "answer": "1"}));
    assert_eq!(refused["structuredContent"]["error"]["code"], "forbidden");
    let (text, refused) = session.call("answer_user_prompt", &json!({"terminal_id": "other", "answer": "1"}));
    assert_eq!(refused["structuredContent"]["error"]["code"], "not_asking");
    assert!(text.contains("`send_message` leaves it a message"), "{text}");
}

#[test]
fn an_agent_assigns_work_hears_of_it_and_ends_its_worker() {
    let yard = Yard::new();
    helper(&yard);
    let boss = Member::start(&yard, &["--session", "team"]);
    let mut session = boss.session(&yard);
    let (text, assigned) = session
        .call("assign", &json!({"agent_profile": "helper", "message": "count", "provider": "generic"}));
    assert!(text.starts_with("Task assigned to helper (terminal: "), "{text}");
    let worker = &assigned["structuredContent"]["worker"];
    assert_eq!((&worker["session"], &worker["agent"]["creator"]), (&json!("team"), &json!(boss.id)));
    let id = assigned["structuredContent"]["terminal_id"].as_str().unwrap().to_owned();
    let mail = yard.json(&["inbox", &id, "--all"]);
    assert!(mail[0]["text"].as_str().unwrap().contains("send its result to terminal"), "{mail}");
    let (_, unknown) = session.call("assign", &json!({"agent_profile": "nobody", "message": "count"}));
    assert_eq!(unknown["structuredContent"]["error"]["code"], "unknown_profile");
    let (text, deleted) = session.call("delete_terminal", &json!({"terminal_id": id}));
    assert_eq!(deleted["isError"], false, "{text}");
    assert_eq!(yard.json(&["info", &id])["error"]["code"], "terminal_removed");
}

#[test]
fn an_operator_launches_and_hands_off_with_the_same_tools() {
    let yard = Yard::new();
    helper(&yard);
    let mut session = Session::over(yard.command(&["mcp"]));
    let (text, launched) =
        session.call("launch", &json!({"provider": "shell", "name": "one", "message": "true"}));
    assert_eq!(launched["isError"], false, "{text}");
    assert!(launched["structuredContent"]["message"].is_string());
    let told = session.call("send_message", &json!({"receiver_id": "one", "message": "and more"}));
    assert_eq!(told.1["isError"], false, "{}", told.0);
    let assigned = session
        .call("assign", &json!({"agent_profile": "helper", "provider": "generic", "message": "count"}));
    let assigned = assigned.1["structuredContent"]["terminal_id"].as_str().unwrap().to_owned();
    let (text, neither) = session.call("launch", &json!({"name": "two"}));
    assert_eq!(neither["isError"], true, "{text}");
    let open = json!({"agent_profile": "helper", "provider": "generic", "message": "wait", "timeout": 1});
    let (text, open) = session.call("handoff", &open);
    assert!(text.contains("`handoff_result` with handoff_id h1"), "{text}");
    assert_eq!((&open["isError"], &open["structuredContent"]["state"]), (&json!(false), &json!("open")));
    let worker = open["structuredContent"]["terminal_id"].as_str().unwrap().to_owned();
    // Whoever gets mail is told what its sender calls itself; a person at the command line has no name.
    assert!(yard.run(&["send", "one", "by hand"]).status.success());
    let origins = |id: &str| -> Vec<Value> {
        let mail = yard.json(&["inbox", id, "--all"]);
        mail.as_array().unwrap().iter().map(|message| message["origin"].clone()).collect()
    };
    let test = json!("client:test");
    assert_eq!(origins("one"), [test.clone(), test.clone(), Value::Null]);
    assert_eq!((origins(&assigned), origins(&worker)), (vec![test.clone()], vec![test]));
    yard.json(&["kill", &worker]);
    let failed = session.call("handoff_result", &json!({"handoff_id": "h1", "timeout": 60}));
    assert_eq!(failed.1["isError"], true);
    assert!(failed.0.contains("program ended"), "{}", failed.0);
    let (text, inbox) = session.call("read_inbox", &json!({}));
    assert_eq!(inbox["isError"], true, "an operator has none of its own: {text}");
    let (_, gone): (String, Value) = session.call("delete_terminal", &json!({"terminal_id": "one"}));
    assert_eq!(gone["structuredContent"]["success"], true);
}
