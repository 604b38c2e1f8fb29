//! MCP on stdio, as a client speaks it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::fake::*;

pub(crate) struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
    pub(crate) hello: Value,
    /// What was told of progress while a request was waited for.
    pub(crate) progress: Vec<Value>,
}

impl Session {
    fn start(fake: &Fake) -> Self {
        Self::over(fake.command(&["mcp"]))
    }

    pub(crate) fn over(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/usr");
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut session = Self { child, stdin, stdout, last_id: 0, hello: Value::Null, progress: Vec::new() };
        let client = json!({"name": "test", "version": "1"});
        session.hello = session.request(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        );
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server left");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "notifications/progress" {
                self.progress.push(message["params"].clone());
            }
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (String, Value) {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result)
    }
}

#[test]
fn a_client_is_told_the_tools_and_how_to_use_them() {
    let fake = Fake::answering(&window());
    let mut session = Session::start(&fake);
    assert_eq!(session.hello["serverInfo"]["name"], "ptyard");
    assert!(session.hello["instructions"].as_str().unwrap().starts_with("When using the shell:"));
    let tools = session.request("tools/list", &json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "exec_command",
            "write_stdin",
            "send_keys",
            "wait_for",
            "read_screen",
            "resize",
            "signal",
            "kill",
            "list",
            "launch",
            "handoff",
            "handoff_result",
            "assign",
            "send_message",
            "read_inbox",
            "answer_user_prompt",
            "get_status",
            "list_agents",
            "list_profiles",
            "delete_terminal"
        ]
    );
    drop(session.stdin.take());
    assert!(session.child.wait().unwrap().success(), "it ends with its input");
}

#[test]
fn exec_command_asks_with_the_defaults_of_the_contract() {
    let fake = Fake::answering(&with(window(), json!({"original_token_count": 73})));
    let mut session = Session::start(&fake);
    let (text, result) = session.call("exec_command", &json!({"cmd": "seq 1 100", "workdir": null}));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Chunk ID: 577be0");
    let wall = lines[1].strip_prefix("Wall time: ").unwrap().strip_suffix(" seconds").unwrap();
    assert_eq!(wall.split_once('.').unwrap().1.len(), 4);
    assert_eq!(
        lines[2..],
        ["Process running with session ID 19523", "Original token count: 73", "Output:", "hi"]
    );
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"]["session_id"], 19523);

    let mut body = fake.seen()[0].body.clone();
    let client = body["policy"]["client"].take();
    assert!(client.as_str().unwrap().starts_with("mcp-"));
    assert!(body["caller_env"].take().get("PATH").is_some());
    assert_eq!(
        body,
        json!({
            "command": "seq 1 100", "login": true, "tty": false, "stdin": "null", "cwd": "/usr", "caller_env": null,
            "policy": {"client": null, "max_terminals": 64}, "yield_ms": 10_000, "max_tokens": 10_000
        })
    );
    session.call(
        "exec_command",
        &json!({"cmd": "ls", "workdir": "local", "shell": "zsh", "login": false, "tty": true,
            "limits": {"wall_ms": 5000, "processes": "10"}}),
    );
    let body = fake.seen()[1].body.clone();
    assert_eq!(body["policy"]["client"], client, "one client for the life of the process");
    assert_eq!([&body["cwd"], &body["shell"]], [&json!("/usr/local"), &json!("zsh")]);
    assert_eq!([&body["login"], &body["tty"]], [&json!(false), &json!(true)]);
    assert_eq!(body["limits"], json!({"wall_ms": 5000, "processes": 10}));
    let (text, _) = session.call("exec_command", &json!({"cmd": "ls", "limits": {"cpu": 1}}));
    assert!(text.contains("`limits` has no `cpu`"), "{text}");
}

