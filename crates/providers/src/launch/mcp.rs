//! MCP servers in the shapes that programs read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// An MCP server that the program is to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// Whether somebody is asked before a tool of it is called.
    pub calls: Calls,
}

/// Whether somebody is asked before a tool of an MCP server is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// As the program's own settings say.
    AsUsual,
    /// Nobody: the server itself checks what its caller may do.
    Unasked,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// The program starts it.
    Stdio {
        /// The program of the server.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment beside what it inherits.
        env: BTreeMap<String, String>,
        /// Variables that stand in the environment of the program too, and never in an argument, where everybody could
        /// read them.
        secret: BTreeMap<String, String>,
    },
    /// It is there.
    Http {
        /// Its address.
        url: String,
        /// What is sent along.
        headers: BTreeMap<String, String>,
    },
}

/// Where the text with the servers will stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    /// In a file of mode 0600.
    Owner,
    /// In an argument.
    Everybody,
}

impl McpServer {
    /// Whether the name and the variables can stand as bare keys wherever a program wants them.
    pub(super) fn has_plain_names(&self) -> bool {
        let keys: Vec<&String> = match &self.transport {
            McpTransport::Stdio { env, secret, .. } => env.keys().chain(secret.keys()).collect(),
            McpTransport::Http { headers, .. } => headers.keys().collect(),
        };
        is_plain(&self.name) && keys.into_iter().all(|key| is_plain(key))
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// `{"mcpServers": {...}}`.
pub(super) fn json(servers: &[McpServer], readers: Readers) -> String {
    let entry = |server: &McpServer| {
        let value = match &server.transport {
            McpTransport::Stdio { command, args, env, secret } => {
                let mut env = env.clone();
                if readers == Readers::Owner {
                    env.extend(secret.clone());
                }
                json!({ "command": command, "args": args, "env": env })
            }
            McpTransport::Http { url, headers } => json!({ "type": "http", "url": url, "headers": headers }),
        };
        (server.name.clone(), value)
    };
    let servers: serde_json::Map<String, Value> = servers.iter().map(entry).collect();
    json!({ "mcpServers": servers }).to_string()
}

/// `{"mcp": {...}}`, as OpenCode's configuration has them, for a file of mode 0600.
pub(super) fn opencode(servers: &[McpServer]) -> String {
    let (mut entries, mut permission) = (serde_json::Map::new(), serde_json::Map::new());
    for server in servers {
        let entry = match &server.transport {
            McpTransport::Stdio { command, args, env, secret } => {
                let command: Vec<&String> = std::iter::once(command).chain(args).collect();
                let environment: BTreeMap<_, _> = env.iter().chain(secret).collect();
                json!({ "type": "local", "command": command, "environment": environment, "enabled": true })
            }
            McpTransport::Http { url, headers } => {
                json!({ "type": "remote", "url": url, "headers": headers, "enabled": true })
            }
        };
        entries.insert(server.name.clone(), entry);
        if server.calls == Calls::Unasked {
            permission.insert(format!("{}_*", server.name), json!("allow"));
        }
    }
    json!({ "mcp": entries, "permission": permission }).to_string()
}

/// Overrides of Codex's configuration, one `-c` each.
pub(super) fn codex_overrides(servers: &[McpServer]) -> Vec<String> {
    let mut args = Vec::new();
    for server in servers {
        let mut set = |key: &str, value: String| {
            args.push("-c".to_owned());
            args.push(format!("mcp_servers.{}.{key}={value}", server.name));
        };
        match &server.transport {
            McpTransport::Stdio { command, args, env, secret } => {
                set("command", toml_string(command));
                set("args", toml_list(args.iter()));
                for (name, value) in env {
                    set(&format!("env.{name}"), toml_string(value));
                }
                if !secret.is_empty() {
                    set("env_vars", toml_list(secret.keys()));
                }
            }
            McpTransport::Http { url, headers } => {
                set("url", toml_string(url));
                for (name, value) in headers {
                    set(&format!("http_headers.{name}"), toml_string(value));
                }
            }
        }
        if server.calls == Calls::Unasked {
            set("default_tools_approval_mode", toml_string("approve"));
        }
        // A float: an integer is passed over. A handoff may take as long as it is waited for.
        set("tool_timeout_sec", "3600.0".to_owned());
    }
    args
}

fn toml_list<'a>(items: impl Iterator<Item = &'a String>) -> String {
    let items: Vec<String> = items.map(|item| toml_string(item)).collect();
    format!("[{}]", items.join(","))
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
