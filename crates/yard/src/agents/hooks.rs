//! Hooks: what agents tell of their turns by running a program of ours.

use ptyard_core::TerminalId;
use ptyard_providers::{HookWords, read_hook};
use ptyard_terminal::agent::Hooked;
use serde_json::Value;

use crate::error::YardError;
use crate::spec::TerminalRef;
use crate::yard::Yard;

impl Yard {
    /// A hook of the agent in this terminal was told this; it is known when this returns. What says nothing of a turn is
    /// passed over.
    ///
    /// # Errors
    /// When there is no such terminal, or its program has ended.
    pub async fn hook(&self, terminal: TerminalId, words: HookWords, told: &Value) -> Result<(), YardError> {
        let entry = self.find(&TerminalRef::Id(terminal))?;
        let Some(said) = read_hook(words, told) else { return Ok(()) };
        let told = Hooked { status: said.status, rule: said.rule, prompt: said.prompt };
        Ok(entry.terminal.hooked(told).await?)
    }
}
