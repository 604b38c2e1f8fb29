//! Replies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExitInfo {
    /// The code it returned.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// `exited`, `signaled`, `killed`, `lost` or `unknown`.
    pub cause: String,
    /// Who ended it, when it was ended on purpose.
    pub by: Option<String>,
    /// How many of its descendants still lived then.
    pub descendants: u32,
}

/// One window of output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WindowReply {
    /// Full id.
    pub id: String,
    /// Short id; null once the program has ended and its last window was delivered.
    pub session_id: Option<u32>,
    /// What was printed, as text.
    pub output: String,
    /// How the program ended, with its last window.
    pub exit: Option<ExitInfo>,
    /// Tokens of the whole window, when `output` was cut.
    pub original_token_count: Option<u64>,
    /// Offset of the window's first byte.
    pub from: u64,
    /// Offset after its last byte.
    pub next: u64,
    /// Bytes that were evicted before they were read.
    pub evicted: u64,
    /// `exit`, `deadline`, `quiet`, `regex`, `prompt` or `status`.
    pub ended_by: String,
    /// Milliseconds the call took.
    pub wall_ms: f64,
    /// Six random hex digits.
    pub chunk_id: String,
    /// Bytes of input the program's terminal took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
    /// Bytes of input that were not taken in time, and were taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwritten: Option<u64>,
    /// Characters removed from a paste: controls and escape sequences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
    /// What the caller should know, in words: a full disk, many terminals, ...
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A range of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadReply {
    /// Offset of the first byte.
    pub from: u64,
    /// Offset after the last byte.
    pub next: u64,
    /// Bytes between the offset asked for and `from` that are gone.
    pub evicted: u64,
    /// The bytes.
    pub data_base64: String,
}

/// Where the cursor is, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScreenCursor {
    /// Row from the top.
    pub row: u32,
    /// Column from the left.
    pub col: u32,
    /// Whether it is shown.
    pub visible: bool,
}

/// What a person would see now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScreenReply {
    /// Columns.
    pub cols: u32,
    /// Rows.
    pub rows: u32,
    /// The cursor.
    pub cursor: ScreenCursor,
    /// The window title.
    pub title: String,
    /// Modes that matter for input and for reading: `alt_screen`, `bracketed_paste`, `frame_incomplete`, ...
    #[schema(value_type = BTreeMap<String, bool>)]
    pub modes: BTreeMap<String, serde_json::Value>,
    /// The rows as text, scrollback first, trailing blanks cut.
    pub lines: Vec<String>,
    /// How many of `lines` are scrollback.
    pub scrollback: u32,
    /// The log offset this screen shows.
    pub offset: u64,
}

/// The size of a tty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SizeInfo {
    /// Columns.
    pub cols: u32,
    /// Rows.
    pub rows: u32,
}

/// The log of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogInfo {
    /// Oldest offset kept.
    pub start: u64,
    /// Offset after the newest byte.
    pub end: u64,
    /// Bytes kept.
    pub bytes_kept: u64,
    /// Why output is held back, for example a full disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a program may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitsInfo {
    /// Milliseconds it may live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Milliseconds that are left of them; null when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_left_ms: Option<u64>,
    /// Milliseconds without output and without input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// Bytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processes and threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Bytes of output kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// Those that are not held here (`memory`, `processes`), each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_held: BTreeMap<String, String>,
}

/// All about a terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TerminalInfo {
    /// Full id.
    pub id: String,
    /// Short id.
    pub session_id: Option<u32>,
    /// Name, when it has one.
    pub name: Option<String>,
    /// Where it runs.
    pub backend: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: String,
    /// Process id.
    pub pid: Option<u32>,
    /// Whether it has a tty.
    pub tty: bool,
    /// Size of the tty.
    pub size: SizeInfo,
    /// `running` or `exited`.
    pub state: String,
    /// How it ended.
    pub exit: Option<ExitInfo>,
    /// Its log.
    pub log: LogInfo,
    /// Offset the shared cursor is at: where the next window begins.
    pub cursor: u64,
    /// The stated environment; values given by the caller are null.
    pub env: BTreeMap<String, Option<String>>,
    /// Whose it is, when a client policy applies.
    pub client: Option<String>,
    /// What it may use, when that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsInfo>,
    /// `{"status": ...}`: what is known of the agent in it.
    #[schema(value_type = Object)]
    pub status: serde_json::Value,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339 of the last output.
    pub last_output_at: Option<String>,
}

/// Why a wait ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WaitReply {
    /// Full id.
    pub id: String,
    /// `exit`, `deadline`, `quiet`, `regex`, `prompt` or `status`.
    pub ended_by: String,
    /// For `regex`: the text that matched.
    pub matched: Option<String>,
    /// End of the log then.
    pub offset: u64,
    /// How the program ended, if it has.
    pub exit: Option<ExitInfo>,
}

/// What a kill did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KillReply {
    /// Full id.
    pub id: String,
    /// How the program ended.
    pub exit: Option<ExitInfo>,
    /// Processes that lived when the kill began.
    pub found: u32,
    /// The last signal that was needed.
    pub last_signal: Option<i32>,
    /// Processes that still live.
    pub survivors: Vec<u32>,
}

/// Done, and about which terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// Full id; null when it is not about one.
    pub id: Option<String>,
    /// Always true.
    pub ok: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Number of the event: 1, 2, 3, ... without gaps.
    pub seq: u64,
    /// RFC 3339.
    pub at: String,
    /// `started`, `exited`, `removed`, `resized`, `input`, `title`, `clipboard`, `log_error`, `gap`, ...
    pub kind: String,
    /// Full id of the terminal it is about.
    pub id: Option<String>,
    /// More about it; what is there depends on `kind`.
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
}

/// Which server this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Version {
    /// Version of the program.
    pub version: String,
    /// [`super::PROTOCOL`].
    pub protocol: u32,
    /// Process id of the server.
    pub pid: u32,
    /// The state directory.
    pub state: String,
    /// Whether a command started it in the background: a newer command may put its own version in its place.
    #[serde(default)]
    pub background: bool,
}

/// What a server leaves to the one that takes its place. This and the fields of [`Version`] never change their form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Leaving {
    /// The loopback address it listened on as well.
    pub listen: Option<String>,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorReply {
    /// The error.
    pub error: ErrorBody,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// Stable code.
    pub code: String,
    /// What happened: a lower-case fragment that fits "failed to ...".
    pub message: String,
    /// The next step; empty when there is none.
    pub hint: String,
    /// Whether the same request may succeed later.
    #[serde(default)]
    pub retryable: bool,
}
