use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::*;

fn connect(model: &Model, path: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let mut stream = TcpStream::connect(model.address).unwrap();
    let head = format!(
        "POST {path} HTTP/1.0\r\nhost: model\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

fn post(model: &Model, path: &str, body: &Value) -> String {
    let mut reply = String::new();
    connect(model, path, body).read_to_string(&mut reply).unwrap();
    reply
}

/// The JSON of a stream's events.
fn events(reply: &str) -> Vec<Value> {
    let data = reply.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

fn chat(prompt: &str) -> Value {
    let parameters = json!({"properties": {"command": {"type": "string"}}, "required": ["command"]});
    let tool = json!({"type": "function", "function": {"name": "bash", "parameters": parameters}});
    json!({"stream": true, "tools": [tool], "messages": [{"role": "user", "content": prompt}]})
}

#[test]
fn each_api_is_said_the_same_text() {
    let model = Model::start();
    model.on("this", Turn::Says("It is said.".to_owned()));
    let said = |path: &str, body: Value, at: &str| -> String {
        let events = events(&post(&model, path, &body));
        events.iter().filter_map(|event| event.pointer(at)?.as_str()).collect()
    };
    assert_eq!(said("/v1/chat/completions", chat("say this"), "/choices/0/delta/content"), "It is said.");
    let tools = json!([{"name": "Bash", "input_schema": {}}]);
    let body = json!({"stream": true, "tools": tools, "messages": [{"role": "user", "content": "say this"}]});
    assert_eq!(said("/v1/messages", body, "/delta/text"), "It is said.");
    let tools = json!([{"name": "exec_command", "parameters": {}}]);
    let input = json!([{"role": "user", "content": [{"type": "input_text", "text": "say this"}]}]);
    let body = json!({"stream": true, "tools": tools, "input": input});
    assert!(said("/v1/responses", body, "/delta").starts_with("It is said."));
    let tools = json!([{"functionDeclarations": [{"name": "run_shell_command"}]}]);
    let body = json!({"tools": tools, "contents": [{"role": "user", "parts": [{"text": "say this"}]}]});
    let path = "/v1beta/models/model:streamGenerateContent?alt=sse";
    assert_eq!(said(path, body, "/candidates/0/content/parts/0/text"), "It is said.");
    assert_eq!(model.prompts(), ["say this"; 4]);
}

/// Tools of MCP servers are named in three ways.
#[test]
fn a_tool_of_a_server_is_called_by_the_name_that_the_client_gave_it() {
    let model = Model::start();
    let arguments = json!({"text": "a"});
    model.on(
        "call it",
        Turn::Calls { server: "yard".into(), tool: "tell".into(), arguments, then: "Told.".into() },
    );
    let called = |path: &str, tools: Value, at: &str| -> Vec<Value> {
        let prompt = json!([{"role": "user", "content": "call it"}]);
        let body = json!({"stream": true, "tools": tools, "messages": prompt, "input": prompt});
        events(&post(&model, path, &body)).iter().filter_map(|event| event.pointer(at).cloned()).collect()
    };
    let function = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
    let calls = called(
        "/v1/chat/completions",
        json!([function("bash"), function("tell"), function("yard_tell")]),
        "/choices/0/delta/tool_calls/0/function/name",
    );
    assert_eq!(calls, ["yard_tell"]);
    let tools =
        json!([{"name": "Bash", "input_schema": {}}, {"name": "mcp__yard__tell", "input_schema": {}}]);
    assert_eq!(called("/v1/messages", tools, "/content_block/name"), ["mcp__yard__tell"]);
    let grouped = json!({"type": "namespace", "name": "mcp__yard", "tools": [{"name": "tell"}]});
    let tools = json!([{"name": "exec_command", "parameters": {}}, {"name": "tell"}, grouped]);
    let items = called("/v1/responses", tools, "/item");
    let last = items.last().unwrap();
    assert_eq!((&last["name"], &last["namespace"]), (&json!("tell"), &json!("mcp__yard")));
    assert!(called("/v1/messages", json!([{"name": "Bash"}]), "/content_block/name").is_empty());
}

/// Some CLIs describe the tools of MCP servers to a model that asks for them.
#[test]
fn a_tool_that_was_not_described_is_asked_for_first() {
    let model = Model::start();
    let arguments = json!({"text": "a"});
    let turn = Turn::Calls { server: "yard".into(), tool: "tell".into(), arguments, then: "Told.".into() };
    model.on("call it", turn);
    let tool = |name: &str| json!({"name": name, "input_schema": {}});
    let mut tools = vec![tool("Bash"), tool("ToolSearch")];
    let mut messages = vec![json!({"role": "user", "content": "call it"})];
    let said = |tools: &[Value], messages: &[Value]| {
        let body = json!({"stream": true, "tools": tools, "messages": messages});
        events(&post(&model, "/v1/messages", &body))
    };
    let called = |events: &[Value]| {
        let block = events.iter().find_map(|event| event.get("content_block")).cloned().unwrap();
        let input = events.iter().find_map(|event| event.pointer("/delta/partial_json")?.as_str()).unwrap();
        (block["name"].clone(), block["id"].clone(), serde_json::from_str::<Value>(input).unwrap())
    };
    let answer = |id: &Value, content: Value| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]});
    let use_of = |name: &Value, id: &Value| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": {}}]});

    let (name, id, input) = called(&said(&tools, &messages));
    assert_eq!((&name, &input["query"]), (&json!("ToolSearch"), &json!("select:mcp__yard__tell")));
    let found = json!([{"type": "tool_reference", "tool_name": "mcp__yard__tell"}]);
    messages.extend([use_of(&name, &id), answer(&id, found)]);
    assert!(model.wait_asked("call it").result.is_none(), "what was found is no result");
    // It is not asked again: one that is still not described is missing.
    assert!(said(&tools, &messages).is_empty());
    tools.push(tool("mcp__yard__tell"));
    let (name, id, input) = called(&said(&tools, &messages));
    assert_eq!((&name, input), (&json!("mcp__yard__tell"), json!({"text": "a"})));
    messages.extend([use_of(&name, &id), answer(&id, json!("told"))]);
    assert!(said(&tools, &messages).iter().any(|event| event.pointer("/delta/text").is_some()));
    assert_eq!((model.prompts().len(), model.wait_asked("call it").result.as_deref()), (1, Some("told")));
}

