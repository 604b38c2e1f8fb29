//! MCP over HTTP, as a client on TCP speaks it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::live::Yard;

struct Site {
    yard: Yard,
    server: Child,
    address: String,
    token: String,
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.yard.command(&["stop"]).output();
        let _ = self.server.wait();
    }
}

impl Site {
    fn start() -> Self {
        let yard = Yard::new();
        let mut server =
            yard.command(&["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, rest)) = line.split_once("address=") {
                break rest.split_whitespace().next().unwrap().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        let token = std::fs::read_to_string(yard.state().join("token")).unwrap().trim().to_owned();
        Self { yard, server, address, token }
    }

    /// Sends a request; the peer is at its answer.
    fn send(&self, method: &str, headers: &str, body: &str) -> TcpStream {
        let mut peer = TcpStream::connect(&self.address).unwrap();
        let request = format!(
            "{method} /mcp HTTP/1.1\r\nhost: {}\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        peer.write_all(request.as_bytes()).unwrap();
        peer
    }

    fn post(&self, headers: &str, body: &Value) -> String {
        let mut answer = String::new();
        self.send("POST", headers, &body.to_string()).read_to_string(&mut answer).unwrap();
        answer
    }

    fn bearer(&self) -> String {
        format!("authorization: Bearer {}\r\n", self.token)
    }

    fn begin(&self) -> Session<'_> {
        let answer = self.post(&self.bearer(), &initialize());
        let id = header(&answer, "mcp-session-id");
        let headers = format!("{}mcp-session-id: {id}\r\n", self.bearer());
        let told = self.post(&headers, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert!(told.starts_with("HTTP/1.1 202"), "{told}");
        Session { site: self, headers, hello: messages(&answer).remove(0) }
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
}

fn header(answer: &str, name: &str) -> String {
    let of = |line: &str| {
        line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, v)| v.to_owned())
    };
    answer.lines().find_map(of).unwrap_or_else(|| panic!("no {name} in {answer}"))
}

/// The messages among the events of an answer.
fn messages(answer: &str) -> Vec<Value> {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

struct Session<'a> {
    site: &'a Site,
    headers: String,
    hello: Value,
}

impl Session<'_> {
    /// Everything that comes until a request is answered, the answer last.
    fn ask(&self, method: &str, params: &Value) -> Vec<Value> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        messages(&self.site.post(&self.headers, &body))
    }

    fn result(&self, method: &str, params: &Value) -> Value {
        self.ask(method, params).pop().unwrap()["result"].take()
    }
}

#[test]
fn a_client_on_tcp_has_the_tools_with_progress_and_the_resources() {
    let site = Site::start();
    let session = site.begin();
    assert_eq!(session.hello["result"]["serverInfo"]["name"], "ptyard");
    let tools = session.result("tools/list", &json!({}));
    assert_eq!(tools["tools"][0]["name"], "exec_command");

    let program = "sleep 3.2; printf 'h\\303\\251'; exec sleep 600";
    let call =
        json!({"name": "exec_command", "arguments": {"cmd": program, "tty": true, "yield_time_ms": 250}});
    let started = session.result("tools/call", &call);
    let id = started["structuredContent"]["session_id"].as_u64().unwrap();
    let arguments = json!({"session_id": id, "until": ["regex:h."], "timeout_ms": 60_000});
    let call = json!({"name": "wait_for", "_meta": {"progressToken": "p"}, "arguments": arguments});
    let mut told = session.ask("tools/call", &call);
    let answer = told.pop().unwrap()["result"].take();
    let progress: Vec<_> = told.iter().filter(|told| told["method"] == "notifications/progress").collect();
    assert!(progress.len() >= 2, "{told:?}");
    assert_eq!(progress[0]["params"]["progressToken"], "p");
    assert!(answer["content"][0]["text"].as_str().unwrap().ends_with("hé"), "{answer}");

    let listed = session.result("resources/list", &json!({}));
    assert_eq!(listed["resources"].as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(listed["resources"][0]["uri"], format!("ptyard://terminals/{id}/screen"));
    let mail = json!({"name": "send_message", "arguments": {"receiver_id": id, "message": "hello"}});
    session.result("tools/call", &mail);
    assert_eq!(site.yard.json(&["inbox", &id.to_string()])[0]["origin"], "client:test");
    let templates = session.result("resources/templates/list", &json!({}));
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 2, "{templates}");
    let read = |uri: &str| session.ask("resources/read", &json!({ "uri": uri })).pop().unwrap();
    let text = |uri: &str| read(uri)["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
    assert!(text(&format!("ptyard://terminals/{id}/screen")).contains("hé"));
    assert_eq!(text(&format!("ptyard://terminals/{id}/log")), "hé");
    // From within a character on: it cannot be shown, and nothing else is.
    assert_eq!(text(&format!("ptyard://terminals/{id}/log?since=2")), "");
    assert_eq!(read("ptyard://terminals/4/log")["error"]["code"], -32002);
}

#[test]
fn the_gate_of_the_server_is_before_it() {
    let site = Site::start();
    assert!(site.post("", &initialize()).starts_with("HTTP/1.1 401"));
    let foreign = format!("{}origin: https://evil.example\r\n", site.bearer());
    let answer = site.post(&foreign, &initialize());
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let unknown = format!("{}mcp-session-id: nobody\r\n", site.bearer());
    let answer = site.post(&unknown, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
}

#[test]
fn a_stream_that_waits_for_messages_ends_with_the_server() {
    let site = Site::start();
    let session = site.begin();
    let mut peer = site.send("GET", &session.headers, "");
    let mut first = [0; 12];
    peer.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    assert!(site.yard.run(&["stop"]).status.success());
    // It was ended, not cut: the last chunk came.
    let mut rest = String::new();
    peer.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
}

#[test]
fn one_more_client_than_is_served_is_refused_until_another_leaves() {
    let site = Site::start();
    let begin = || site.post(&site.bearer(), &initialize());
    let mut last = String::new();
    for number in 0..256 {
        last = begin();
        assert!(last.starts_with("HTTP/1.1 200"), "{number}: {last}");
    }
    let refused = begin();
    assert!(refused.starts_with("HTTP/1.1 5"), "{refused}");
    let headers = format!("{}mcp-session-id: {}\r\n", site.bearer(), header(&last, "mcp-session-id"));
    let mut left = String::new();
    site.send("DELETE", &headers, "").read_to_string(&mut left).unwrap();
    assert!(left.starts_with("HTTP/1.1 2"), "{left}");
    let began = Instant::now();
    while !begin().starts_with("HTTP/1.1 200") {
        assert!(began.elapsed() < Duration::from_secs(30), "its place is not free");
    }
}
