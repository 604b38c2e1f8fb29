//! What the actor of a terminal is asked.

use std::time::Duration;

use ptyard_core::turn::Explanation;
use ptyard_core::{Exit, Size};
use ptyard_screen::View;
use tokio::sync::oneshot;

use super::input::Place;
use super::line::LineTooLong;
use super::typing::{Typed, Written};
use crate::agent::{Agent, DispatchError, Haste, Hooked, Mail, TurnEvents};
use crate::backend::{ControlError, KillReport, Signal, Target, TtyState};

/// How many commands may wait; further callers wait in line for a place.
pub(super) const COMMANDS: usize = 64;

/// Who or what ends a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KilledBy(pub &'static str);

/// A command. Every reply channel may be gone by the time of the answer: the work is done all the same.
pub(crate) enum Command {
    Type {
        typed: Typed,
        cancelled: oneshot::Receiver<()>,
        reply: oneshot::Sender<Result<Written, LineTooLong>>,
        place: Place,
    },
    CloseStdin {
        reply: oneshot::Sender<Result<(), ControlError>>,
        place: Place,
    },
    Resize {
        size: Size,
        reply: oneshot::Sender<Result<(), ControlError>>,
    },
    Signal {
        signal: Signal,
        target: Target,
        reply: oneshot::Sender<Result<(), ControlError>>,
    },
    Kill {
        grace: Duration,
        by: KilledBy,
        reply: oneshot::Sender<Killed>,
    },
    Look {
        scrollback: usize,
        reply: oneshot::Sender<Look>,
    },
    TtyState {
        reply: oneshot::Sender<Option<TtyState>>,
    },
    Modes {
        reply: oneshot::Sender<ptyard_screen::Modes>,
    },
    Attend {
        agent: Box<Agent>,
        reply: oneshot::Sender<TurnEvents>,
    },
    Dispatch {
        mail: Mail,
        reply: oneshot::Sender<Result<(), DispatchError>>,
    },
    Hurry {
        haste: Haste,
    },
    JudgeAgain,
    Hook {
        told: Hooked,
        reply: oneshot::Sender<()>,
    },
    ResetTurns {
        reply: oneshot::Sender<()>,
    },
    Explain {
        reply: oneshot::Sender<Option<Explanation>>,
    },
    Close,
}

/// What a kill did, and the program's end.
#[derive(Debug, Clone)]
pub struct Killed {
    /// What happened to the tree.
    pub report: KillReport,
    /// The end of the program; `None` when it could not be ended.
    pub exit: Option<Exit>,
}

/// A look at the screen.
#[derive(Debug, Clone)]
pub struct Look {
    /// What is on it.
    pub view: View,
    /// The log offset it shows.
    pub offset: u64,
    /// Where its emulation began, when bytes before that were no longer there or too many.
    pub since: u64,
}
