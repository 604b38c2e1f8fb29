//! Asciinema recordings (version 2).

use std::time::Duration;

use ptyard_core::{Moment, Size};
use serde::Deserialize;

/// A recording.
#[derive(Debug, Clone)]
pub struct Cast {
    /// The size at its start.
    pub size: Size,
    /// What happened, in order.
    pub events: Vec<CastEvent>,
}

/// One thing that happened.
#[derive(Debug, Clone)]
pub struct CastEvent {
    /// When, from the start of the recording.
    pub at: Moment,
    /// What.
    pub kind: Kind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The program printed this.
    Output(String),
    /// This was typed.
    Input(String),
    /// The terminal's size changed.
    Resize(Size),
}

/// What is wrong with a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct CastError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

#[derive(Deserialize)]
struct Header {
    version: u32,
    width: i64,
    height: i64,
}

impl Cast {
    /// Whether a text begins like a recording.
    #[must_use]
    pub fn is_cast(text: &str) -> bool {
        text.lines().next().is_some_and(|line| serde_json::from_str::<Header>(line).is_ok())
    }

    /// Reads a recording. Events of other kinds (marks) are left out.
    ///
    /// # Errors
    ///
    /// With the line, when it is no recording of version 2.
    pub fn parse(text: &str) -> Result<Self, CastError> {
        let error = |line: usize, message: &str| CastError { line: line + 1, message: message.to_owned() };
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (_, first) = lines.next().ok_or_else(|| error(0, "nothing is in it"))?;
        let header: Header =
            serde_json::from_str(first).map_err(|_| error(0, "no header of an asciinema recording"))?;
        if header.version != 2 {
            return Err(error(0, "only version 2 is read"));
        }
        let size = Size::new(header.width, header.height).map_err(|_| error(0, "a size out of bounds"))?;
        let mut events = Vec::new();
        for (at, line) in lines {
            let (seconds, code, data): (f64, String, String) =
                serde_json::from_str(line).map_err(|_| error(at, "not [time, code, data]"))?;
            let time = Duration::try_from_secs_f64(seconds).map_err(|_| error(at, "no time"))?;
            let kind = match code.as_str() {
                "o" => Kind::Output(data),
                "i" => Kind::Input(data),
                "r" => Kind::Resize(data.parse().map_err(|_| error(at, "no size"))?),
                _ => continue,
            };
            events.push(CastEvent { at: Moment::from_epoch(time), kind });
        }
        Ok(Self { size, events })
    }
}
