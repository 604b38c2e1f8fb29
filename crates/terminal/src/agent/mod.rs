//! A terminal that an agent runs in: what its actor is given to know the agent, and what it tells of its turns.
//!
//! The way the data goes: output and signals go to the [`Judge`], which says what each source of evidence says now; the
//! actor adds what became of the text it pasted (`sight`) and tells the turn machine
//! ([`ptyard_core::turn::TurnMachine`]), which alone decides. What it wants written goes through the terminal's one input
//! queue as one job, the paste with its Enter; what it decides comes out as [`TurnEvent`]s.

mod events;
mod judge;
pub(crate) mod keys;
pub(crate) mod note;
pub(crate) mod sight;

use std::time::Duration;

use ptyard_core::turn::{AttemptId, Eager, Epoch, Hold, Recovered, Rule, Status};
use ptyard_screen::keys::Key;
use tokio::sync::watch;

pub(crate) use events::Events;
pub use events::{TURN_EVENTS, TurnEvent, TurnEvents};
pub use judge::{Composer, Judge, Verdict};
pub use note::{Before, Note};

use crate::actor::Command;
use crate::terminal::{Terminal, TerminalError};

/// Pause between a paste and its Enter that every agent measured so far takes for two things: 200 ms. Some take an
/// Enter within 50 ms for a part of the paste.
pub const PAUSE: Duration = Duration::from_millis(200);

/// How an agent takes a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// Whether the paste stands in brackets.
    pub brackets: Brackets,
    /// Pause between the paste and the Enter. It is counted from when the text is seen in the composer, if it is.
    pub pause: Duration,
    /// The bytes of the Enter key.
    pub enter: Vec<u8>,
    /// The keys that stop a turn; none when nothing does.
    pub interrupt: Vec<Key>,
    /// Whether the agent is itself a shell, so that a shell in the foreground is no reason to wait.
    pub shell: ShellIs,
}

/// Whether a paste stands in brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Brackets {
    /// When the program asked for them.
    #[default]
    AsAsked,
    /// Always: for programs that read them and never ask.
    Always,
    /// Never.
    Never,
}

/// Whether mail waits for the end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    /// It waits.
    None,
    /// Some does not: the turn that runs is stopped for it, once, by the keys of the [`Recipe`].
    StopsTheTurn,
}

/// What a bare shell in the foreground means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShellIs {
    /// The agent is gone: nothing is typed.
    #[default]
    Foreign,
    /// Nobody knows: the program is of no known kind.
    Unknown,
    /// It is the agent, which works while another group is in the foreground: that of its command.
    TheAgent,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            brackets: Brackets::AsAsked,
            pause: PAUSE,
            enter: b"\r".to_vec(),
            interrupt: Vec::new(),
            shell: ShellIs::Foreign,
        }
    }
}

/// What an actor needs to know of the agent in its terminal.
pub struct Agent {
    /// Who judges what it prints.
    pub judge: Box<dyn Judge>,
    /// How it takes a text.
    pub recipe: Recipe,
    /// Whether it takes a text while it works.
    pub eager: Eager,
    /// What is on record of it, when an earlier server ran it.
    pub earlier: Option<Earlier>,
}

/// What is on record of an agent that an earlier server ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// The turn it was in.
    pub epoch: Epoch,
    /// Its last attempt.
    pub recovered: Recovered,
    /// The text of that attempt.
    pub text: Option<String>,
    /// What was seen right before it was typed.
    pub before: Before,
    /// Whether the turn was stopped for urgent mail: it is not stopped twice.
    pub stopped: bool,
}

impl Agent {
    /// An agent that was just started.
    #[must_use]
    pub fn new(judge: Box<dyn Judge>, recipe: Recipe) -> Self {
        Self { judge, recipe, eager: Eager::Off, earlier: None }
    }
}

/// A text to be handed over, under the id of its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The attempt. The caller has claimed its messages under this id, durably.
    pub attempt: AttemptId,
    /// The text, sanitized. Control characters that are left become blanks.
    pub text: String,
}

