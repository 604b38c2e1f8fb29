//! From the yard's answers to replies.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ptyard_core::{Cause, Exit, Size, TerminalId};
use ptyard_yard::{Event, Info, KillOutcome, LimitInfo, Range, ScreenView, WaitOutcome, Window};
use serde_json::json;

use crate::api::{
    Done, Event as EventReply, ExitInfo, KillReply, LimitsInfo, LogInfo, ReadReply, ScreenCursor,
    ScreenReply, SizeInfo, TerminalInfo, WaitReply, WindowReply,
};

/// RFC 3339 in UTC, to the millisecond.
pub(crate) fn time(at: SystemTime) -> String {
    // A clock that is set outside the years -9999..=9999 is shown as the epoch.
    let at = jiff::Timestamp::try_from(at).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{at:.3}")
}

/// Done, and about which terminal.
pub(crate) fn done(id: TerminalId) -> Done {
    Done { id: Some(id.to_string()), ok: true }
}

/// How a program ended.
pub(crate) fn exit(exit: &Exit) -> ExitInfo {
    let cause = match exit.cause {
        Cause::Exited => "exited",
        Cause::Signaled => "signaled",
        Cause::Killed => "killed",
        Cause::Lost => "lost",
        Cause::Unknown => "unknown",
    };
    ExitInfo {
        code: exit.code,
        signal: exit.signal,
        cause: cause.to_owned(),
        by: exit.by.clone(),
        descendants: exit.descendants,
    }
}

impl From<Size> for SizeInfo {
    fn from(size: Size) -> Self {
        Self { cols: size.cols().into(), rows: size.rows().into() }
    }
}

impl From<&Window> for WindowReply {
    fn from(window: &Window) -> Self {
        Self {
            id: window.id.to_string(),
            session_id: window.session_id.map(Into::into),
            output: window.output.clone(),
            exit: window.exit.as_ref().map(exit),
            original_token_count: window.original_token_count,
            from: window.from,
            next: window.next,
            evicted: window.evicted,
            ended_by: window.ended_by.to_owned(),
            wall_ms: window.wall.as_secs_f64() * 1e3,
            chunk_id: window.chunk_id.clone(),
            written: window.written,
            unwritten: window.unwritten,
            removed: window.removed,
            warnings: window.warnings.clone(),
        }
    }
}

impl From<Range> for ReadReply {
    fn from(range: Range) -> Self {
        Self {
            from: range.from,
            next: range.next,
            evicted: range.evicted,
            data_base64: BASE64.encode(range.data),
        }
    }
}

/// What a person would see.
pub(crate) fn screen(view: ScreenView) -> ScreenReply {
    ScreenReply {
        cols: view.size.cols().into(),
        rows: view.size.rows().into(),
        cursor: ScreenCursor { row: view.cursor_row, col: view.cursor_col, visible: view.cursor_visible },
        title: view.title,
        modes: view.modes.into_iter().map(|(name, is_set)| (name.to_owned(), is_set.into())).collect(),
        lines: view.lines,
        scrollback: view.scrollback,
        offset: view.offset,
    }
}

fn limits(info: LimitInfo) -> LimitsInfo {
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    LimitsInfo {
        wall_ms: info.limits.wall.map(ms),
        wall_left_ms: info.wall_left.map(ms),
        idle_ms: info.limits.idle.map(ms),
        memory_bytes: info.limits.memory_bytes,
        processes: info.limits.processes,
        log_bytes: info.limits.log_bytes,
        not_held: info.unheld.into_iter().map(|(limit, why)| (limit.to_string(), why)).collect(),
    }
}

/// All about a terminal.
pub(crate) fn describe(info: Info) -> TerminalInfo {
    let (state, status) = match info.exit {
        Some(_) => ("exited", "exited"),
        None => ("running", "unknown"),
    };
    TerminalInfo {
        id: info.id.to_string(),
        session_id: info.session_id.map(Into::into),
        name: info.name,
        backend: info.backend,
        argv: info.argv,
        cwd: info.cwd,
        pid: info.pid,
        tty: info.tty,
        size: info.size.into(),
        state: state.to_owned(),
        exit: info.exit.as_ref().map(exit),
        log: LogInfo {
            start: info.log_start,
            end: info.log_end,
            bytes_kept: info.log_end.saturating_sub(info.log_start),
            error: info.log_error,
        },
        cursor: info.cursor,
        env: info.env,
        client: info.client,
        limits: info.limits.map(limits),
        status: json!({ "status": status }),
        created_at: time(info.created_at),
        last_output_at: info.last_output_at.map(time),
    }
}

impl From<WaitOutcome> for WaitReply {
    fn from(outcome: WaitOutcome) -> Self {
        Self {
            id: outcome.id.to_string(),
            ended_by: outcome.ended_by.to_owned(),
            matched: outcome.matched,
            offset: outcome.offset,
            exit: outcome.exit.as_ref().map(exit),
        }
    }
}

impl From<KillOutcome> for KillReply {
    fn from(outcome: KillOutcome) -> Self {
        Self {
            id: outcome.id.to_string(),
            exit: outcome.exit.as_ref().map(exit),
            found: outcome.found,
            last_signal: outcome.last_signal,
            survivors: outcome.survivors,
        }
    }
}

/// Something that happened.
pub(crate) fn event(event: Event) -> EventReply {
    EventReply {
        seq: event.seq,
        at: time(event.at),
        kind: event.kind.into_owned(),
        id: event.id.map(|id| id.to_string()),
        data: event.data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_rfc_3339_to_the_millisecond() {
        assert_eq!(time(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
        let later = SystemTime::UNIX_EPOCH + Duration::from_millis(951_782_400_007);
        assert_eq!(time(later), "2000-02-29T00:00:00.007Z");
    }

    #[test]
    fn an_unknown_end_is_never_shown_as_code_zero() {
        let shown = exit(&Exit::lost());
        assert_eq!((shown.code, shown.signal, shown.cause.as_str()), (None, None, "lost"));
    }
}