#[test]
fn write_stdin_types_polls_and_reports_the_end_again() {
    let ended = with(window(), json!({"session_id": null, "exit": exited(3), "output": ""}));
    let fake = Fake::answering(&ended);
    let mut session = Session::start(&fake);
    for arguments in [json!({"session_id": 19523}), json!({"session_id": "19523", "chars": ""})] {
        let (text, result) = session.call("write_stdin", &arguments);
        assert!(text.contains("\nProcess exited with code 3\nOutput:\n"), "{text}");
        assert_eq!(result["isError"], false, "case O10: polling a finished session is no error");
        assert_eq!(
            fake.seen().last().unwrap().body,
            json!({"input": "none", "yield_ms": 250, "max_tokens": 10_000})
        );
    }
    session.call(
        "write_stdin",
        &json!({"session_id": 19523, "chars": "\u{3}", "yield_time_ms": 1000, "max_output_tokens": 5}),
    );
    assert_eq!(
        fake.seen().last().unwrap().body,
        json!({"input": {"chars": "\u{3}"}, "yield_ms": 1000, "max_tokens": 5})
    );
    for much in [json!(1_000_000_000), json!(u64::MAX), json!(1e30)] {
        let (_, result) = session.call("write_stdin", &json!({"session_id": 1, "max_output_tokens": much}));
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(fake.seen().last().unwrap().body["max_tokens"], 4_000_000);
    }
}

#[test]
fn refusals_are_tool_errors_and_name_no_exit_code() {
    let fake = Fake::start(|seen| match seen.path.as_str() {
        "/v1/terminals" => Reply::Refusal(422, "cwd_not_found", "working directory /nope does not exist"),
        "/v1/terminals/1000/write" => Reply::Refusal(409, "no_stdin", "no stdin"),
        "/v1/terminals/1002/write" => Reply::Refusal(410, "terminal_removed", "session 1002 was removed"),
        _ => Reply::Refusal(404, "unknown_terminal", "nothing there"),
    });
    let mut session = Session::start(&fake);
    for (tool, arguments, expected) in [
        (
            "exec_command",
            json!({"cmd": "pwd", "workdir": "/nope"}),
            "exec_command failed: working directory /nope does not exist\nHint: try this",
        ),
        (
            "write_stdin",
            json!({"session_id": 1000, "chars": "x"}),
            "stdin is not available for this process. Start the command with `tty=true` in `exec_command` before using `write_stdin`.",
        ),
        ("write_stdin", json!({"session_id": 1001}), "write_stdin failed: PTY session not found: 1001"),
        (
            "write_stdin",
            json!({"session_id": 1002}),
            "write_stdin failed: session 1002 was removed\nHint: try this",
        ),
        ("exec_command", json!({}), "exec_command failed: `cmd` is required"),
        (
            "write_stdin",
            json!({"session_id": "abc"}),
            "write_stdin failed: `session_id` must be an integer, it is \"abc\"",
        ),
        (
            "exec_command",
            json!({"cmd": "ls", "max_output_tokens": 0}),
            "exec_command failed: `max_output_tokens` is 0, it must be at least 1",
        ),
    ] {
        let (text, result) = session.call(tool, &arguments);
        assert_eq!(text, expected);
        assert_eq!(result["isError"], true);
        assert!(result["structuredContent"]["error"]["code"].is_string());
    }
}

#[test]
fn law_03_a_cancelled_call_drops_its_request() {
    let fake = Fake::start(|_| Reply::Never);
    let mut session = Session::start(&fake);
    let id = session.ask("tools/call", &json!({"name": "write_stdin", "arguments": {"session_id": 19523}}));
    fake.wait_for(|happened| matches!(happened, Happened::Request(_)));
    session
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let abandoned = fake.wait_for(|happened| matches!(happened, Happened::Abandoned(_)));
    assert_eq!(abandoned, Happened::Abandoned("POST /v1/terminals/19523/write".to_owned()));
}

#[test]
fn law_03_a_client_that_leaves_drops_its_requests() {
    let fake = Fake::start(|_| Reply::Never);
    let mut session = Session::start(&fake);
    session.ask("tools/call", &json!({"name": "write_stdin", "arguments": {"session_id": 19523}}));
    fake.wait_for(|happened| matches!(happened, Happened::Request(_)));
    drop(session.stdin.take());
    fake.wait_for(|happened| matches!(happened, Happened::Abandoned(_)));
    session.child.wait().unwrap();
}

#[test]
fn wait_for_takes_the_output_and_says_what_ended_the_wait() {
    let fake = Fake::answering(&with(window(), json!({"ended_by": "regex"})));
    let mut session = Session::start(&fake);
    let (text, _) = session.call("wait_for", &json!({"session_id": 19523, "until": ["regex:hi", "exit"]}));
    assert!(text.contains("\nWait ended by: regex\nOutput:\nhi\n"), "{text}");
    assert_eq!(
        fake.seen()[0].body,
        json!({"input": "none", "yield_ms": 30_000, "max_tokens": 10_000, "until": ["regex:hi", "exit"]})
    );
}

