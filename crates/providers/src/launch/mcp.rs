//! MCP servers in the shapes that programs read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// An MCP server that the program is to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment beside what it inherits.
    pub env: BTreeMap<String, String>,
}

impl McpServer {
    /// Whether the name and the variables can stand as bare keys wherever a program wants them.
    pub(super) fn has_plain_names(&self) -> bool {
        is_plain(&self.name) && self.env.keys().all(|key| is_plain(key))
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// `{"mcpServers": {...}}`.
pub(super) fn json(servers: &[McpServer]) -> String {
    let entry = |server: &McpServer| {
        let value = json!({ "command": server.command, "args": server.args, "env": server.env });
        (server.name.clone(), value)
    };
    let servers: serde_json::Map<String, Value> = servers.iter().map(entry).collect();
    json!({ "mcpServers": servers }).to_string()
}

/// Overrides of Codex's configuration, one `-c` each.
pub(super) fn codex_overrides(servers: &[McpServer]) -> Vec<String> {
    let mut args = Vec::new();
    for server in servers {
        let mut set = |key: &str, value: String| {
            args.push("-c".to_owned());
            args.push(format!("mcp_servers.{}.{key}={value}", server.name));
        };
        set("command", toml_string(&server.command));
        let list: Vec<String> = server.args.iter().map(|arg| toml_string(arg)).collect();
        set("args", format!("[{}]", list.join(",")));
        for (name, value) in &server.env {
            set(&format!("env.{name}"), toml_string(value));
        }
        // A float: an integer is passed over, and a minute is too short for a handoff.
        set("tool_timeout_sec", "600.0".to_owned());
    }
    args
}

/// A basic string of TOML.
pub(super) fn toml_string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
