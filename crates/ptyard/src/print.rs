//! What goes to stdout and stderr.

use std::io::{self, Write};

use ptyard_core::ErrorCode;
use serde::Serialize;

use crate::failure::{Failure, status};

/// Whether people or programs read stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text for people.
    Text,
    /// JSON: one document, or one a line for streams.
    Json,
}

/// Writes bytes to stdout at once.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| stdout_failed(&error))
}

/// Writes one JSON document, on one line.
pub(crate) fn json(document: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_vec(document)
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("reply is not JSON: {error}")))?;
    text.push(b'\n');
    bytes(&text)
}

/// Says something about the command on stderr. If stderr is gone there is nobody left to tell.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "ptyard: {text}");
}

/// Reports a failure where it belongs.
pub(crate) fn failure(failure: &Failure, format: Format) {
    if failure.status() == status::CLOSED_STDOUT {
        return;
    }
    let body = failure.body();
    let mut text = format!("error: {}\n", one_line(&body.message));
    if !body.hint.is_empty() {
        text.push_str(&format!("hint: {}\n", one_line(&body.hint)));
    }
    let _ = io::stderr().write_all(text.as_bytes());
    if format == Format::Json {
        let _ = json(&failure.reply());
    }
}

/// `text` without control characters, so that the name or title of a program cannot act on the reader's terminal.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

fn one_line(text: &str) -> String {
    printable(&text.replace(['\n', '\r'], " "))
}

fn stdout_failed(error: &io::Error) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::BrokenPipe => return Failure::closed_stdout(),
        io::ErrorKind::StorageFull => ErrorCode::DiskFull,
        _ => ErrorCode::Internal,
    };
    Failure::new(code, format!("stdout cannot be written: {error}")).with_hint("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_others_are_shown_and_not_obeyed() {
        assert_eq!(printable("a\x1b]0;x\x07b\u{9b}2J é"), "a\\u{1b}]0;x\\u{7}b\\u{9b}2J é");
    }
}
