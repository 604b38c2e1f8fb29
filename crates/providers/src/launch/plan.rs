//! From a recipe and what is wanted to a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ptyard_core::ErrorCode;

use super::hooks;
use super::mcp::{self, Calls, McpServer, Readers};
use super::recipe::{Enforcement, McpEncoder, PromptChannel, Recipe};
use crate::signals::EventWords;

/// Longest session id that is taken.
const MAX_SESSION: usize = 512;

/// What is wanted of a program.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The binary that was found.
    pub binary: PathBuf,
    /// The working directory.
    pub cwd: PathBuf,
    /// A directory that only this terminal uses; it need not exist yet.
    pub private: PathBuf,
    /// The model.
    pub model: Option<String>,
    /// The instructions of a profile.
    pub prompt: Option<String>,
    /// MCP servers.
    pub mcp: Vec<McpServer>,
    /// The `ptyard` that hooks are given to; `None` for no hooks. It finds in its environment which terminal it speaks for,
    /// and where that is.
    pub hook: Option<String>,
    /// Where it is to serve its events; `None` for nowhere.
    pub door: Option<Door>,
    /// The tools it may use, in our words; `None` for all.
    pub tools: Option<BTreeSet<String>>,
    /// Whether it may run tools without asking.
    pub unattended: bool,
    /// The session to go on with.
    pub resume: Option<String>,
    /// More arguments.
    pub extra: Vec<String>,
}

/// Where a program serves its events, on loopback.
#[derive(Clone, PartialEq, Eq)]
pub struct Door {
    /// The port, which was free a moment ago.
    pub port: u16,
    /// What is asked of whoever comes. Written into no argument, and not shown by `Debug`.
    pub secret: String,
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door").field("port", &self.port).finish_non_exhaustive()
    }
}

/// How to start it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The arguments, the binary first.
    pub argv: Vec<String>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// Variables to take away; a `*` at the end stands for anything.
    pub unset: Vec<String>,
    /// Variables to leave although [`Self::unset`] names them.
    pub keep: Vec<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Files to write before, in directories of mode 0700.
    pub files: Vec<PlanFile>,
    /// A message to hand over before any other.
    pub first_message: Option<String>,
    /// In which words it serves its events at the door that was wanted; `None` when it does not.
    pub events: Option<EventWords>,
    /// What was wanted and cannot be enforced, for people.
    pub advisory: Vec<String>,
}

/// A file of mode 0600, to be removed with the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFile {
    /// Where, inside the private directory.
    pub path: PathBuf,
    /// What it holds.
    pub text: String,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The session id could be taken for an option, or holds what no id holds.
    #[error("`{0}` is no session id")]
    SessionId(String),
    /// It cannot go on with a session.
    #[error("this program cannot go on with a session")]
    NoResume,
    /// The name of an MCP server or of one of its variables.
    #[error("`{0}`: names of MCP servers and of their variables have letters, digits, `_` and `-`")]
    McpName(String),
}

impl LaunchError {
    /// Its code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::InvalidArgument
    }
}

/// Makes a plan.
///
/// # Errors
///
/// When something that is wanted could be taken for something else. What merely cannot be enforced is no error: the
/// plan says so.
pub fn plan(recipe: &Recipe, wanted: &Wanted) -> Result<Plan, LaunchError> {
    let mut making = Making { recipe, wanted, plan: Plan::default() };
    making.plan.argv.push(wanted.binary.display().to_string());
    making.arguments(&recipe.args, &[]);
    if wanted.unattended {
        making.arguments(&recipe.unattended, &[]);
        if recipe.unattended.is_empty() {
            making.note("this program asks before it runs tools, whatever is wanted");
        }
    }
    making.resume()?;
    making.model();
    making.mcp()?;
    making.hooks();
    making.events();
    making.tools();
    making.prompt();
    making.environment();
    let Making { mut plan, .. } = making;
    plan.argv.extend(wanted.extra.iter().cloned());
    plan.cwd.clone_from(&wanted.cwd);
    Ok(plan)
}

