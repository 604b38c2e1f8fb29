//! What a backend can do.

/// What a backend can do, declared: the conformance suite holds it to this, and callers are refused the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// The streams a program can have.
    pub streams: Streams,
    /// In which form output comes.
    pub output: OutputForm,
    /// From when on a tty has its size.
    pub size: SizeKnown,
    /// Whom a signal can reach.
    pub signals: SignalReach,
    /// Whom a kill reaches.
    pub kill: KillReach,
    /// What is known of an end.
    pub code: CodeKnown,
    /// With what programs end that nobody ended.
    pub ends_with: EndsWith,
    /// What becomes of a start in a directory that does not exist.
    pub directory: MissingDirectory,
    /// Who answers what programs ask their terminal.
    pub questions: Questions,
    /// Whose program a terminal here has.
    pub program: ProgramFrom,
}

impl Abilities {
    /// What the local backend can do: everything.
    pub const EVERYTHING: Self = Self {
        streams: Streams::TtyAndPipes,
        output: OutputForm::Bytes,
        size: SizeKnown::AtStart,
        signals: SignalReach::ProgramAndGroup,
        kill: KillReach::Tree,
        code: CodeKnown::CodeOrSignal,
        ends_with: EndsWith::Server,
        directory: MissingDirectory::IsRefused,
        questions: Questions::Ours,
        program: ProgramFrom::Start,
    };
}

/// The streams a program can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// A tty, or pipes with or without input.
    TtyAndPipes,
    /// Always a tty.
    TtyOnly,
}

/// In which form output comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputForm {
    /// Every byte as the program wrote it.
    Bytes,
    /// What the screen shows, drawn again when it changes.
    Drawn,
}

/// From when on a tty has the size that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeKnown {
    /// From before the program's first instruction.
    AtStart,
    /// From shortly after it.
    SoonAfterStart,
    /// Somebody else decides the size; the program's output does not follow ours.
    Never,
}

/// Whom a signal can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalReach {
    /// The program, or the group in the foreground of its tty.
    ProgramAndGroup,
    /// Nobody.
    Nobody,
}

/// Whom a kill reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillReach {
    /// Everything that came of the program, children that left its session and its environment included.
    Tree,
    /// Everything that came of it and still shows that: by its parents, its session or its environment.
    Related,
    /// Whoever ends when the terminal is closed under it.
    Terminal,
}

/// What is known of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeKnown {
    /// The code, or the signal.
    CodeOrSignal,
    /// The code as a shell shows it: 128 + N for signal N.
    ShellCode,
    /// Only that it ended.
    Nothing,
}

/// With what programs end that nobody ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndsWith {
    /// With this server, unless a keeper holds them.
    Server,
    /// With the connection: when it breaks, the terminal is `lost`.
    Connection,
    /// With nothing of ours: they go on when the connection breaks, and are taken up again.
    Nothing,
}

/// What becomes of a start in a directory that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingDirectory {
    /// The start is refused.
    IsRefused,
    /// It is made.
    IsMade,
}

/// Whose program a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramFrom {
    /// The one it is started with.
    Start,
    /// The one that is there already, and that is taken over.
    Place,
}

/// Who answers what programs ask their terminal (its cursor, its colours, its kind).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Questions {
    /// The actor, as the only terminal there is.
    Ours,
    /// The place, which is a terminal itself. A second answer would be typed into the program. Whether status reports are
    /// taken, which no place says, the actor does.
    ThePlaces,
}
