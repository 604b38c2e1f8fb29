//! The seam between a terminal and the place its program runs.
//!
//! A [`Backend`] starts a program and hands back its three ends: a [`Source`] of output, a [`Sink`] for input and a
//! [`Control`]. The terminal actor drives all three from one task; nothing else touches them. Everything above
//! (log, windows, screen, turns) is the same whatever stands behind these traits.
//!
//! All methods are polls, so that one task drives a terminal without allocating per call and dropping the task drops
//! every descriptor.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::turn::Evidence;
use ptyard_core::{ErrorCode, Exit, Limit, Size, TerminalId};
use rustix::termios::{InputModes, LocalModes, SpecialCodeIndex, Termios};

mod abilities;

pub use abilities::{
    Abilities, CodeKnown, EndsWith, KillReach, MissingDirectory, OutputForm, ProgramFrom, Questions,
    SignalReach, SizeKnown, Streams,
};

/// How a program's standard streams are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Io {
    /// A pseudo terminal of this size: echo, line editing, job control.
    Tty(Size),
    /// Pipes: output and errors share one pipe, in the order they were written.
    Pipes(Stdin),
}

impl Io {
    /// The size of the tty; that of a terminal nobody gave a size for pipes.
    #[must_use]
    pub const fn size(self) -> Size {
        match self {
            Self::Tty(size) => size,
            Self::Pipes(_) => Size::DEFAULT,
        }
    }
}

/// What a program without a tty reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// `/dev/null`: end of input at once. Never the server's own stdin.
    Null,
    /// A pipe that can be written to and closed.
    Pipe,
}

/// A program to start.
#[derive(Debug, Clone)]
pub struct StartSpec {
    /// The terminal the program is for.
    pub id: TerminalId,
    /// Program and arguments, passed as they are: no shell reads them. Never empty.
    pub argv: Vec<String>,
    /// The working directory, absolute; empty is where programs of a place elsewhere start by themselves, which
    /// [`Grounds::Here`] does not have.
    pub cwd: PathBuf,
    /// The whole environment: what is not here, the program does not see. Elsewhere ([`Grounds::Elsewhere`]) the
    /// place's own variables come in addition.
    pub env: BTreeMap<String, String>,
    /// Its standard streams.
    pub io: Io,
    /// What the operating system is to hold it to.
    pub ceilings: Ceilings,
    /// What it is called where a place shows people its programs by name; `None` leaves that to the place.
    pub title: Option<String>,
    /// What must be known of when something is typed.
    pub placing: Placing,
}

/// What must be known of when something is typed into a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placing {
    /// Where in the output each write was taken, exactly ([`Sink::run_ahead`]): the turns of an agent are told by it.
    Exact,
    /// In which order the writes came, and no more. A place may have a faster way for the output then.
    Loose,
}

/// What becomes of a start whose ceilings cannot all be held here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Unheld {
    /// It is refused.
    #[default]
    Refuse,
    /// It goes on without them, and says which in [`Started::unheld`].
    Tell,
}

/// What the operating system is to hold a program and all it starts to. `None` is no ceiling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ceilings {
    /// Most memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Most processes and threads.
    pub processes: Option<u32>,
    /// Where one cannot be held.
    pub unheld: Unheld,
}

impl Ceilings {
    /// The ceilings that can be held, and those that cannot, each with the reason `why_not` gave.
    ///
    /// # Errors
    /// `limit_unavailable` when there is one that cannot be held, and that was not to be.
    pub fn split(
        self,
        why_not: impl Fn(Limit) -> Option<String>,
    ) -> Result<(Self, Vec<(Limit, String)>), StartError> {
        let asked = self.memory_bytes.map(|_| Limit::Memory).into_iter();
        let asked = asked.chain(self.processes.map(|_| Limit::Processes));
        let unheld: Vec<_> = asked.filter_map(|limit| Some((limit, why_not(limit)?))).collect();
        if let (Unheld::Refuse, Some((limit, why))) = (self.unheld, unheld.first()) {
            let message = format!("the limit {limit} cannot be held: {why}");
            return Err(StartError { code: ErrorCode::LimitUnavailable, message });
        }
        let mut held = self;
        for (limit, _) in &unheld {
            match limit {
                Limit::Memory => held.memory_bytes = None,
                Limit::Processes => held.processes = None,
                Limit::Wall | Limit::Idle => {}
            }
        }
        Ok((held, unheld))
    }
}

