//! The programs that can start `ptyard mcp` by themselves, and what stands in their configuration then.
//!
//! Pure: text in, text out. Comments, order and everything else in a file stay as they are.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use crate::config_file::Uneditable;

/// The name under which a client knows it.
pub(crate) const NAME: &str = "ptyard";

/// A client of the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Code, for all projects of this user
    ClaudeCode,
    /// Codex
    Codex,
    /// OpenCode
    Opencode,
    /// Gemini CLI
    Gemini,
}

impl McpClient {
    /// Its name, as people know it.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "OpenCode",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// Where its configuration is. `variable` looks up the environment.
    pub(crate) fn file(self, home: &Path, variable: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
        match self {
            Self::ClaudeCode => {
                variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.into()).join(".claude.json")
            }
            Self::Codex => variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml"),
            Self::Opencode => {
                let dir = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
                dir.join("opencode/opencode.json")
            }
            Self::Gemini => home.join(".gemini/settings.json"),
        }
    }

    /// The key of its configuration that holds servers.
    const fn key(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::Gemini => "mcpServers",
            Self::Codex => "mcp_servers",
            Self::Opencode => "mcp",
        }
    }

    /// `text` with an entry that starts `argv`, in place of an earlier one.
    ///
    /// # Errors
    /// When the text is not the client's language, or something else stands there.
    pub(crate) fn with_entry(self, text: &str, argv: &[String]) -> Result<String, Uneditable> {
        match self {
            Self::Codex => {
                let mut document = toml(text)?;
                let servers = document.entry(self.key()).or_insert_with(|| implicit().into());
                let servers = servers.as_table_like_mut().ok_or_else(|| self.shape())?;
                servers.insert(NAME, codex_entry(argv));
                Ok(document.to_string())
            }
            Self::ClaudeCode | Self::Opencode | Self::Gemini => {
                let root = json(text)?;
                let shape = self.shape();
                let servers =
                    root.object_value_or_create().and_then(|all| all.object_value_or_create(self.key()));
                let servers = servers.ok_or(shape)?;
                match servers.get(NAME) {
                    Some(entry) => entry.set_value(self.json_entry(argv)),
                    None => drop(servers.append(NAME, self.json_entry(argv))),
                }
                Ok(root.to_string())
            }
        }
    }

    /// `text` without the entry; `None` when there is none.
    ///
    /// # Errors
    /// When the text is not the client's language.
    pub(crate) fn without_entry(self, text: &str) -> Result<Option<String>, Uneditable> {
        if self == Self::Codex {
            let mut document = toml(text)?;
            let servers = document.get_mut(self.key()).and_then(Item::as_table_like_mut);
            let was_there = servers.is_some_and(|servers| servers.remove(NAME).is_some());
            return Ok(was_there.then(|| document.to_string()));
        }
        let root = json(text)?;
        let servers = root.object_value().and_then(|all| all.object_value(self.key()));
        let Some(entry) = servers.and_then(|servers| servers.get(NAME)) else { return Ok(None) };
        entry.remove();
        Ok(Some(root.to_string()))
    }

    fn shape(self) -> Uneditable {
        Uneditable::Shape { key: self.key().to_owned(), what: "servers" }
    }

    fn json_entry(self, argv: &[String]) -> CstInputValue {
        let text = |text: &str| CstInputValue::String(text.to_owned());
        let list = |words: &[String]| CstInputValue::Array(words.iter().map(|word| text(word)).collect());
        let entry = match self {
            Self::Opencode => {
                vec![("type", text("local")), ("command", list(argv)), ("enabled", CstInputValue::Bool(true))]
            }
            Self::ClaudeCode => {
                vec![("type", text("stdio")), ("command", text(&argv[0])), ("args", list(&argv[1..]))]
            }
            Self::Gemini | Self::Codex => vec![("command", text(&argv[0])), ("args", list(&argv[1..]))],
        };
        CstInputValue::Object(entry.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }
}

fn codex_entry(argv: &[String]) -> Item {
    let mut entry = Table::new();
    entry.insert("command", toml_edit::value(argv[0].as_str()));
    entry.insert("args", Item::Value(Value::Array(argv[1..].iter().map(String::as_str).collect::<Array>())));
    Item::Table(entry)
}

/// A table that is only there for those in it.
fn implicit() -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table
}

fn toml(text: &str) -> Result<DocumentMut, Uneditable> {
    text.parse().map_err(|error: toml_edit::TomlError| Uneditable::Unreadable {
        language: "TOML",
        why: error.message().to_owned(),
    })
}

fn json(text: &str) -> Result<CstRootNode, Uneditable> {
    // An empty file is one that says nothing yet.
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| Uneditable::Unreadable { language: "JSON", why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv() -> Vec<String> {
        ["/opt/ptyard", "mcp"].map(str::to_owned).to_vec()
    }

    #[test]
    fn entries_as_each_client_wants_them() {
        let all = McpClient::value_variants().iter().map(|client| {
            let text = client.with_entry("", &argv()).unwrap();
            format!("# {}\n{}", client.title(), text.trim_end())
        });
        insta::assert_snapshot!(all.collect::<Vec<_>>().join("\n\n"));
    }

    #[test]
    fn what_else_stands_in_a_file_stays_as_it_is() {
        let json = "{\n  // mine\n  \"theme\": \"dark\",\n  \"mcpServers\": { \"other\": { \"command\": \"x\" } }\n}\n";
        let added = McpClient::Gemini.with_entry(json, &argv()).unwrap();
        assert!(added.contains("// mine") && added.contains("\"other\": { \"command\": \"x\" }"), "{added}");
        assert!(added.find("theme") < added.find("mcpServers"), "{added}");
        let toml = "# mine\nmodel = \"m\"\n\n[mcp_servers.other]\ncommand = \"x\"\n";
        let added = McpClient::Codex.with_entry(toml, &argv()).unwrap();
        assert!(added.starts_with(toml) && added.contains("[mcp_servers.ptyard]"), "{added}");
    }

    #[test]
    fn a_second_time_changes_nothing_and_removing_gives_back_what_was() {
        for client in McpClient::value_variants() {
            let before = match client {
                McpClient::Codex => "model = \"m\"\n",
                _ => "{\n  \"theme\": \"dark\"\n}\n",
            };
            let once = client.with_entry(before, &argv()).unwrap();
            assert_eq!(client.with_entry(&once, &argv()).unwrap(), once);
            let without = client.without_entry(&once).unwrap().unwrap();
            assert!(!without.contains(NAME), "{without}");
            assert_eq!(client.without_entry(&without).unwrap(), None);
            let other = [argv(), vec!["--state".to_owned()]].concat();
            assert_eq!(
                client.with_entry(&once, &other).unwrap().matches(NAME).count(),
                once.matches(NAME).count()
            );
        }
    }

    #[test]
    fn a_file_that_is_something_else_is_left_alone() {
        for client in McpClient::value_variants() {
            assert!(matches!(client.with_entry("[[[ nonsense", &argv()), Err(Uneditable::Unreadable { .. })));
        }
        let shape = Err(McpClient::ClaudeCode.shape());
        assert_eq!(McpClient::ClaudeCode.with_entry("{\"mcpServers\": 3}", &argv()), shape);
        assert_eq!(McpClient::ClaudeCode.with_entry("[1]", &argv()), shape);
        let shape = Err(McpClient::Codex.shape());
        assert_eq!(McpClient::Codex.with_entry("mcp_servers = 3", &argv()), shape);
    }
}
