//! What the yard is asked and what it answers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use ptyard_core::{Exit, Limit, Limits, SessionId, Size, TerminalId};
use ptyard_terminal::backend::{Io, Unheld};

/// How a caller names a terminal: full id, short id or unique name, tried in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalRef {
    /// Full id.
    Id(TerminalId),
    /// Short id.
    Short(SessionId),
    /// Name.
    Name(String),
}

impl fmt::Display for TerminalRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Short(id) => id.fmt(f),
            Self::Name(name) => write!(f, "{name:?}"),
        }
    }
}

impl FromStr for TerminalRef {
    type Err = Infallible;
    fn from_str(s: &str) -> Result<Self, Infallible> {
        Ok(if let Ok(id) = s.parse() {
            Self::Id(id)
        } else if let Some(short) = s.parse().ok().and_then(SessionId::new) {
            Self::Short(short)
        } else {
            Self::Name(s.to_owned())
        })
    }
}

/// What runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// Program and arguments, passed as they are.
    Argv(Vec<String>),
    /// Text for a shell.
    Shell {
        /// The text.
        text: String,
        /// The shell; `None` is the user's.
        shell: Option<String>,
        /// Whether it is a login shell.
        login: Login,
    },
    /// The one that is at the place already: it is taken over.
    Found,
}

/// Whether a shell reads the login files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Login {
    /// `-l -c`.
    #[default]
    Login,
    /// `-c`.
    Plain,
}

/// A window as it was asked for: nothing is parsed or clamped yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowSpec {
    /// Milliseconds, clamped whatever they are; `None` is the default of the call.
    pub yield_ms: Option<i64>,
    /// Tokens of 4 bytes, 1..=4,000,000; `None` is 10,000.
    pub max_tokens: Option<i64>,
    /// Conditions as text.
    pub until: Vec<String>,
}

/// Rules for one client's terminals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientPolicy {
    /// The client.
    pub client: String,
    /// Most terminals at once (64 when `None`).
    pub max_terminals: Option<u32>,
}

/// How a caller will name the terminal it starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Naming {
    /// By any of its ids.
    #[default]
    Any,
    /// By its full id or name: the short id is not told, and another program may have it when this one is gone.
    FullId,
}

/// What a program may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitSpec {
    /// The limits.
    pub limits: Limits,
    /// What becomes of the start when one of them cannot be held.
    pub unheld: Unheld,
}

/// The limits of a terminal as they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitInfo {
    /// The limits it was started with.
    pub limits: Limits,
    /// How long the program may still live; `None` without such a limit, and when it has ended.
    pub wall_left: Option<Duration>,
    /// Those of the limits that are not held, each with the reason.
    pub unheld: Vec<(Limit, String)>,
}

/// A program to start, and its first window.
#[derive(Debug, Clone)]
pub struct ExecSpec {
    /// What runs.
    pub program: Program,
    /// Where; `None` is `local`.
    pub backend: Option<String>,
    /// A unique name.
    pub name: Option<String>,
    /// Its streams.
    pub io: Io,
    /// Working directory; `None` is the user's home.
    pub cwd: Option<PathBuf>,
    /// Variables given by the caller; values are never shown again.
    pub env: BTreeMap<String, String>,
    /// Stated variables of the caller.
    pub caller_env: BTreeMap<String, String>,
    /// Whose it is.
    pub policy: Option<ClientPolicy>,
    /// What it may use.
    pub limits: LimitSpec,
    /// How the caller will name it.
    pub naming: Naming,
    /// The first window.
    pub window: WindowSpec,
}

/// What is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedInput {
    /// These bytes as they are.
    Bytes(Vec<u8>),
    /// Named keys.
    Keys(String),
    /// A paste.
    Paste(String),
}

impl TypedInput {
    /// Whether nothing is typed: a poll.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Keys(text) | Self::Paste(text) => text.is_empty(),
        }
    }
}

