//! The ways to tell a status on the terminal.

use base64::Engine as _;

use super::config::{Osc7501, StatusConfig};

/// What an agent says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    Idle,
    Working,
    Blocked,
    Done,
    Error,
    Clear,
}

impl Report {
    const fn state(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Blocked => "blocked:kind=permission",
            Self::Done => "done",
            Self::Error => "error",
            Self::Clear => "clear",
        }
    }

    const fn icon(self) -> &'static str {
        match self {
            Self::Idle | Self::Done | Self::Clear => "✳ ",
            Self::Working => "◐ ",
            Self::Blocked => "? ",
            Self::Error => "! ",
        }
    }
}

/// The question whether the terminal knows OSC 7501.
pub(super) const QUESTION: &[u8] = b"\x1b]7501;?\x1b\\";

/// The bytes that tell `report`, by every way that is in use.
pub(super) fn bytes(report: Report, message: &str, status: &StatusConfig, answered: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let reports = match status.osc7501 {
        Osc7501::Off => false,
        Osc7501::Always => true,
        Osc7501::Asks => answered,
    };
    if reports {
        let message = match message {
            "" => String::new(),
            words => format!(":msg={}", base64::engine::general_purpose::STANDARD.encode(words)),
        };
        bytes.extend(format!("\x1b]7501;state={}:app=scripted{message}\x1b\\", report.state()).bytes());
    }
    if status.title {
        let icon = if reports { "" } else { report.icon() };
        bytes.extend(format!("\x1b]0;{icon}scripted agent\x07").bytes());
    }
    bytes
}
