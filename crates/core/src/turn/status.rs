//! What an agent is doing.

use serde::{Deserialize, Serialize};

/// What an agent is doing, as far as evidence tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It starts; nothing it shows counts as ready yet.
    Starting,
    /// It waits for a task and has not had one since it started, or does not tell the two apart.
    Idle,
    /// It works on a task.
    Processing,
    /// It finished a task and waits for the next.
    Completed,
    /// It shows a question or a dialog: keys would answer that.
    WaitingUserAnswer,
    /// It says that it failed.
    Error,
    /// Its program has ended.
    Exited,
    /// Nothing is known. Never taken for ready.
    Unknown,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 8] = [
        Self::Starting,
        Self::Idle,
        Self::Processing,
        Self::Completed,
        Self::WaitingUserAnswer,
        Self::Error,
        Self::Exited,
        Self::Unknown,
    ];

    /// Whether a task can be handed over in it.
    #[must_use]
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Idle | Self::Completed)
    }

    /// The word for it, as it stands in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::WaitingUserAnswer => "waiting_user_answer",
            Self::Error => "error",
            Self::Exited => "exited",
            Self::Unknown => "unknown",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an agent is blocked on, while it is [`Status::WaitingUserAnswer`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockedOn {
    /// What kind of question it is.
    pub kind: Question,
    /// What it asks, in its own words, where it said so. Untrusted text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message: Option<String>,
}

/// A kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Whether something may be done.
    Permission,
    /// A question about the task.
    Question,
    /// A login.
    Auth,
    /// Trust in a folder, a survey, an offer: any other dialog.
    Dialog,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_json() {
        for status in Status::ALL {
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
    }
}
