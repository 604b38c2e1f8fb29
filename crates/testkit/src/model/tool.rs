//! The tools of a CLI: its shell, whatever it calls it, and those of its MCP servers.

use serde_json::{Map, Value, json};

/// What CLIs call their shell.
const SHELLS: [&str; 10] = [
    "bash",
    "exec_command",
    "execute_command",
    "local_shell",
    "run_command",
    "run_commands",
    "run_shell_command",
    "run_terminal_cmd",
    "shell",
    "shell_command",
];

/// A tool by its name, and the group that a CLI may have put it in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tool {
    pub(super) group: Option<String>,
    pub(super) name: String,
}

impl Tool {
    /// The one that a request describes.
    pub(super) fn named(group: Option<&str>, description: &Value) -> Option<Self> {
        let name = description["name"].as_str()?.to_owned();
        Some(Self { group: group.map(str::to_owned), name })
    }

    /// Whether it is `tool` of the MCP server `server`, in one of the ways in which CLIs write that.
    pub(super) fn is_of(&self, server: &str, tool: &str) -> bool {
        let name = match &self.group {
            Some(group) => format!("{group}__{}", self.name),
            None => self.name.clone(),
        };
        name == format!("mcp__{server}__{tool}") || name == format!("{server}_{tool}")
    }
}

/// A tool that runs commands.
#[derive(Debug, Clone)]
pub(super) struct Shell {
    pub(super) tool: Tool,
    schema: Value,
}

impl Shell {
    /// The first one among tools, each a name with the schema of its arguments.
    pub(super) fn among<'a>(tools: impl IntoIterator<Item = (&'a Value, &'a Value)>) -> Option<Self> {
        let mut named = tools.into_iter().filter_map(|(name, schema)| Some((name.as_str()?, schema)));
        let (name, schema) = named.find(|(name, _)| SHELLS.contains(&name.to_lowercase().as_str()))?;
        Some(Self { tool: Tool { group: None, name: name.to_owned() }, schema: schema.clone() })
    }

    /// Arguments that its schema accepts and that have `command` run, with a request for permission where one can be
    /// made.
    pub(super) fn arguments(&self, command: &str) -> Value {
        let none = Map::new();
        let properties = self.schema["properties"].as_object().unwrap_or(&none);
        let required = |key: &str| {
            self.schema["required"].as_array().is_some_and(|all| all.iter().any(|name| name == key))
        };
        let mut arguments = Map::new();
        for (key, of) in properties {
            let kind = match &of["type"] {
                Value::Array(kinds) => kinds.first().and_then(Value::as_str),
                kind => kind.as_str(),
            };
            let value = match key.as_str() {
                "command" if kind == Some("array") => json!(["bash", "-c", command]),
                "commands" => json!([command]),
                "command" | "cmd" => json!(command),
                "sandbox_permissions" => json!("require_escalated"),
                "justification" => json!("May it run?"),
                "description" => json!("Run the command"),
                "is_background" => json!(false),
                _ if !required(key) => continue,
                _ => least(kind, of),
            };
            arguments.insert(key.clone(), value);
        }
        Value::Object(arguments)
    }
}

/// The least value of a kind.
fn least(kind: Option<&str>, of: &Value) -> Value {
    match (of["enum"].get(0), kind) {
        (Some(first), _) => first.clone(),
        (None, Some("boolean")) => json!(false),
        (None, Some("number" | "integer")) => json!(10_000),
        (None, Some("array")) => json!([]),
        (None, Some("object")) => json!({}),
        (None, _) => json!("Run the command"),
    }
}