/// What a hook of the agent said, or a server of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooked {
    /// What the agent does.
    pub status: Status,
    /// By which rule.
    pub rule: Rule,
    /// The prompt that was submitted, where the hook is about one.
    pub prompt: Option<String>,
}

/// Why a dispatch was not begun. It has no code of its own: whoever hands mail over turns it into a state of the message.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// Nothing was written: the terminal is not ready for it.
    #[error("the agent is not ready: {0:?}")]
    Held(Hold),
    /// There is no agent to hand it to.
    #[error("no agent runs in this terminal")]
    NoAgent,
    /// The terminal is gone.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
}

impl Terminal {
    /// Tells the actor that an agent runs in this terminal; from now on it keeps its turns. What the log holds already is
    /// judged first. A second call replaces the agent.
    ///
    /// # Errors
    /// When the program has ended and its actor with it.
    pub async fn attend(&self, agent: Agent) -> Result<TurnEvents, TerminalError> {
        self.ask(|reply| Command::Attend { agent: Box::new(agent), reply }).await
    }

    /// Hands a text over, if the agent is ready at this moment. `Ok` says that the writing has begun under a note that
    /// outlives this process; what becomes of it comes as a [`TurnEvent`].
    ///
    /// # Errors
    /// [`DispatchError::Held`] when nothing was written and the attempt is over.
    pub async fn dispatch(&self, mail: Mail) -> Result<(), DispatchError> {
        self.ask(|reply| Command::Dispatch { mail, reply }).await?
    }

    /// Says whether mail waits for the end of a turn. The turn is stopped when that dismisses no dialog and throws away
    /// no draft and no text that was not taken yet; that it was is seen from the turn's end.
    pub async fn hurry(&self, haste: Haste) -> Result<(), TerminalError> {
        self.command(Command::Hurry { haste }).await
    }

    /// Tells what a hook of the agent said; it is known when this returns.
    ///
    /// # Errors
    /// When the program has ended and its actor with it.
    pub async fn hooked(&self, told: Hooked) -> Result<(), TerminalError> {
        self.ask(|reply| Command::Hook { told, reply }).await
    }

    /// Has the screen judged again: the judge goes by other rules from now on.
    ///
    /// # Errors
    /// When the program has ended and its actor with it.
    pub async fn judge_again(&self) -> Result<(), TerminalError> {
        self.command(Command::JudgeAgain).await
    }

    /// A person says that nothing is under way: what was not confirmed is uncertain, and what is seen from now on counts.
    pub async fn reset_turns(&self) -> Result<(), TerminalError> {
        self.ask(|reply| Command::ResetTurns { reply }).await
    }

    /// The status of the agent with its reasons; `None` when no agent runs in this terminal.
    pub async fn explain(&self) -> Result<Option<ptyard_core::turn::Explanation>, TerminalError> {
        self.ask(|reply| Command::Explain { reply }).await
    }

    /// The status of the agent, as it changes; `None` while no agent runs in this terminal.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<Option<ptyard_core::turn::StatusReport>> {
        self.inner.status.clone()
    }

    /// What is on record of the last attempt in the terminal whose log is in `directory`.
    #[must_use]
    pub fn noted(directory: &std::path::Path) -> Option<Note> {
        note::read(directory)
    }

    /// Whether the turn that runs was stopped for urgent mail already, by whichever server.
    #[must_use]
    pub fn is_stopped(directory: &std::path::Path) -> bool {
        note::is_stopped(directory)
    }
}

/// Whether this is the name of a shell, as the kernel knows the process.
pub(crate) fn is_shell(command: &str) -> bool {
    const SHELLS: [&str; 11] =
        ["sh", "dash", "bash", "zsh", "ksh", "mksh", "csh", "tcsh", "fish", "ash", "nu"];
    SHELLS.contains(&command.trim_start_matches('-'))
}