fn handoff(state: &str) -> Value {
    let result = (state == "done").then_some("it is 42");
    json!({"id": "h3", "state": state, "result": result, "caller": null, "worker": "t00000000000000000000000000000001"})
}

#[test]
fn a_long_handoff_tells_how_it_goes_and_returns_the_answer() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let fake = Fake::start(move |seen| match (seen.method.as_str(), seen.path.split('?').next().unwrap()) {
        ("POST", "/v1/handoffs") => Reply::Json(handoff("open")),
        ("GET", "/v1/handoffs/h3") => {
            let times = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Reply::Json(handoff(if times == 0 { "open" } else { "done" }))
        }
        _ => Reply::Refusal(410, "terminal_removed", "it is gone"),
    });
    let mut session = Session::start(&fake);
    let arguments = json!({"agent_profile": "reviewer", "message": "compute", "timeout": 600});
    let params = json!({"name": "handoff", "arguments": arguments, "_meta": {"progressToken": "p1"}});
    let result = session.request("tools/call", &params);
    assert_eq!(result["content"][0]["text"], "it is 42");
    assert_eq!(result["isError"], false);
    let data = &result["structuredContent"];
    assert_eq!(
        (&data["success"], &data["output"], &data["handoff_id"]),
        (&json!(true), &json!("it is 42"), &json!("h3"))
    );
    assert_eq!(session.progress.len(), 2, "{:?}", session.progress);
    assert_eq!(
        (&session.progress[0]["progressToken"], &session.progress[0]["total"]),
        (&json!("p1"), &json!(600.0))
    );
    assert!(session.progress[0]["message"].as_str().unwrap().contains("h3"));
    let body = fake.seen()[0].body.clone();
    assert_eq!(
        (&body["worker"]["profile"], &body["text"], &body["timeout_ms"]),
        (&json!("reviewer"), &json!("compute"), &json!(0))
    );
    assert_eq!(body["worker"]["cwd"], "/usr");
    // Who asks for no progress is told none.
    session.progress.clear();
    session.call("handoff", &arguments);
    assert_eq!(session.progress, [] as [Value; 0]);
}

#[test]
fn a_handoff_whose_worker_asks_says_what_and_how_to_answer() {
    let asks = json!({
        "id": "t00000000000000000000000000000001", "status": "waiting_user_answer", "since": "now", "epoch": 1,
        "source": "native", "rule": null, "offset": null, "stalled": null,
        "blocked_on": {"kind": "permission", "message": "run \u{1b}[31mrm?"}
    });
    let fake = Fake::start(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", "/v1/handoffs") => Reply::Json(handoff("open")),
        ("GET", path) if path.ends_with("/status") => Reply::Json(asks.clone()),
        _ => Reply::Refusal(410, "terminal_removed", "it is gone"),
    });
    let mut session = Session::start(&fake);
    let (text, result) = session.call("handoff", &json!({"agent_profile": "reviewer", "message": "compute"}));
    assert!(text.contains("asks (permission): run rm?") && text.contains("`answer_user_prompt`"), "{text}");
    assert_eq!((&result["isError"], &result["structuredContent"]["state"]), (&json!(false), &json!("open")));
}

#[test]
fn a_cancelled_handoff_call_leaves_the_handoff_alone() {
    let fake = Fake::start(|seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", "/v1/handoffs") => Reply::Json(handoff("open")),
        ("GET", path) if path.starts_with("/v1/handoffs/h3") => Reply::Never,
        ("GET", "/v1/handoffs") => Reply::Json(json!([handoff("done")])),
        _ => Reply::Refusal(410, "terminal_removed", "it is gone"),
    });
    let mut session = Session::start(&fake);
    let arguments = json!({"agent_profile": "reviewer", "message": "compute"});
    let id = session.ask("tools/call", &json!({"name": "handoff", "arguments": arguments}));
    fake.wait_for(
        |happened| matches!(happened, Happened::Request(seen) if seen.path.starts_with("/v1/handoffs/h3")),
    );
    session
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    fake.wait_for(
        |happened| matches!(happened, Happened::Abandoned(what) if what.starts_with("GET /v1/handoffs/h3")),
    );
    assert!(fake.seen().iter().all(|seen| seen.method != "DELETE" && !seen.path.ends_with("/kill")));
    let (text, _) = session.call("handoff_result", &json!({}));
    assert!(text.contains("h3 done") && text.contains("it is 42"), "{text}");
}
