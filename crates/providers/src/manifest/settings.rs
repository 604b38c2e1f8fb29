//! The parts of a manifest that mean the same in its file and in use.

use serde::Deserialize;

/// What a rule says when it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleStatus {
    /// It has not come up.
    Starting,
    /// It takes a message. Whether it has completed something is told by the turns.
    Ready,
    /// It takes a message, and an answer to the last one is to be seen.
    Completed,
    /// It works.
    Processing,
    /// A question is open.
    Waiting,
    /// Its last turn failed.
    Error,
    /// Something lies over the screen (a viewer, a list): what was known before holds.
    Keep,
}

/// What a dialog that comes up by itself is about. Whether it is answered is the operator's to say, never a manifest's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    /// Whether the working directory is trusted.
    TrustCwd,
}

/// How input is typed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    /// Whether text is pasted in brackets.
    pub paste: PasteBrackets,
    /// Milliseconds between the text and its Enter. With 200 every CLI that was measured took the Enter for one.
    pub enter_delay_ms: u64,
    /// Keys that empty the composer.
    pub clear: Vec<String>,
    /// Keys that stop a turn.
    pub interrupt: Vec<String>,
    /// A line that ends the program.
    pub exit: String,
    /// How long a question has to stand before the program takes a key for an answer, in milliseconds: some drop what is
    /// typed at a dialog that just came up.
    pub answer_after_ms: u64,
}

impl Default for Input {
    fn default() -> Self {
        Self {
            paste: PasteBrackets::Auto,
            enter_delay_ms: 200,
            clear: vec!["C-u".to_owned()],
            interrupt: vec!["Escape".to_owned()],
            exit: "/exit".to_owned(),
            answer_after_ms: 0,
        }
    }
}

/// Whether text is pasted in brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PasteBrackets {
    /// When the program asked for them (mode 2004).
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What the program tells by itself.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Native {
    /// It writes marks of shells (OSC 133) around its messages, so they say nothing about a shell.
    pub prompt_marks_are_messages: bool,
}

/// When the program counts as ready.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ready {
    /// For how long a screen has to look ready without a break, in milliseconds.
    pub settle_ms: u64,
    /// The same before the program was ready for the first time: composers are drawn before dialogs.
    pub first_settle_ms: u64,
    /// Any program: ready when nothing was printed for so long, in milliseconds.
    pub quiet_ms: Option<u64>,
    /// For how long a ready screen must have been seen without a sign of work before a message counts as answered
    /// all the same, in milliseconds: some commands show none.
    pub unseen_work_ms: u64,
    /// For how long a text that left the composer, and of which nothing is seen since, counts as on its way rather than
    /// deleted, in milliseconds. Programs that show every message and the work on it can be given seconds, so that they
    /// are not taken for ready on a machine under load.
    pub on_its_way_ms: u64,
}

impl Default for Ready {
    fn default() -> Self {
        Self { settle_ms: 40, first_settle_ms: 250, quiet_ms: None, unseen_work_ms: 1500, on_its_way_ms: 600 }
    }
}