/// A program that runs: its ends.
pub struct Started {
    /// Output of the program.
    pub source: Box<dyn Source>,
    /// Input of the program; `None` when it has none.
    pub sink: Option<Box<dyn Sink>>,
    /// Everything else.
    pub control: Box<dyn Control>,
    /// Who answers what it asks its terminal.
    pub questions: Questions,
    /// Process id on the backend's side, when it has one.
    pub pid: Option<u32>,
    /// The ceilings it is not held to, each with the reason.
    pub unheld: Vec<(Limit, String)>,
}

/// A program that an earlier server started, and that is still there.
pub struct Earlier {
    /// The terminal it is for.
    pub id: TerminalId,
    /// Its ends. Dropped, it is ended like any other.
    pub started: Started,
    /// Output from this offset of its log on was written while no server ran: nobody has answered its questions.
    pub unseen_from: Option<u64>,
}

/// A terminal of an earlier server, for the backend its program was started on.
pub struct Orphan {
    /// Its id.
    pub id: TerminalId,
    /// Its streams, with the size it was started with.
    pub io: Io,
    /// How many bytes of its output the log holds: a place that keeps output goes on from there.
    pub logged: u64,
    /// The last of those bytes, as many as its backend asks for ([`Backend::remembered_bytes`]).
    pub last: Vec<u8>,
    /// Whether its end is known already, so that at most something is left to be cleared away.
    pub has_ended: bool,
    /// What this machine's keeper kept for it: the program itself, or the client that carries its streams.
    pub kept: Option<Earlier>,
}

/// What becomes of a program when its terminal is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is ended.
    Ends,
    /// It goes on: it was there before the terminal, and belongs to somebody else.
    LetsGo,
}

/// A future owned by whoever asked.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whose environment and files the programs of a backend see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grounds {
    /// Those of this machine and user.
    Here,
    /// Those of another place: nothing of this machine's environment means anything there.
    Elsewhere,
}

/// A place where programs run.
pub trait Backend: Send + Sync {
    /// The word for it: `local`, `docker`, ...
    fn name(&self) -> &'static str;

    /// Whose environment and files its programs see.
    fn grounds(&self) -> Grounds {
        Grounds::Here
    }

    /// What it can do. The rest is refused with [`ControlError::Unsupported`].
    fn abilities(&self) -> Abilities {
        Abilities::EVERYTHING
    }

    /// The same backend at one of its places, as it is written behind the colon of `docker:IMAGE` or `ssh:HOST`;
    /// empty when nothing was written. A backend without places refuses any.
    ///
    /// # Errors
    /// When there can be no such place. Whether it can be reached is seen when a program is started.
    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError>;

    /// Starts a program. When the future is dropped, or fails, nothing is left running. Ceilings that cannot be held here
    /// are dealt with as they say.
    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>>;

    /// The programs that an earlier server started here and that outlived it; given once.
    fn earlier(&self) -> Vec<Earlier> {
        Vec::new()
    }

    /// Gives it this machine's own backend, for programs that carry its connections. Called before anything is started.
    fn stand_on(&self, _local: &Arc<dyn Backend>) {}