struct Making<'a> {
    recipe: &'a Recipe,
    wanted: &'a Wanted,
    plan: Plan,
}

impl Making<'_> {
    fn arguments(&mut self, args: &[String], fill: &[(&str, &str)]) {
        for arg in args {
            let filled = self.fill(arg, fill);
            self.plan.argv.push(filled);
        }
    }

    /// Puts values for the names in braces, each once: what a value holds is not looked at again.
    fn fill(&self, text: &str, fill: &[(&str, &str)]) -> String {
        let cwd = self.wanted.cwd.display().to_string();
        let private = self.wanted.private.display().to_string();
        let mut filled = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, from) = rest.split_at(open);
            filled.push_str(before);
            let close = from.find('}').unwrap_or(from.len() - 1);
            let name = from.get(1..close).unwrap_or_default();
            let known = [("cwd", cwd.as_str()), ("private", private.as_str())];
            let mut known = fill.iter().chain(&known);
            match known.find(|(key, _)| *key == name) {
                Some((_, value)) => filled.push_str(value),
                None => filled.push_str(&from[..=close]),
            }
            rest = &from[close + 1..];
        }
        filled.push_str(rest);
        filled
    }

    fn note(&mut self, text: impl Into<String>) {
        self.plan.advisory.push(text.into());
    }

    fn file(&mut self, name: &str, text: String) -> String {
        let path = self.wanted.private.join(name);
        let shown = path.display().to_string();
        self.plan.files.push(PlanFile { path, text });
        shown
    }

    fn resume(&mut self) -> Result<(), LaunchError> {
        let Some(session) = &self.wanted.resume else { return Ok(()) };
        if self.recipe.resume.is_empty() {
            return Err(LaunchError::NoResume);
        }
        let is_id = !session.is_empty()
            && session.len() <= MAX_SESSION
            && !session.starts_with('-')
            && !session.chars().any(|c| c.is_control() || c.is_whitespace());
        if !is_id {
            return Err(LaunchError::SessionId(session.clone()));
        }
        self.arguments(&self.recipe.resume, &[("session", session)]);
        Ok(())
    }

    fn model(&mut self) {
        let Some(model) = &self.wanted.model else { return };
        if self.recipe.model.is_empty() {
            self.note(format!("the model {model} cannot be chosen at the start"));
        }
        self.arguments(&self.recipe.model, &[("model", model)]);
    }

    fn mcp(&mut self) -> Result<(), LaunchError> {
        let servers = &self.wanted.mcp;
        if servers.is_empty() {
            return Ok(());
        }
        if let Some(server) = servers.iter().find(|server| !server.has_plain_names()) {
            return Err(LaunchError::McpName(server.name.clone()));
        }
        match self.recipe.mcp.encoder {
            McpEncoder::None => self.note("MCP servers cannot be given to this program"),
            McpEncoder::Json => {
                let json = mcp::json(servers, Readers::Everybody);
                let wants_file = self.recipe.mcp.args.iter().any(|arg| arg.contains("{file}"));
                let file = if wants_file {
                    self.file("mcp.json", mcp::json(servers, Readers::Owner))
                } else {
                    String::new()
                };
                self.arguments(&self.recipe.mcp.args, &[("file", &file), ("json", &json)]);
            }
            McpEncoder::CodexOverrides => self.plan.argv.extend(mcp::codex_overrides(servers)),
            McpEncoder::Opencode => {
                let file = self.file("opencode.json", mcp::opencode(servers));
                for (name, value) in &self.recipe.mcp.env {
                    let value = self.fill(value, &[("file", &file)]);
                    self.plan.env.insert(name.clone(), value);
                }
            }
        }
        for server in servers.iter().filter(|server| server.calls == Calls::Unasked) {
            self.arguments(&self.recipe.mcp.unasked, &[("server", &server.name)]);
        }
        Ok(())
    }

    fn hooks(&mut self) {
        let (Some(hook), Some(recipe)) = (&self.wanted.hook, &self.recipe.hooks) else { return };
        let file = self.file("hooks.json", hooks::settings(recipe.words, hook));
        self.arguments(&recipe.args, &[("file", &file)]);
    }

    /// Whoever asks for a server of their own gets that one.
    fn events(&mut self) {
        let (Some(door), Some(recipe)) = (&self.wanted.door, &self.recipe.events) else { return };
        let option = |arg: &String| arg.split('=').next().unwrap_or_default().to_owned();
        let ours: BTreeSet<String> = recipe.args.iter().map(option).collect();
        if self.wanted.extra.iter().any(|arg| arg.starts_with('-') && ours.contains(&option(arg))) {
            return;
        }
        self.arguments(&recipe.args, &[("port", &door.port.to_string())]);
        for (name, value) in &recipe.env {
            let value = self.fill(value, &[("secret", &door.secret)]);
            self.plan.env.insert(name.clone(), value);
        }
        self.plan.events = Some(recipe.words);
    }

    fn tools(&mut self) {
        let Some(allowed) = &self.wanted.tools else { return };
        let tools = &self.recipe.tools;
        let names = |words: Vec<&String>| -> BTreeSet<&String> {
            words.into_iter().flat_map(|word| tools.map.get(word).into_iter().flatten()).collect()
        };
        let allowed_names = names(allowed.iter().collect());
        match tools.enforce {
            Enforcement::None => self.note("its tools cannot be limited"),
            Enforcement::Prompt => self.note("its tools are limited by its instructions only"),
            Enforcement::Allow => {
                for tool in allowed_names {
                    self.arguments(&tools.args, &[("tool", tool)]);
                }
            }
            Enforcement::Deny => {
                let denied = names(tools.map.keys().filter(|word| !allowed.contains(*word)).collect());
                for tool in denied.difference(&allowed_names) {
                    self.arguments(&tools.args, &[("tool", tool)]);
                }
            }
        }
    }

    fn prompt(&mut self) {
        let limits =
            self.wanted.tools.as_ref().filter(|_| matches!(self.recipe.tools.enforce, Enforcement::Prompt));
        let limits = limits.map(|allowed| {
            let words: Vec<&str> = allowed.iter().map(String::as_str).collect();
            format!("Use these tools only: {}. Refuse what needs another one.", words.join(", "))
        });
        let parts: Vec<&str> =
            self.wanted.prompt.iter().map(String::as_str).chain(limits.as_deref()).collect();
        if parts.is_empty() {
            return;
        }
        let text = parts.join("\n\n");
        match &self.recipe.prompt {
            PromptChannel::None => {
                self.note("the instructions of the profile cannot be given to this program");
            }
            PromptChannel::File { args } => {
                let file = self.file("instructions.md", text);
                self.arguments(args, &[("file", &file)]);
            }
            PromptChannel::Text { args } => self.arguments(args, &[("text", &text)]),
            PromptChannel::Toml { args } => {
                self.arguments(args, &[("text", &mcp::toml_string(&text))]);
            }
            PromptChannel::FirstMessage => {
                self.plan.first_message = Some(format!(
                    "{text}\n\nDo nothing yet: say in one sentence that you are ready, and wait."
                ));
            }
        }
    }

    fn environment(&mut self) {
        for (name, value) in &self.recipe.env {
            let value = self.fill(value, &[]);
            self.plan.env.insert(name.clone(), value);
        }
        if let Some(home) = &self.recipe.home {
            let path: &Path = &self.wanted.private;
            self.plan.env.insert(home.clone(), path.join("home").display().to_string());
        }
        self.plan.unset.clone_from(&self.recipe.unset);
        self.plan.keep.clone_from(&self.recipe.keep);
    }
}

#[cfg(test)]
mod tests;
