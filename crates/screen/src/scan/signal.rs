//! What the scanner sees in the output.

use crate::parse::Terminator;

/// Something in the output that is not text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The log offset just after the sequence.
    pub at: u64,
    /// What it says.
    pub event: Event,
}

/// What a sequence says. Texts hold no control characters, and are still untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A question the terminal is to answer.
    Query(Query),
    /// The window's title (OSC 0, 2).
    Title(String),
    /// The icon's name (OSC 1).
    Icon(String),
    /// How far a job is (OSC 9;4).
    Progress(Progress),
    /// A notification (OSC 9, 99, 777).
    Notification {
        /// Its title, where it has one.
        title: Option<String>,
        /// Its text.
        body: String,
    },
    /// A mark of a shell around its prompt and commands (OSC 133). Some agents print them around messages.
    Prompt(PromptMark),
    /// The working directory (OSC 7).
    Cwd {
        /// The host it is on; empty when none was named.
        host: String,
        /// The path, percent-decoded.
        path: String,
    },
    /// A report of the program about its own state (OSC 7501).
    ProgramStatus(ProgramStatus),
    /// Bracketed paste was switched on (2004), by a program that begins to read a line or to take keys.
    PasteModeSet,
    /// The bell.
    Bell,
    /// The clipboard (OSC 52). Its content is dropped here.
    Clipboard(Clipboard),
}

/// A question to the terminal. The answer goes out through the input, see [`reply`](crate::reply::reply).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// DA1, `CSI c`.
    PrimaryAttributes,
    /// DA2, `CSI > c`.
    SecondaryAttributes,
    /// DA3, `CSI = c`.
    TertiaryAttributes,
    /// DSR, `CSI 5 n`.
    Status,
    /// CPR, `CSI 6 n`.
    CursorPosition,
    /// DECXCPR, `CSI ? 6 n`.
    ExtendedCursorPosition,
    /// XTVERSION, `CSI > q`.
    Version,
    /// Kitty's keyboard flags, `CSI ? u`.
    KittyKeys {
        /// The flags in force when it was asked.
        flags: u8,
    },
    /// xterm's `modifyOtherKeys`, `CSI ? 4 m`.
    ModifyOtherKeys {
        /// The value in force when it was asked.
        value: u8,
    },
    /// A colour, OSC 4, 10, 11, 12.
    Colour {
        /// Which.
        slot: ColourSlot,
        /// How the question ended, and so the answer.
        end: Terminator,
    },
    /// Whether the terminal takes status reports, `OSC 7501 ; ?`.
    ProgramStatus {
        /// How the question ended, and so the answer.
        end: Terminator,
    },
    /// DECRQM of a private mode, `CSI ? Ps $ p`.
    PrivateMode {
        /// The mode.
        number: u16,
        /// Whether it was set when it was asked; `None` when it is unknown.
        is_set: Option<bool>,
    },
    /// DECRQM of an ANSI mode, `CSI Ps $ p`.
    AnsiMode {
        /// The mode.
        number: u16,
        /// Whether it was set when it was asked; `None` when it is unknown.
        is_set: Option<bool>,
    },
    /// XTGETTCAP, `DCS + q`.
    Capabilities {
        /// The names asked for, in hexadecimal, as they came; empty when they were no such thing.
        names: String,
    },
    /// DECRQSS, `DCS $ q`.
    Setting,
    /// The text area in pixels, `CSI 14 t`.
    WindowPixels,
    /// A cell in pixels, `CSI 16 t`.
    CellPixels,
    /// The text area in cells, `CSI 18 t`.
    TextArea,
    /// The screen in cells, `CSI 19 t`.
    ScreenCells,
}

/// A colour of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColourSlot {
    /// Of text, OSC 10.
    Foreground,
    /// Behind text, OSC 11.
    Background,
    /// Of the cursor, OSC 12.
    Cursor,
    /// Of the palette, OSC 4.
    Palette(u8),
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There is none.
    Clear,
    /// Percent done, 0..=100.
    Percent(u8),
    /// It failed, at this percentage if one was given.
    Error(Option<u8>),
    /// It goes on, nobody knows how far.
    Indeterminate,
    /// It waits or is paused, at this percentage if one was given.
    Paused(Option<u8>),
}

/// A mark around a shell's prompt and commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptMark {
    /// `A`: the prompt starts.
    PromptStart,
    /// `B`: the prompt ends, what follows is typed.
    CommandStart,
    /// `C`: the command runs, what follows is its output.
    OutputStart,
    /// `D`: the command ended.
    CommandEnd {
        /// Its exit code, where one was given.
        exit: Option<i32>,
    },
}

/// A program's report of its own state (OSC 7501).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramStatus {
    /// The state.
    pub state: ProgramState,
    /// What kind of thing it is blocked on: `permission`, `question`, `auth`.
    pub kind: Option<String>,
    /// The program's name.
    pub app: Option<String>,
    /// A message for people.
    pub message: Option<String>,
    /// Which of several records this is; a path with `/`.
    pub id: Option<String>,
    /// Percent done, 0..=100.
    pub progress: Option<u8>,
}

/// The state of a program, in its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramState {
    /// Waits for a task.
    Idle,
    /// Works.
    Working,
    /// Waits for an answer.
    Blocked,
    /// Finished a task; nobody has looked yet.
    Done,
    /// Failed.
    Error,
    /// The record is withdrawn; without an id, all of them.
    Clear,
}

impl ProgramState {
    /// The word for it, as programs write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Blocked => "blocked",
            Self::Done => "done",
            Self::Error => "error",
            Self::Clear => "clear",
        }
    }
}

/// What was asked of the clipboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clipboard {
    /// To be read; never answered.
    Read,
    /// To be written.
    Write {
        /// Bytes of the content, still in base64.
        encoded_len: u64,
    },
}
