//! Typing into programs.

use std::sync::Arc;

use bytes::Bytes;
use ptyard_core::window::{Call, QuietAfter, WindowLimits};
use ptyard_core::{Moment, TerminalId};
use ptyard_screen::paste::Brackets;
use ptyard_screen::{keys as key_names, paste};
use ptyard_terminal::backend::ControlError;
use ptyard_terminal::{TextUse, Typed, WindowCall, WindowCursor};

use crate::delivery::{Delivery, InputOutcome};
use crate::entry::Entry;
use crate::error::YardError;
use crate::keys::KeyState;
use crate::request::WindowPlan;
use crate::spec::{Naming, TerminalRef, TypedInput, WriteSpec};
use crate::yard::Yard;

/// Most bytes of one write. A longer input is sent in several.
pub(crate) const WRITE_BYTES: usize = 16 << 20;

impl Yard {
    /// Types, and takes a window from the cursor on. The window's conditions look at output that came after the write
    /// began. What the program does not take by the window's deadline is taken back and told.
    pub async fn write(&self, at: &TerminalRef, spec: WriteSpec) -> Result<Delivery, YardError> {
        let started = self.inner.clock.now();
        let typed = spec.input.as_ref().filter(|input| !input.is_empty());
        let call = if typed.is_some() { Call::Write } else { Call::Poll };
        let plan = WindowPlan::of(&spec.window, call)?;
        let entry = self.find(at)?;
        if let Some(since) = spec.since {
            check_offset(&entry, since)?;
        }
        let to_take = spec.take.map(|take| started + take.min(WindowLimits::LONGEST));
        let typed_by = to_take.unwrap_or_else(|| plan.deadline(started));
        let input = match (typed, &spec.key) {
            (None, _) => InputOutcome::default(),
            (Some(typed), Some(key)) => self.type_once(at, &entry, typed, key, typed_by).await?,
            (Some(typed), None) => self.type_input(at, &entry, typed, typed_by).await?,
        };
        let deadline = if to_take.is_some() { plan.deadline(self.inner.clock.now()) } else { typed_by };
        self.inner.config.pauses.point("write.typed").await;
        let call = WindowCall {
            cursor: spec.since.map_or(WindowCursor::Shared, WindowCursor::Own),
            mark: input.written.map(|written| written.mark),
            cap_tokens: Some(plan.cap_tokens),
            deadline: Some(deadline),
            conditions: plan.conditions,
            quiet_after: QuietAfter::NewOutput,
            text: TextUse::Kept,
            started,
        };
        let ready = entry.terminal.window(call).await?;
        let warnings = warnings(&entry, &input);
        Ok(Delivery::new(self, entry, ready, started, input, warnings, Naming::Any))
    }

    /// Types raw bytes without a window, as an attached viewer does.
    pub async fn type_bytes(&self, at: &TerminalRef, bytes: Vec<u8>) -> Result<TerminalId, YardError> {
        let entry = self.find(at)?;
        entry.terminal.type_in(Typed::raw(bytes)).await.map_err(|error| ended(at, error))?;
        Ok(entry.id())
    }

    async fn type_once(
        &self,
        at: &TerminalRef,
        entry: &Arc<Entry>,
        input: &TypedInput,
        key: &str,
        deadline: Moment,
    ) -> Result<InputOutcome, YardError> {
        match self.claim_key(entry.id(), key, input).await? {
            KeyState::Seen(written) => Ok(InputOutcome { written, ..InputOutcome::default() }),
            KeyState::New => {
                // A caller who cancels here cannot know what was typed, so the key stays taken: never twice is worth
                // more than surely once.
                let outcome = self.type_input(at, entry, input, deadline).await?;
                self.settle_key(entry.id(), key, outcome.written).await;
                Ok(outcome)
            }
        }
    }

    async fn type_input(
        &self,
        at: &TerminalRef,
        entry: &Arc<Entry>,
        input: &TypedInput,
        deadline: Moment,
    ) -> Result<InputOutcome, YardError> {
        let terminal = &entry.terminal;
        let (typed, removed) = match input {
            TypedInput::Bytes(bytes) => (Typed::raw(bytes.clone()), None),
            TypedInput::Keys(names) => {
                let keys = key_names::parse(names)?;
                let modes = terminal.modes().await.map_err(|error| ended(at, error))?;
                let bytes: Vec<u8> = keys.iter().flat_map(|key| key_names::encode(key, &modes)).collect();
                (Typed::raw(bytes), None)
            }
            TypedInput::Paste(text) => {
                let modes = terminal.modes().await.map_err(|error| ended(at, error))?;
                let pasted =
                    paste::encode(text, if modes.bracketed_paste { Brackets::On } else { Brackets::Off });
                let if_cut =
                    if modes.bracketed_paste { Bytes::from_static(paste::PASTE_END) } else { Bytes::new() };
                (Typed { bytes: pasted.bytes.into(), if_cut }, Some(pasted.removed.characters()))
            }
        };
        if typed.bytes.len() > WRITE_BYTES {
            return Err(YardError::InputTooLarge { bytes: typed.bytes.len(), most: WRITE_BYTES });
        }
        if entry.has_exited() {
            return Err(YardError::TerminalExited(at.clone()));
        }
        let bytes = typed.bytes.clone();
        let written = terminal.type_until(typed, Some(deadline)).await.map_err(|error| ended(at, error))?;
        let taken = &bytes[..written.taken.min(bytes.len())];
        let stopped_output = ends_stopped(taken)
            && terminal.tty_state().await.ok().flatten().is_some_and(|tty| tty.flow_control);
        Ok(InputOutcome { written: Some(written), removed, stopped_output })
    }
}

pub(crate) fn check_offset(entry: &Entry, asked: u64) -> Result<(), YardError> {
    let end = entry.terminal.log().bounds().end;
    if asked > end { Err(YardError::OffsetBeyondEnd { asked, end }) } else { Ok(()) }
}

/// Whether a tty with flow control has its output stopped after this: by C-s, until a C-q.
fn ends_stopped(typed: &[u8]) -> bool {
    const STOP: u8 = 0x13;
    const START: u8 = 0x11;
    typed.iter().rfind(|byte| matches!(**byte, STOP | START)) == Some(&STOP)
}

/// A refusal of what was to be typed, in the yard's words: one because the program has ended names the terminal.
pub(crate) fn ended(at: &TerminalRef, error: ptyard_terminal::TerminalError) -> YardError {
    match error {
        ptyard_terminal::TerminalError::Control(ControlError::Exited) => {
            YardError::TerminalExited(at.clone())
        }
        ptyard_terminal::TerminalError::LineTooLong(bytes) => YardError::LineTooLong(bytes),
        other => other.into(),
    }
}

fn warnings(entry: &Entry, input: &InputOutcome) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(why) = &entry.terminal.progress().borrow().held_back {
        warnings.push(format!("output is held back: {why}; the program waits, nothing is lost"));
    }
    if input.stopped_output {
        warnings.push(
            "the program has flow control on, and C-s stopped its output: C-q lets it go on".to_owned(),
        );
    }
    if let Some(written) = input.written.filter(|written| written.taken_back > 0) {
        let why =
            if written.input_ended { "its input has ended" } else { "the program did not read in time" };
        warnings.push(match (written.taken_back, written.taken + written.taken_back) {
            (_, 1) => format!("the byte of input was not taken: {why}"),
            (rest, all) => format!("{rest} of {all} bytes of input were not taken: {why}"),
        });
    }
    warnings
}
