//! Status reports, OSC 7501.

use super::notify::decode;
use super::{percent, split, text};
use crate::scan::signal::{ProgramState, ProgramStatus};

/// `state=STATE : key=value ...`. Unknown keys are ignored, an unknown state makes it no report.
pub(super) fn read(rest: &[u8]) -> Option<ProgramStatus> {
    let mut state = None;
    let mut report = ProgramStatus {
        state: ProgramState::Clear,
        kind: None,
        app: None,
        message: None,
        id: None,
        progress: None,
    };
    for pair in rest.split(|&b| b == b':') {
        let (key, value) = split(pair, b'=');
        match key {
            b"state" => state = Some(named(value)?),
            b"kind" => report.kind = Some(text(value)),
            b"app" => report.app = Some(text(value)),
            b"id" => report.id = Some(text(value)),
            b"msg" => report.message = decode(value).map(|message| text(&message)),
            b"progress" => report.progress = percent(value),
            _ => {}
        }
    }
    Some(ProgramStatus { state: state?, ..report })
}

fn named(state: &[u8]) -> Option<ProgramState> {
    Some(match state {
        b"idle" => ProgramState::Idle,
        b"working" => ProgramState::Working,
        b"blocked" => ProgramState::Blocked,
        b"done" => ProgramState::Done,
        b"error" => ProgramState::Error,
        b"clear" => ProgramState::Clear,
        _ => return None,
    })
}
