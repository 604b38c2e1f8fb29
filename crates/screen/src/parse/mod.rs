//! Escape sequences out of a byte stream, however it was cut.
//!
//! One state machine serves both readers of the stream, the [`Scanner`](crate::Scanner) and the screen, so that
//! what one calls a sequence the other does too.

mod csi;

pub(crate) use csi::Csi;

/// Most bytes of a control string that are kept. A status report (OSC 7501) may have 4,096 bytes; longer strings
/// are images and clipboards, whose content nobody here reads.
pub(crate) const STRING_CAP: usize = 4096 + 16;

/// What kind of control string was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringKind {
    /// Operating system command, `ESC ]`.
    Osc,
    /// Device control string, `ESC P`.
    Dcs,
    /// Start of string, privacy message or application program command: `ESC X`, `ESC ^`, `ESC _`.
    Other,
}

/// How a control string ended; an answer ends the same way as the question did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminator {
    /// `BEL`.
    Bel,
    /// `ESC \`.
    St,
}

impl Terminator {
    /// The bytes of the terminator.
    #[must_use]
    pub const fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::Bel => b"\x07",
            Self::St => b"\x1b\\",
        }
    }
}

/// A control string that came to its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ControlString<'p> {
    pub(crate) kind: StringKind,
    /// The body; only its first [`STRING_CAP`] bytes when [`Self::is_whole`] says no.
    pub(crate) body: &'p [u8],
    /// Bytes of the body that arrived.
    pub(crate) len: u64,
    /// Whether the body held control characters. Terminals ignore them inside an OSC, so text tools and
    /// terminals disagree about such a string.
    pub(crate) has_controls: bool,
    pub(crate) end: Terminator,
}

impl ControlString<'_> {
    /// Whether `body` is all of it.
    pub(crate) const fn is_whole(&self) -> bool {
        self.body.len() as u64 == self.len
    }
}

/// What one byte did.
#[derive(Debug)]
pub(crate) enum Step<'p> {
    /// The byte is part of a sequence that is not complete.
    More,
    /// A control character inside a sequence, to be obeyed at once; or the one that cancelled it.
    Execute(u8),
    /// A complete escape sequence that is neither CSI nor a string. `intermediate` is 0 when there was none,
    /// and 0xff when there were several.
    Escape { intermediate: u8, byte: u8 },
    /// A complete control sequence.
    Csi(&'p Csi),
    /// A complete control string.
    String(ControlString<'p>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Ground,
    /// After `ESC`, with the intermediates so far.
    Escape(u8),
    Csi,
    String(StringKind),
    /// `ESC` inside a string: a backslash ends the string, anything else abandons it.
    StringEscape(StringKind),
}

/// The state machine.
///
/// # Invariants
///
/// 1. `body.len() <= STRING_CAP` and `body.len() <= len`.
/// 2. The parser is in the ground state exactly when the last sequence is complete or was cancelled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parser {
    state: State,
    csi: Csi,
    body: Vec<u8>,
    len: u64,
    has_controls: bool,
}

const ESC: u8 = 0x1b;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

impl Parser {
    /// Whether the next byte is text or a control character rather than part of a sequence.
    #[inline]
    pub(crate) fn is_ground(&self) -> bool {
        self.state == State::Ground
    }

    /// Starts a sequence: an `ESC` was read in the ground state.
    #[inline]
    pub(crate) fn escape(&mut self) {
        self.state = State::Escape(0);
    }

    /// Takes one byte of a sequence. Must not be called in the ground state.
    #[inline]
    pub(crate) fn step(&mut self, byte: u8) -> Step<'_> {
        match self.state {
            State::Csi => self.step_csi(byte),
            State::Escape(intermediate) => self.step_escape(intermediate, byte),
            State::String(kind) => self.step_string(kind, byte),
            State::StringEscape(kind) => {
                if byte == b'\\' {
                    self.state = State::Ground;
                    return Step::String(self.string(kind, Terminator::St));
                }
                self.state = State::Escape(0);
                self.step_escape(0, byte)
            }
            State::Ground => {
                debug_assert!(false, "a step outside of a sequence");
                Step::More
            }
        }
    }

    #[inline]
    fn step_csi(&mut self, byte: u8) -> Step<'_> {
        match byte {
            b'@'..=b'~' => {
                self.state = State::Ground;
                self.csi.end(byte);
                Step::Csi(&self.csi)
            }
            b' '..=b'?' => {
                self.csi.push(byte);
                Step::More
            }
            _ => self.control(byte),
        }
    }

    fn step_escape(&mut self, intermediate: u8, byte: u8) -> Step<'_> {
        match (intermediate, byte) {
            (0, b'[') => {
                self.csi.begin();
                self.state = State::Csi;
                Step::More
            }
            (0, b']') => self.begin_string(StringKind::Osc),
            (0, b'P') => self.begin_string(StringKind::Dcs),
            (0, b'X' | b'^' | b'_') => self.begin_string(StringKind::Other),
            (_, b' '..=b'/') => {
                self.state = State::Escape(if intermediate == 0 { byte } else { 0xff });
                Step::More
            }
            (_, b'0'..=b'~') => {
                self.state = State::Ground;
                Step::Escape { intermediate, byte }
            }
            _ => self.control(byte),
        }
    }

    fn step_string(&mut self, kind: StringKind, byte: u8) -> Step<'_> {
        match byte {
            ESC => self.state = State::StringEscape(kind),
            CAN | SUB => return self.control(byte),
            0x07 if kind == StringKind::Osc => {
                self.state = State::Ground;
                return Step::String(self.string(kind, Terminator::Bel));
            }
            _ => {
                self.has_controls |= byte < b' ';
                self.len += 1;
                if self.body.len() < STRING_CAP {
                    self.body.push(byte);
                }
            }
        }
        Step::More
    }

    /// A control character inside a sequence.
    fn control(&mut self, byte: u8) -> Step<'_> {
        match byte {
            ESC => {
                self.state = State::Escape(0);
                Step::More
            }
            CAN | SUB => {
                self.state = State::Ground;
                Step::Execute(byte)
            }
            0..=0x1f => Step::Execute(byte),
            _ => Step::More,
        }
    }

    fn begin_string(&mut self, kind: StringKind) -> Step<'_> {
        self.state = State::String(kind);
        self.body.clear();
        self.len = 0;
        self.has_controls = false;
        Step::More
    }

    fn string(&self, kind: StringKind, end: Terminator) -> ControlString<'_> {
        debug_assert!(self.body.len() <= STRING_CAP && self.body.len() as u64 <= self.len, "invariant 1");
        ControlString { kind, body: &self.body, len: self.len, has_controls: self.has_controls, end }
    }
}

#[cfg(test)]
mod tests;