    /// What servers of this state made at the backend's places and is still there, whoever owns it: so that what a server
    /// that died left behind can be ended.
    fn creations(&self) -> BoxFuture<'_, Result<Vec<Creation>, StartError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Takes up a program that an earlier server started at this place. It does not wait: whether the program is there is
    /// seen when its streams are used, and one that is not ends `lost`. Dropped, it is ended like any other. `None` when
    /// nothing outlives a server here.
    fn take_up(&self, orphan: Orphan) -> Option<Earlier> {
        orphan.kept
    }

    /// How many of the last bytes of a log it needs to take up a program, where it is found by them what of it is new.
    fn remembered_bytes(&self) -> usize {
        0
    }
}

/// Output of a program.
pub trait Source: Send {
    /// Reads what is there into `into` and says how much; `0` is the end of output, for good.
    ///
    /// `Pending` means "no data yet" and nothing else.
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>>;
}

/// Something that was made at a place for a terminal.
pub struct Creation {
    /// What, in words: `sandbox i0123`.
    pub what: String,
    /// For which terminal; `None` when that was written down and cannot be read.
    pub owner: Option<TerminalId>,
    /// Ends it with all that runs in it, once it is polled.
    pub end: BoxFuture<'static, Result<(), StartError>>,
}

/// Input of a program.
pub trait Sink: Send {
    /// Writes a prefix of `bytes` and says how much was taken.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Whether bytes are on their way of which nothing is known yet: asked again with the same ones, `poll_write` says what
    /// became of them. Until then no others may come before them.
    fn is_under_way(&self) -> bool {
        false
    }

    /// How many bytes of output that came after the last write was taken the [`Source`] has handed out already. A place that
    /// says only later what it took counts them, so that a program that answers sooner is not unheard.
    fn run_ahead(&self) -> u64 {
        0
    }

    /// Ends the input, for good. On a tty this types the end-of-file character when the line discipline will act on
    /// it, which like all typing waits while the program does not read. Called again until it is `Ready`.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ControlError>>;
}

/// Which processes a signal goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The program itself.
    Program,
    /// The foreground process group of its tty; its own group when it has no tty.
    ForegroundGroup,
}

/// A signal, 1..=64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(pub i32);

/// What killing a program's tree achieved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KillReport {
    /// Processes that lived when the kill began.
    pub found: u32,
    /// The last signal that was needed: 15 when they left in the grace (1 when the program left at the hang-up that comes
    /// with it), 9 when not; `None` when nothing lived.
    pub last_signal: Option<i32>,
    /// Processes that still live.
    pub survivors: Vec<u32>,
}

/// The line discipline of a tty, as far as callers need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TtyState {
    /// Input is edited and handed over line by line (ICANON).
    pub line_mode: bool,
    /// Input is echoed (ECHO).
    pub echo: bool,
    /// The settings are those of a line editor that reads keys (raw, with signals, and with the key switched off that takes
    /// the next one literally): readline and libedit have them while they read, and whatever they run has not.
    pub line_editor: bool,
    /// C-s stops the output and C-q lets it go on (IXON). Off until a program wants it.
    pub flow_control: bool,
    /// Process group in the foreground.
    pub foreground_group: Option<u32>,
    /// Whether that group is the program's own, rather than that of something it started.
    pub program_in_foreground: bool,
}

impl TtyState {
    /// What the settings `modes` say, when `foreground_group` is in the foreground and the program's own is `own_group`.
    #[must_use]
    pub fn of(modes: &Termios, foreground_group: Option<u32>, own_group: u32) -> Self {
        let local = modes.local_modes;
        Self {
            line_mode: local.contains(LocalModes::ICANON),
            echo: local.contains(LocalModes::ECHO),
            // Line editors of the readline kind change all settings in one step, so there is no moment at which they
            // read and do not look like it. Full-screen programs either take signals as keys too, or leave the
            // literal-next key alone.
            line_editor: !local.intersects(LocalModes::ICANON | LocalModes::ECHO)
                && local.contains(LocalModes::ISIG)
                && modes.special_codes[SpecialCodeIndex::VLNEXT] == 0,
            flow_control: modes.input_modes.contains(InputModes::IXON),
            foreground_group,
            program_in_foreground: foreground_group == Some(own_group),
        }
    }
}