#[test]
fn a_command_is_run_once_and_a_request_without_tools_is_no_prompt() {
    let model = Model::start();
    model.on("go", Turn::Runs { command: "true".to_owned(), then: "Done.".to_owned() });
    let mut request = chat("go");
    let called = events(&post(&model, "/chat/completions", &request));
    let arguments = called
        .iter()
        .find_map(|event| event.pointer("/choices/0/delta/tool_calls/0/function/arguments")?.as_str());
    assert_eq!(arguments, Some("{\"command\":\"true\"}"));
    request["messages"].as_array_mut().unwrap().push(json!({"role": "tool", "content": "fine"}));
    assert!(post(&model, "/chat/completions", &request).contains("Done."));
    let title = json!({"messages": [{"role": "user", "content": "a title, please"}]});
    assert!(post(&model, "/chat/completions", &title).contains("A title"));
    assert_eq!(
        (model.prompts(), model.wait_asked("go").result.as_deref()),
        (vec!["go".to_owned()], Some("fine"))
    );
}

#[test]
fn what_is_held_comes_when_the_gate_opens_and_who_leaves_is_seen() {
    let model = Model::start();
    let gate = model.hold("wait", "one two");
    let begun = |prompt| {
        let mut stream = connect(&model, "/chat/completions", &chat(prompt));
        let mut begun = Vec::new();
        while !String::from_utf8_lossy(&begun).contains("one ") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            begun.extend(byte);
        }
        stream
    };
    let mut stream = begun("wait");
    gate.open();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("two") && rest.contains("[DONE]"), "{rest}");

    let _gate = model.hold("leave", "one two");
    // One who leaves before the answer has begun may not have been heard at all.
    drop(begun("leave"));
    model.wait("leave", |asked| asked.given_up);
}

#[test]
fn a_request_fails_as_it_was_told() {
    let model = Model::start();
    model.on("fail", Turn::Fails(429));
    assert!(post(&model, "/chat/completions", &chat("fail")).starts_with("HTTP/1.0 429 "));
}
