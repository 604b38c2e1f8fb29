//! The part of a manifest that tells how the program is started.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::signals::{EventWords, HookWords};

/// How a program is started. In arguments `{bin}`, `{file}`, `{text}`, `{model}`, `{session}`, `{cwd}`, `{tool}`, `{json}`
/// and `{private}` stand for what is filled in.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recipe {
    /// Names of its binary, the first one that is found counts.
    pub binaries: Vec<String>,
    /// What the program always gets, after its binary.
    pub args: Vec<String>,
    /// What lets it run tools without asking. Left away unless it is asked for.
    pub unattended: Vec<String>,
    /// How a model is chosen; empty when it cannot be.
    pub model: Vec<String>,
    /// How an earlier session is gone on with; empty when it cannot be.
    pub resume: Vec<String>,
    /// How the instructions of a profile are given.
    pub prompt: PromptChannel,
    /// How MCP servers are given.
    pub mcp: McpRecipe,
    /// How it is told of hooks: programs that it runs when something happens to a turn.
    pub hooks: Option<HooksRecipe>,
    /// How a server of its own is had that tells what happens.
    pub events: Option<EventsRecipe>,
    /// How tools are limited.
    pub tools: ToolsRecipe,
    /// Variables that are set.
    pub env: BTreeMap<String, String>,
    /// Variables that are taken away; a `*` at the end stands for anything.
    pub unset: Vec<String>,
    /// Variables that are left although `unset` names them.
    pub keep: Vec<String>,
    /// A variable that moves the program's own home into the private directory, so that no shared file is edited.
    pub home: Option<String>,
}

/// How the instructions of a profile are given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, tag = "channel", rename_all = "snake_case")]
pub enum PromptChannel {
    /// They cannot be.
    #[default]
    None,
    /// By an argument that names a file (`{file}`).
    File {
        /// The arguments.
        args: Vec<String>,
    },
    /// By an argument that holds them (`{text}`).
    Text {
        /// The arguments.
        args: Vec<String>,
    },
    /// By an argument that holds them as a TOML string (`{text}`).
    Toml {
        /// The arguments.
        args: Vec<String>,
    },
    /// As the first message, before any other.
    FirstMessage,
}

/// How MCP servers are given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpRecipe {
    /// In which shape.
    pub encoder: McpEncoder,
    /// The arguments, with `{file}` or `{json}`.
    pub args: Vec<String>,
    /// Variables that are set, with `{file}`.
    pub env: BTreeMap<String, String>,
    /// The arguments for each `{server}` whose tools are called unasked, where the shape does not say it.
    pub unasked: Vec<String>,
}

/// A shape of MCP servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpEncoder {
    /// They cannot be given.
    #[default]
    None,
    /// `{"mcpServers": {NAME: {command, args, env}}}`.
    Json,
    /// `-c mcp_servers.NAME.KEY=VALUE` for every key.
    CodexOverrides,
    /// `{"mcp": {NAME: {type, command, environment}}}`, in a file.
    Opencode,
}

/// How hooks are given.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HooksRecipe {
    /// In which words it tells them what happened, which is also the shape in which they are given.
    pub words: HookWords,
    /// The arguments, with `{file}`: settings of this terminal only, so that nothing is left behind in the user's.
    pub args: Vec<String>,
}

/// How a program is told to serve its events on loopback, to whoever shows a secret of this terminal only.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventsRecipe {
    /// In which words it tells them.
    pub words: EventWords,
    /// The arguments, with `{port}`. No secret stands in them: everybody sees the arguments of a program.
    pub args: Vec<String>,
    /// The variables, with `{secret}`.
    pub env: BTreeMap<String, String>,
}

/// How tools are limited.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolsRecipe {
    /// What holds the program to it.
    pub enforce: Enforcement,
    /// The arguments for one tool, with `{tool}`.
    pub args: Vec<String>,
    /// Our words for tools, and the program's names for each.
    pub map: BTreeMap<String, Vec<String>>,
}

/// What holds a program to a limit of its tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// Nothing.
    #[default]
    None,
    /// Its instructions only: advisory.
    Prompt,
    /// An argument for every tool that is denied.
    Deny,
    /// An argument for every tool that is allowed; the others are not.
    Allow,
}
