//! A client of an MCP server on stdio.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Client {
    server: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    requests: u64,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Client {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut server =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (to, from) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        let mut client = Self { server, to, from: BufReader::new(from).lines(), requests: 0 };
        let who = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who});
        client.request("initialize", &hello);
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.to, "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let line = self.from.next().expect("the server goes on").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// What a tool answers.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let reply = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &reply["result"];
        let structured = &result["structuredContent"];
        if structured.is_object() {
            return structured.get("result").filter(|inner| inner.is_object()).unwrap_or(structured).clone();
        }
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {reply}"));
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    }
}
