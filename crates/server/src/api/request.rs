//! Requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How long a window stays open and how much it may hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WindowRequest {
    /// Milliseconds to wait. Default: 10,000 for a start, 250 for a write. Clamped to 250..=30,000 (an empty write:
    /// 5,000..=30,000) unless `until` is given; then to 0..=86,400,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yield_ms: Option<i64>,
    /// Most tokens of 4 bytes in `output`, 1..=4,000,000. Default 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<i64>,
    /// Conditions: `exit`, `quiet:MS`, `regex:RE`, `prompt`, `status:NAME`. The first that holds ends the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<String>,
}

/// What a program without a tty reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StdinKind {
    /// `/dev/null`.
    #[default]
    Null,
    /// A pipe, open until `close-stdin`.
    Pipe,
}

/// Rules for the terminals of one client, as models expect them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClientPolicy {
    /// The client these terminals count for.
    pub client: String,
    /// Most terminals of this client at once; the next one ends the least used (default 64).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_terminals: Option<u32>,
}

/// What a program may use. One that reaches `wall_ms`, `idle_ms`, `memory_bytes` or `processes` is ended with everything it
/// started: its exit has the cause `killed` and says `limit:wall`, `limit:idle`, ... in `by`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsRequest {
    /// Milliseconds it may live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Milliseconds without output and without input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// Bytes of memory of all its processes together. Needs a cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processes and threads, the program included. Needs a cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Bytes of output kept; of more, the oldest go, and readers are told. Ends nothing. Default 256 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// Start it even where a limit cannot be held, with a warning, rather than refuse.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub best_effort: bool,
}

/// Starts a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecRequest {
    /// Program and arguments, passed as they are. Exactly one of `argv` and `command` is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Text for a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The shell for `command`; default: the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Whether that shell is a login shell (default true).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<bool>,
    /// Where it runs; default `local`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// A unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A pseudo terminal instead of pipes.
    #[serde(default)]
    pub tty: bool,
    /// `COLSxROWS` of the tty, default 80x24.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// What a program without a tty reads.
    #[serde(default)]
    pub stdin: StdinKind,
    /// Working directory, absolute; default: the caller's home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables on top of the stated environment. Their values are never shown again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Stated variables taken from the caller (`PATH`, `LANG`, ...): below `env`, above the server's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caller_env: BTreeMap<String, String>,
    /// Whose terminal this is, and the rules for that client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<ClientPolicy>,
    /// What it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsRequest>,
    /// The caller uses the full id alone: no short id is told, so none is used up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full_id_only: bool,
    /// The first window.
    #[serde(flatten)]
    pub window: WindowRequest,
}

/// Takes a program over that is somewhere already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AdoptRequest {
    /// Where it is: `tmux:SESSION:WINDOW.PANE` or `tmux:%N`.
    pub place: String,
    /// A unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The first window: it begins with what the pane shows.
    #[serde(flatten)]
    pub window: WindowRequest,
}

/// What is typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Nothing: a poll.
    #[default]
    None,
    /// This text as it is, control characters included.
    Chars(String),
    /// These bytes, in base64.
    Base64(String),
    /// Named keys, for example `C-c Enter`, encoded for the terminal's modes.
    Keys(String),
    /// Text pasted: bracketed where the program asked for it, controls and escape sequences removed.
    Paste(String),
}

/// Types into a program, or polls it, and takes a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteRequest {
    /// What to type.
    #[serde(default)]
    pub input: Input,
    /// Idempotency key: the same key and content again types nothing and takes a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Reads from this offset with a cursor of the caller's own; the shared cursor does not move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Milliseconds the program may take to take the input; the window's time begins when it has. Default: both
    /// within the window's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub take_ms: Option<u64>,
    /// The window.
    #[serde(flatten)]
    pub window: WindowRequest,
}

/// Waits for a condition; moves no cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitRequest {
    /// Conditions, as in a window; the first that holds ends the wait.
    pub until: Vec<String>,
    /// Milliseconds; none waits as long as it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Where output counts as new; default: the end of the log now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// Changes the size of a tty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResizeRequest {
    /// `COLSxROWS`.
    pub size: String,
}

/// Sends a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalRequest {
    /// `INT`, `SIGTERM`, `9`, ...
    pub signal: String,
    /// To the foreground process group instead of the program alone.
    #[serde(default)]
    pub group: bool,
}

/// Ends a program and everything it started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KillRequest {
    /// Milliseconds between TERM and KILL, default 2,000, most 60,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
}