/// The remaining controls of a program.
pub trait Control: Send {
    /// The program's end, once known; asked again after `Ready` it answers the same. `descendants` is left 0.
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit>;

    /// Changes the size of the tty; the program gets SIGWINCH.
    fn resize(&mut self, size: Size) -> Result<(), ControlError>;

    /// Sends a signal. After the exit was seen, no kill(2) is issued: [`ControlError::Exited`].
    fn signal(&mut self, signal: Signal, target: Target) -> Result<(), ControlError>;

    /// Ends the whole tree, children that left the session included: TERM and HUP, after `grace` KILL, then looks
    /// until nothing lives or a stated time has passed. Runs to its end even if the future it returns is dropped.
    fn kill(&mut self, grace: Duration) -> BoxFuture<'static, KillReport>;

    /// How many processes of the tree still live, the program itself not counted.
    fn descendants(&mut self) -> u32;

    /// Ready once the program has reached a ceiling that does not end it by itself: the caller is to end it.
    fn poll_ceiling(&mut self, _cx: &mut Context<'_>) -> Poll<Limit> {
        Poll::Pending
    }

    /// Ready with the size whenever somebody else has changed it: the place, or a person who looks on.
    fn poll_size(&mut self, _cx: &mut Context<'_>) -> Poll<Size> {
        Poll::Pending
    }

    /// Ready with what the place says of the agent that runs here, whenever that is news; its order is its
    /// [`Position`](ptyard_core::turn::Position). What nobody takes is bounded by whoever keeps it, and the newest is kept.
    fn poll_evidence(&mut self, _cx: &mut Context<'_>) -> Poll<Evidence> {
        Poll::Pending
    }

    /// What becomes of the program when its terminal is removed.
    fn removal(&self) -> Removal {
        Removal::Ends
    }

    /// The line discipline now; `None` without a tty.
    fn tty_state(&mut self) -> Option<TtyState>;

    /// The name of the program that reads the tty now, as its system knows it; `None` where that cannot be asked.
    fn foreground_command(&mut self) -> Option<String> {
        None
    }
}

/// Why a program did not start. Nothing is left of the attempt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StartError {
    /// The stable code.
    pub code: ErrorCode,
    /// What happened, with the operating system's word for it.
    pub message: String,
}

impl StartError {
    /// A backend without places was given one.
    #[must_use]
    pub fn no_places(backend: &str, place: &str) -> Self {
        Self {
            code: ErrorCode::InvalidArgument,
            message: format!("the {backend} backend has no places, so {backend}:{place} is none"),
        }
    }
}

/// Why a control did nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// The program has ended.
    #[error("the program has ended")]
    Exited,
    /// It has no tty.
    #[error("the program has no tty")]
    NotATty,
    /// Its tty is in raw mode, where no character ends the input.
    #[error("the program reads raw keys, so no typed character can end its input")]
    RawMode,
    /// Its input was closed before.
    #[error("the input was closed before")]
    StdinClosed,
    /// This backend cannot do it.
    #[error("the {backend} backend cannot {action}")]
    Unsupported {
        /// The backend's word.
        backend: &'static str,
        /// What was asked.
        action: &'static str,
    },
    /// The operating system refused.
    #[error("{action}: {message}")]
    Os {
        /// What was asked.
        action: &'static str,
        /// The system's word.
        message: String,
    },
}

impl ControlError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Exited => ErrorCode::TerminalExited,
            Self::NotATty => ErrorCode::NotATty,
            Self::RawMode => ErrorCode::RawMode,
            Self::StdinClosed => ErrorCode::StdinClosed,
            Self::Unsupported { .. } => ErrorCode::Unsupported,
            Self::Os { .. } => ErrorCode::Internal,
        }
    }
}
