//! A window of output, shown to people.

use std::io::{self, IsTerminal, Write};

use ptyard_server::api::{ExitInfo, WindowReply, WindowRequest};

use crate::args::WindowArgs;
use crate::failure::Failure;
use crate::print::{self, Format};

impl From<WindowArgs> for WindowRequest {
    fn from(args: WindowArgs) -> Self {
        Self { yield_ms: args.yield_ms, max_tokens: args.max_tokens, until: args.until }
    }
}

/// Prints a window: the output as it is on stdout, what else there is to know on stderr.
pub(super) fn print(window: &WindowReply, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print::json(window);
    }
    print::bytes(window.output.as_bytes())?;
    if !window.output.is_empty() && !window.output.ends_with('\n') && io::stdout().is_terminal() {
        // So that the status does not continue the program's last line.
        let _ = writeln!(io::stderr());
    }
    for line in remarks(window) {
        print::note(&line);
    }
    print::note(&status_line(window));
    Ok(())
}

/// What a reader of the output should know besides.
pub(crate) fn remarks(window: &WindowReply) -> Vec<String> {
    let mut lines = Vec::new();
    if window.evicted > 0 {
        lines.push(evicted(window.evicted));
    }
    if let Some(removed) = window.removed.filter(|n| *n > 0) {
        lines.push(match removed {
            1 => "1 character of the paste was a control and was removed".to_owned(),
            n => format!("{n} characters of the paste were controls or escape sequences and were removed"),
        });
    }
    lines.extend(window.warnings.iter().map(|warning| print::printable(warning)));
    lines
}

/// What a reader missed.
pub(crate) fn evicted(bytes: u64) -> String {
    match bytes {
        1 => "1 byte of output was evicted before it was read".to_owned(),
        n => format!("{n} bytes of output were evicted before they were read"),
    }
}

fn status_line(window: &WindowReply) -> String {
    let mut line = match (&window.exit, window.session_id) {
        (Some(exit), _) => ended(exit),
        (None, Some(id)) => format!("running, session {id} (ptyard write {id} gives the next window)"),
        (None, None) => format!("ended before this window ({})", window.id),
    };
    if let Some(tokens) = window.original_token_count {
        line.push_str(&format!("; the window had {tokens} tokens, read all of it with: {}", whole(window)));
    }
    line
}

fn whole(window: &WindowReply) -> String {
    format!(
        "ptyard read {} --since {} --max-bytes {}",
        window.id,
        window.from,
        window.next.saturating_sub(window.from)
    )
}

/// How a program ended, in a few words.
pub(crate) fn ended(exit: &ExitInfo) -> String {
    let mut text = match (exit.code, exit.signal) {
        (Some(code), _) => format!("exited {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => format!("ended, exit code unknown ({})", exit.cause),
    };
    if let Some(by) = &exit.by {
        text.push_str(&format!(" (by {})", print::printable(by)));
    }
    if exit.descendants > 0 {
        text.push_str(&format!("; {} of its processes ran on", exit.descendants));
    }
    text
}

/// The exit status a shell would show; `None` when nobody knows how the program ended.
pub(crate) fn shell_code(exit: &ExitInfo) -> Option<i32> {
    exit.code.or_else(|| exit.signal.map(|signal| 128 + signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: Option<i32>, signal: Option<i32>, cause: &str) -> ExitInfo {
        ExitInfo { code, signal, cause: cause.into(), by: None, descendants: 0 }
    }

    #[test]
    fn law_04_an_unknown_code_is_unknown_and_never_0() {
        assert_eq!(ended(&exit(None, None, "lost")), "ended, exit code unknown (lost)");
        assert_eq!(shell_code(&exit(None, None, "lost")), None);
        assert_eq!(shell_code(&exit(None, Some(9), "killed")), Some(137));
        assert_eq!(shell_code(&exit(Some(3), None, "exited")), Some(3));
    }

    #[test]
    fn a_kill_says_who_asked_and_what_is_left() {
        let killed = ExitInfo { by: Some("kill".into()), descendants: 2, ..exit(None, Some(9), "killed") };
        assert_eq!(ended(&killed), "ended by signal 9 (by kill); 2 of its processes ran on");
    }
}
