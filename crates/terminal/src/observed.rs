//! What a program's output said about itself, beside the text.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ptyard_core::{Limit, Moment, Size};
use ptyard_screen::scan::ProgramStatus;

use crate::actor::Run;

/// Things seen in the output that people and the status rules ask for.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The window title.
    pub title: String,
    /// The directory the program reported (OSC 7).
    pub cwd: Option<String>,
    /// The last native status report (OSC 7501), and the offset after it.
    pub status: Option<(u64, ProgramStatus)>,
    /// The sizes the tty had: from which offset on, and which.
    pub sizes: Vec<(u64, Size)>,
    /// What the side parser knew about the end of the log, set when the actor finishes.
    pub run: Run,
}

/// [`Observed`], shared between the actor, which writes it, and everybody who asks. Never held across a wait.
#[derive(Debug, Default)]
pub struct SharedObserved(Mutex<Observed>);

impl SharedObserved {
    /// A look at it, or a change to it.
    pub fn lock(&self) -> MutexGuard<'_, Observed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that happened in a terminal.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalEvent {
    /// The title changed.
    Title(String),
    /// The size changed.
    Resized(Size),
    /// The program reported its status.
    Status(ProgramStatus),
    /// The program sent a notification.
    Notification {
        /// Its title, where it has one.
        title: Option<String>,
        /// Its text.
        body: String,
    },
    /// The program wrote to the clipboard; what it wrote was dropped.
    ClipboardDropped {
        /// Bytes of the content, still in base64.
        encoded_len: u64,
    },
    /// Output is held back: the log cannot be written.
    HeldBack(String),
    /// The log can be written again.
    Resumed,
    /// The program reached a limit and is being ended.
    LimitReached(Limit),
    /// The program ended and its output was drained.
    Exited(ptyard_core::Exit, Moment),
}

/// Who is told what happens in a terminal. Called by the actor between two steps: it must not block.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn event(&self, event: TerminalEvent);
}

/// Nobody.
pub struct NoObserver;

impl Observer for NoObserver {
    fn event(&self, _: TerminalEvent) {}
}
