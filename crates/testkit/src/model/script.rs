//! What becomes of a prompt.

use serde_json::Value;
use tokio::sync::watch;

/// What the model does when it is asked.
#[derive(Debug, Clone)]
pub enum Turn {
    /// It says this.
    Says(String),
    /// It says the first word, and the rest when the gate is open.
    Holds(String, watch::Receiver<bool>),
    /// It has this command run, and says the text when the result came back.
    Runs {
        /// The command, for a shell.
        command: String,
        /// What it says then.
        then: String,
    },
    /// It calls a tool of an MCP server, and says the text when the result came back.
    Calls {
        /// What the CLI calls the server.
        server: String,
        /// The tool's name at the server.
        tool: String,
        /// What it is called with.
        arguments: Value,
        /// What it says then.
        then: String,
    },
    /// The request fails with this HTTP status.
    Fails(u16),
}

/// What was said beforehand of prompts.
#[derive(Debug, Default)]
pub(super) struct Script {
    turns: Vec<(String, Turn)>,
}

impl Script {
    pub(super) fn on(&mut self, needle: &str, turn: Turn) {
        self.turns.retain(|(other, _)| other != needle);
        self.turns.push((needle.to_owned(), turn));
    }

    /// What becomes of `prompt`: what was said last of one of its parts.
    pub(super) fn turn(&self, prompt: &str) -> Turn {
        let found = self.turns.iter().rev().find(|(needle, _)| prompt.contains(needle.as_str()));
        found.map_or_else(|| Turn::Says("Understood.".to_owned()), |(_, turn)| turn.clone())
    }
}
