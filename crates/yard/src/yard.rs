//! The yard itself.

use std::path::PathBuf;
use std::time::Duration;

use ptyard_core::{ErrorCode, Size, TerminalId};
use ptyard_terminal::backend::{Signal, Target};

use crate::spec::*;

/// Where a yard keeps its state and how much it may use.
#[derive(Debug, Clone)]
pub struct YardConfig {
    /// The state directory.
    pub state: PathBuf,
}

/// Why the yard refused or failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct YardError {
    /// Stable code.
    pub code: ErrorCode,
    /// What happened: a lower-case fragment.
    pub message: String,
}

/// A running yard. Clones share it.
#[derive(Clone)]
pub struct Yard {}

/// A window that is ready and not yet handed over. Dropped, it has cost nothing; [`Delivery::commit`] moves the cursor
/// in the same step that hands the window over.
pub struct Delivery {}

impl Delivery {
    /// The window.
    #[must_use]
    pub fn window(&self) -> &Window {
        todo!()
    }
    /// Hands it over.
    #[must_use]
    pub fn commit(self) -> Window {
        todo!()
    }
}

/// A reader of a terminal's whole output from an offset on, with a cursor of its own.
pub struct Follow {}

/// What a [`Follow`] gives next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowItem {
    /// Bytes at an offset.
    Bytes {
        /// First offset.
        at: u64,
        /// The bytes, at most 64 KiB.
        data: Vec<u8>,
    },
    /// Bytes gone for good.
    Gap {
        /// First offset missing.
        from: u64,
        /// First offset after.
        to: u64,
    },
    /// The size changed.
    Resized(Size),
    /// The program ended and everything was given; nothing follows.
    Exit {
        /// How.
        exit: ptyard_core::Exit,
        /// End of the log.
        offset: u64,
    },
}

impl Follow {
    /// The next item; `None` after [`FollowItem::Exit`] or when the terminal was removed. Cancel-safe.
    pub async fn next(&mut self) -> Option<FollowItem> {
        todo!()
    }
    /// The terminal, the first offset, the size now.
    #[must_use]
    pub fn hello(&self) -> (TerminalId, u64, Size) {
        todo!()
    }
}

/// Events from a number on.
pub struct EventStream {}

impl EventStream {
    /// The next event; waits for it. Cancel-safe. Events that were dropped because nobody asked for them in time are
    /// told by one event of kind `gap` with `{"from","to"}` (sequence numbers).
    pub async fn next(&mut self) -> Event {
        todo!()
    }
    /// The next event if it is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        todo!()
    }
}

impl Yard {
    /// Opens the state directory (made if missing, 0700), locks it and starts.
    pub fn open(_config: YardConfig) -> Result<Self, YardError> {
        todo!()
    }
    /// Starts a program and takes its first window.
    pub async fn exec(&self, _spec: ExecSpec) -> Result<Delivery, YardError> {
        todo!()
    }
    /// Types and takes a window.
    pub async fn write(&self, _at: &TerminalRef, _spec: WriteSpec) -> Result<Delivery, YardError> {
        todo!()
    }
    /// Reads any range still kept.
    pub async fn read(
        &self,
        _at: &TerminalRef,
        _since: Option<u64>,
        _max_bytes: usize,
    ) -> Result<Range, YardError> {
        todo!()
    }
    /// What a person would see now.
    pub async fn screen(&self, _at: &TerminalRef, _scrollback: u32) -> Result<ScreenView, YardError> {
        todo!()
    }
    /// Waits for a condition.
    pub async fn wait(
        &self,
        _at: &TerminalRef,
        _until: &[String],
        _since: Option<u64>,
        _timeout: Option<Duration>,
    ) -> Result<WaitOutcome, YardError> {
        todo!()
    }
    /// Changes the size.
    pub async fn resize(&self, _at: &TerminalRef, _size: Size) -> Result<TerminalId, YardError> {
        todo!()
    }
    /// Sends a signal.
    pub async fn signal(
        &self,
        _at: &TerminalRef,
        _signal: Signal,
        _target: Target,
    ) -> Result<TerminalId, YardError> {
        todo!()
    }
    /// Types raw bytes without a window (an attached viewer).
    pub async fn type_bytes(&self, _at: &TerminalRef, _bytes: Vec<u8>) -> Result<TerminalId, YardError> {
        todo!()
    }
    /// Ends the input.
    pub async fn close_stdin(&self, _at: &TerminalRef) -> Result<TerminalId, YardError> {
        todo!()
    }
    /// Ends the program and its whole tree.
    pub async fn kill(&self, _at: &TerminalRef, _grace: Option<Duration>) -> Result<KillOutcome, YardError> {
        todo!()
    }
    /// Removes an ended terminal and its log.
    pub async fn remove(&self, _at: &TerminalRef) -> Result<TerminalId, YardError> {
        todo!()
    }
    /// All terminals, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Info> {
        todo!()
    }
    /// One terminal.
    pub fn info(&self, _at: &TerminalRef) -> Result<Info, YardError> {
        todo!()
    }
    /// Follows a terminal's output; `None` begins at the end of the log now.
    pub fn follow(&self, _at: &TerminalRef, _since: Option<u64>) -> Result<Follow, YardError> {
        todo!()
    }
    /// Events with a number greater than `since`; `None` is from now on.
    #[must_use]
    pub fn events(&self, _since: Option<u64>) -> EventStream {
        todo!()
    }
    /// Ends every program, waits until they are gone, and closes.
    pub async fn shutdown(&self) {
        todo!()
    }
}
