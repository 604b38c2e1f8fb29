//! Reading and waiting without moving any shared cursor.

use std::collections::BTreeMap;
use std::time::Duration;

use ptyard_core::window::QuietAfter;
use ptyard_screen::modes::Mouse;
use ptyard_screen::{Modes, View};
use ptyard_terminal::{TextUse, WindowCall, WindowCursor};

use crate::error::YardError;
use crate::request::parse_conditions;
use crate::spec::{Range, ScreenView, TerminalRef, WaitOutcome};
use crate::write::check_offset;
use crate::yard::Yard;

impl Yard {
    /// Reads any range still kept, as often as wanted. `since` defaults to the oldest byte kept. When bytes at `since`
    /// are gone, the range begins at the oldest one kept and says how many are missing.
    pub async fn read(
        &self,
        at: &TerminalRef,
        since: Option<u64>,
        max_bytes: usize,
    ) -> Result<Range, YardError> {
        let entry = self.find(at)?;
        let since = since.unwrap_or_else(|| entry.terminal.log().bounds().start);
        check_offset(&entry, since)?;
        let mut data = Vec::new();
        let read = entry.terminal.log().read(since, max_bytes, &mut data)?;
        Ok(Range { from: read.from, next: read.from + data.len() as u64, evicted: read.evicted, data })
    }

    /// What a person would see now, with up to `scrollback` lines of history.
    pub async fn screen(&self, at: &TerminalRef, scrollback: u32) -> Result<ScreenView, YardError> {
        let entry = self.find(at)?;
        let look = entry.terminal.look(scrollback as usize).await?;
        Ok(screen_view(look.view, look.offset))
    }

    /// Waits until a condition holds, in output from `since` on (default: the end of the log now). Moves no cursor.
    pub async fn wait(
        &self,
        at: &TerminalRef,
        until: &[String],
        since: Option<u64>,
        timeout: Option<Duration>,
    ) -> Result<WaitOutcome, YardError> {
        let started = self.inner.clock.now();
        let conditions = parse_conditions(until)?;
        if conditions.is_empty() {
            return Err(YardError::InvalidArgument("a wait needs a condition".to_owned()));
        }
        let entry = self.find(at)?;
        if let Some(since) = since {
            check_offset(&entry, since)?;
        }
        let from = since.unwrap_or_else(|| entry.terminal.log().bounds().end);
        let call = WindowCall {
            cursor: WindowCursor::Own(from),
            mark: Some(from),
            cap_tokens: Some(0),
            conditions,
            quiet_after: QuietAfter::Anything,
            text: TextUse::Unread,
            started,
            deadline: timeout.map(|timeout| started + timeout),
        };
        let ready = entry.terminal.window(call).await?;
        let collected = ready.commit();
        Ok(WaitOutcome {
            id: entry.id(),
            ended_by: collected.ended_by.as_str(),
            matched: collected.matched,
            offset: collected.next,
            exit: collected.exit,
        })
    }
}

fn screen_view(view: View, offset: u64) -> ScreenView {
    let mut modes = named_modes(&view.modes);
    modes.insert("frame_incomplete", view.frame_incomplete);
    ScreenView {
        size: view.size,
        cursor_row: u32::from(view.cursor.row),
        cursor_col: u32::from(view.cursor.col),
        cursor_visible: view.cursor.visible,
        modes,
        ansi: String::from_utf8_lossy(&view.to_ansi()).into_owned(),
        scrollback: u32::try_from(view.scrollback).unwrap_or(u32::MAX),
        title: view.title,
        lines: view.lines.into_iter().map(|line| line.text).collect(),
        offset,
    }
}

/// The modes that matter for reading and typing, by name.
fn named_modes(modes: &Modes) -> BTreeMap<&'static str, bool> {
    BTreeMap::from([
        ("alt_screen", modes.alt_screen),
        ("application_cursor", modes.application_cursor),
        ("application_keypad", modes.application_keypad),
        ("bracketed_paste", modes.bracketed_paste),
        ("focus_events", modes.focus_events),
        ("kitty_keys", modes.kitty_flags() != 0),
        ("mouse", modes.mouse != Mouse::Off),
        ("sync_update", modes.sync_update),
    ])
}