/// Input and a window.
#[derive(Debug, Clone, Default)]
pub struct WriteSpec {
    /// What to type; `None` is a poll, as is an empty one.
    pub input: Option<TypedInput>,
    /// Idempotency key.
    pub key: Option<String>,
    /// A cursor of the caller's own.
    pub since: Option<u64>,
    /// How long the program may take to take the input, at most [`WindowLimits::LONGEST`]; the window's time begins
    /// when it has. `None`: both within the window's time.
    ///
    /// [`WindowLimits::LONGEST`]: ptyard_core::window::WindowLimits::LONGEST
    pub take: Option<Duration>,
    /// The window.
    pub window: WindowSpec,
}

/// One window of output.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The terminal.
    pub id: TerminalId,
    /// Its short id; `None` once ended and delivered.
    pub session_id: Option<SessionId>,
    /// The text.
    pub output: String,
    /// How it ended.
    pub exit: Option<Exit>,
    /// Tokens of the whole window, when cut.
    pub original_token_count: Option<u64>,
    /// First offset.
    pub from: u64,
    /// Offset after the last byte.
    pub next: u64,
    /// Bytes evicted before they were read.
    pub evicted: u64,
    /// `exit`, `deadline`, `quiet`, `regex`, `prompt`, `status`.
    pub ended_by: &'static str,
    /// How long the call took.
    pub wall: Duration,
    /// Six hex digits.
    pub chunk_id: String,
    /// Bytes of input taken.
    pub written: Option<u64>,
    /// Bytes of input not taken in time and taken back.
    pub unwritten: Option<u64>,
    /// Characters removed from a paste: controls and escape sequences.
    pub removed: Option<u64>,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

/// A range of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// First offset.
    pub from: u64,
    /// Offset after the last byte.
    pub next: u64,
    /// Bytes gone between the offset asked for and `from`.
    pub evicted: u64,
    /// The bytes.
    pub data: Vec<u8>,
}

/// What a person would see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenView {
    /// The size.
    pub size: Size,
    /// Cursor row from 0.
    pub cursor_row: u32,
    /// Cursor column from 0.
    pub cursor_col: u32,
    /// Whether the cursor is shown.
    pub cursor_visible: bool,
    /// Title.
    pub title: String,
    /// Modes by name.
    pub modes: BTreeMap<&'static str, bool>,
    /// Rows as text, scrollback first, trailing blanks cut.
    pub lines: Vec<String>,
    /// The same rows with colours, as bytes for a terminal.
    pub ansi: String,
    /// How many of `lines` are scrollback.
    pub scrollback: u32,
    /// The offset shown.
    pub offset: u64,
}

/// Why a wait ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitOutcome {
    /// The terminal.
    pub id: TerminalId,
    /// The condition, or `deadline`.
    pub ended_by: &'static str,
    /// What the regex matched.
    pub matched: Option<String>,
    /// End of the log then.
    pub offset: u64,
    /// How it ended.
    pub exit: Option<Exit>,
}

/// What a kill did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KillOutcome {
    /// The terminal.
    pub id: TerminalId,
    /// How it ended.
    pub exit: Option<Exit>,
    /// Processes that lived when the kill began.
    pub found: u32,
    /// The last signal needed.
    pub last_signal: Option<i32>,
    /// Processes that still live.
    pub survivors: Vec<u32>,
}

/// All about a terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    /// Full id.
    pub id: TerminalId,
    /// Short id.
    pub session_id: Option<SessionId>,
    /// Name.
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
    /// Size.
    pub size: Size,
    /// How it ended; `None` while it runs.
    pub exit: Option<Exit>,
    /// Oldest offset kept.
    pub log_start: u64,
    /// Offset after the newest byte.
    pub log_end: u64,
    /// Why output is held back.
    pub log_error: Option<String>,
    /// Where the next window begins.
    pub cursor: u64,
    /// The stated environment; the caller's values are `None`.
    pub env: BTreeMap<String, Option<String>>,
    /// Whose it is.
    pub client: Option<String>,
    /// What it may use, if that is limited.
    pub limits: Option<LimitInfo>,
    /// When it was started.
    pub created_at: SystemTime,
    /// When it last printed.
    pub last_output_at: Option<SystemTime>,
}

/// Something that happened, numbered without gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// 1, 2, 3, ...
    pub seq: u64,
    /// When.
    pub at: SystemTime,
    /// What.
    pub kind: Cow<'static, str>,
    /// About which terminal.
    pub id: Option<TerminalId>,
    /// More.
    pub data: serde_json::Value,
}
