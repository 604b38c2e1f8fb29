//! From a recording to a timeline.

use std::sync::Arc;

use ptyard_core::plain::Plain;
use ptyard_core::turn::Status;
use ptyard_core::{Moment, Size};

use super::cast::{Cast, Kind};
use crate::answer::{Answer, Reader};
use crate::judge::{Change, Watch};
use crate::manifest::Provider;

/// How long after its last event a recording is watched: longer than anything takes to settle.
const AFTER: std::time::Duration = std::time::Duration::from_secs(3);

/// What was found in a recording or a capture.
#[derive(Debug, Clone)]
pub struct Detected {
    /// The statuses in order; a capture has one.
    pub timeline: Vec<Change>,
    /// The answers that were to be read when the next input came, or at the end, in order.
    pub answers: Vec<(Moment, Answer)>,
}

impl Detected {
    /// The last answer, if there was one.
    #[must_use]
    pub fn last_answer(&self) -> Option<&Answer> {
        self.answers.last().map(|(_, answer)| answer)
    }
}

/// Replays a recording on its own clock. An Enter while the program is ready is a message handed over.
#[must_use]
pub fn detect_cast(provider: &Arc<Provider>, cast: &Cast) -> Detected {
    let mut watch = Watch::new(Arc::clone(provider), cast.size, Moment::EPOCH);
    let mut reader = Reader::new(Arc::clone(provider), cast.size);
    let mut answers = Vec::new();
    let mut paste = InPaste::default();
    let mut last = Moment::EPOCH;
    for event in &cast.events {
        last = last.max(event.at);
        match &event.kind {
            Kind::Output(text) => {
                watch.output(text.as_bytes(), last);
                reader.feed(text.as_bytes(), last);
            }
            Kind::Resize(size) => {
                watch.resize(*size, last);
                reader.resize(*size);
            }
            Kind::Input(text) => {
                watch.advance(last);
                let status = watch.evidence().status;
                if status == Status::Completed
                    && let Some(answer) = reader.answer(last)
                {
                    answers.push((last, answer));
                }
                if paste.has_enter(text) && (status.is_ready() || status == Status::Error) {
                    watch.dispatched(last);
                }
            }
        }
    }
    watch.advance(last + AFTER);
    if watch.evidence().status == Status::Completed {
        answers.extend(reader.answer(last).map(|answer| (last, answer)));
    }
    Detected { timeline: watch.changes(), answers }
}

/// Judges one capture of a screen, plain text or with its escape sequences, as after a long quiet. Without a size it
/// is drawn on a screen on which all of it has room.
#[must_use]
pub fn detect_capture(provider: &Arc<Provider>, size: Option<Size>, capture: &[u8]) -> Detected {
    let size = size.unwrap_or_else(|| fitting(capture));
    let mut watch = Watch::new(Arc::clone(provider), size, Moment::EPOCH);
    // A captured text has bare line feeds, which a terminal's line discipline would have completed.
    let mut bytes = Vec::with_capacity(capture.len() + 64);
    for &byte in capture.trim_ascii_end() {
        if byte == b'\n' && bytes.last() != Some(&b'\r') {
            bytes.push(b'\r');
        }
        bytes.push(byte);
    }
    watch.output(&bytes, Moment::EPOCH);
    watch.advance(Moment::EPOCH + AFTER);
    let last = watch.changes().pop();
    let mut reader = Reader::new(Arc::clone(provider), size);
    reader.feed(&bytes, Moment::EPOCH);
    let is_ready = watch.evidence().status.is_ready();
    let answer = is_ready.then(|| reader.answer(Moment::EPOCH + AFTER)).flatten();
    let answers = answer.map(|answer| (Moment::EPOCH + AFTER, answer)).into_iter().collect();
    Detected { timeline: last.into_iter().collect(), answers }
}

/// At least 120x40, and as much as the longest line and the furthest address need.
fn fitting(capture: &[u8]) -> Size {
    let (mut cols, mut rows) = (120, 40);
    let text = String::from_utf8_lossy(capture);
    let mut plain = String::new();
    Plain::new().feed(&text, &mut plain);
    for line in plain.split(['\n', '\r']) {
        cols = cols.max(line.chars().count() as i64);
    }
    for address in text.split("\x1b[").skip(1) {
        let end = address.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
        if let Some((row, col)) = address[..end].split_once(';')
            && address[end..].starts_with('H')
        {
            rows = rows.max(row.parse().unwrap_or(0));
            cols = cols.max(col.parse().unwrap_or(0));
        }
    }
    Size::new(cols.min(1000), rows.min(1000)).unwrap_or_default()
}

/// Finds Enter keys that are not part of a paste.
#[derive(Debug, Default)]
struct InPaste {
    inside: bool,
}

impl InPaste {
    fn has_enter(&mut self, text: &str) -> bool {
        let mut found = false;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("\x1b[200~") {
                self.inside = true;
                rest = after;
            } else if let Some(after) = rest.strip_prefix("\x1b[201~") {
                self.inside = false;
                rest = after;
            } else {
                found |= c == '\r' && !self.inside;
                rest = &rest[c.len_utf8()..];
            }
        }
        found
    }
}
