//! A program's output on its way to the user's own terminal.
//!
//! Everything passes as it is, except questions to the terminal (and orders to move its window): the server has
//! answered those, and a second answer from here would reach the program as if it had been typed. Writes to the
//! clipboard are left out too: what a program prints is no wish of the user's.

use super::modes::{Csi, OuterModes};

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const ENQ: u8 = 0x05;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// How a sequence about the clipboard begins.
const CLIPBOARD: &[u8] = b"\x1b]52;";

/// Longest sequence that is held back until it is complete. No question is longer.
const MAX_HELD_BYTES: usize = 4096;

/// Which control string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Osc,
    Dcs,
    /// SOS, PM, APC.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ground,
    /// After `ESC`.
    Escape,
    /// After `ESC [`.
    Csi,
    /// In a control string.
    Text(Kind),
    /// In a control string, after `ESC`.
    TextEscape(Kind),
}

/// Whether a sequence reaches the user's terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Drop,
}

/// The filter, and what has passed it.
///
/// # Invariants
/// 1. `held` is empty in [`State::Ground`]; at most [`MAX_HELD_BYTES`] are held.
/// 2. `modes` is what the terminal is in after everything that was passed.
#[derive(Debug)]
pub(super) struct Passthrough {
    state: State,
    /// The sequence so far; nothing of it has passed.
    held: Vec<u8>,
    /// The sequence turned out too long to hold: what becomes of it as it comes.
    flows: Option<Verdict>,
    modes: OuterModes,
}

impl Passthrough {
    pub(super) fn new() -> Self {
        Self { state: State::Ground, held: Vec::new(), flows: None, modes: OuterModes::default() }
    }

    /// Takes output and gives what the terminal is to get now.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            self.step(byte, &mut out);
        }
        debug_assert!(self.held.len() <= MAX_HELD_BYTES, "invariant 1");
        out
    }

    /// What brings the terminal back to where it was before anything passed.
    pub(super) fn resets(&self) -> Vec<u8> {
        self.modes.resets()
    }

    fn step(&mut self, byte: u8, out: &mut Vec<u8>) {
        match self.state {
            State::Ground if byte == ESC => self.begin(out),
            State::Ground if byte == ENQ => {}
            State::Ground => {
                self.modes.obey_control(byte);
                out.push(byte);
            }
            _ if matches!(byte, CAN | SUB) => {
                self.keep(byte, out);
                self.end(Verdict::Pass, out);
            }
            State::Escape => self.after_escape(byte, out),
            State::Csi => match byte {
                ESC => self.begin(out),
                0x40..=0x7e => {
                    self.keep(byte, out);
                    let verdict = self.judge_csi();
                    self.end(verdict, out);
                }
                _ => self.keep(byte, out),
            },
            State::Text(kind) => match byte {
                BEL if kind == Kind::Osc => {
                    let verdict = self.judge_text(kind);
                    self.keep(byte, out);
                    self.end(verdict, out);
                }
                ESC => self.state = State::TextEscape(kind),
                _ => self.keep(byte, out),
            },
            State::TextEscape(kind) => {
                if byte == b'\\' {
                    let verdict = self.judge_text(kind);
                    self.keep(ESC, out);
                    self.keep(byte, out);
                    self.end(verdict, out);
                } else {
                    // The string was given up for another sequence, which is what the terminal sees as well.
                    self.begin(out);
                    self.after_escape(byte, out);
                }
            }
        }
    }

    /// Begins a sequence. One that was not complete is given up, as a terminal does: left in, it would go on behind the
    /// new one if that is dropped.
    fn begin(&mut self, out: &mut Vec<u8>) {
        match self.state {
            State::Ground => {}
            State::Escape | State::Csi if self.flows.is_some() => {
                self.keep(CAN, out);
                self.end(Verdict::Pass, out);
            }
            State::Escape | State::Csi => self.end(Verdict::Drop, out),
            State::Text(kind) | State::TextEscape(kind) => {
                let verdict = self.judge_text(kind);
                self.keep(ESC, out);
                self.keep(b'\\', out);
                self.end(verdict, out);
            }
        }
        self.held.push(ESC);
        self.state = State::Escape;
    }

    fn after_escape(&mut self, byte: u8, out: &mut Vec<u8>) {
        if byte == ESC {
            return self.begin(out);
        }
        self.keep(byte, out);
        self.state = match (self.held.len(), byte) {
            (2, b'[') => State::Csi,
            (2, b']') => State::Text(Kind::Osc),
            (2, b'P') => State::Text(Kind::Dcs),
            (2, b'X' | b'^' | b'_') => State::Text(Kind::Other),
            (_, 0x20..=0x2f) | (_, 0..=0x1f) => State::Escape,
            // DECID asks what CSI c asks.
            (2, b'Z') => return self.end(Verdict::Drop, out),
            _ => {
                self.modes.obey_escape(&self.held[1..]);
                return self.end(Verdict::Pass, out);
            }
        };
    }

    fn keep(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.flows.is_none() && self.held.len() < MAX_HELD_BYTES {
            return self.held.push(byte);
        }
        let verdict = *self.flows.get_or_insert(if self.held.starts_with(CLIPBOARD) {
            Verdict::Drop
        } else {
            Verdict::Pass
        });
        if verdict == Verdict::Pass {
            out.append(&mut self.held);
            out.push(byte);
        }
        self.held.clear();
    }

    fn end(&mut self, verdict: Verdict, out: &mut Vec<u8>) {
        if verdict == Verdict::Pass {
            out.append(&mut self.held);
        }
        self.held.clear();
        self.flows = None;
        self.state = State::Ground;
    }

    fn judge_csi(&mut self) -> Verdict {
        let Some(csi) = self.held.get(2..).and_then(Csi::parse) else { return Verdict::Pass };
        if is_question(&csi) {
            return Verdict::Drop;
        }
        self.modes.obey_csi(&csi);
        Verdict::Pass
    }

    fn judge_text(&mut self, kind: Kind) -> Verdict {
        let body = self.held.get(2..).unwrap_or_default();
        let asks = match kind {
            Kind::Dcs => body.starts_with(b"+q") || body.starts_with(b"$q"),
            Kind::Osc => osc_asks(body),
            Kind::Other => false,
        };
        if let Some(verdict) = self.flows {
            return verdict;
        }
        if asks || self.held.starts_with(CLIPBOARD) {
            return Verdict::Drop;
        }
        if kind == Kind::Osc {
            self.modes.obey_osc(body);
        }
        Verdict::Pass
    }
}

fn is_question(csi: &Csi) -> bool {
    let first = csi.number(0);
    match (csi.prefix, csi.intermediate, csi.last) {
        // Attributes, status, mode, version, keyboard flags, settings, checksum.
        (_, 0, b'c')
        | (0 | b'?', 0, b'n')
        | (_, b'$', b'p' | b'w')
        | (b'>', 0, b'q')
        | (b'?', 0, b'u' | b'm') => true,
        (0, 0, b'x') | (_, b'*', b'y') => true,
        // Window orders and questions; 22 and 23 keep and restore the title.
        (0, 0, b't') => !matches!(first, 22 | 23),
        _ => false,
    }
}

/// Colours, clipboard and program status are asked for with a `?` where a value would stand.
fn osc_asks(body: &[u8]) -> bool {
    let mut fields = body.split(|&b| b == b';');
    let code = fields.next().unwrap_or_default();
    match code {
        b"4" | b"5" | b"10" | b"11" | b"12" | b"13" | b"14" | b"15" | b"16" | b"17" | b"18" | b"19"
        | b"52" | b"7501" => fields.any(|field| field == b"?"),
        b"21" => fields.any(|field| field.ends_with(b"=?")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(bytes: &[u8]) -> String {
        let whole = Passthrough::new().feed(bytes);
        for size in 1..=bytes.len().min(7) {
            let mut filter = Passthrough::new();
            let pieces: Vec<u8> = bytes.chunks(size).flat_map(|piece| filter.feed(piece)).collect();
            assert_eq!(pieces, whole, "in pieces of {size}");
        }
        String::from_utf8_lossy(&whole).into_owned()
    }

    #[test]
    fn text_and_what_is_not_a_question_pass_as_they_are() {
        for same in [
            "plain é text\r\n",
            "\x1b[31;1mred\x1b[0m\x1b[2J\x1b[10;20H",
            "\x1b[?1049h\x1b[>1u\x1b[?2004h\x1b[<u\x1b[22;0t",
            "\x1b]0;title\x07\x1b]8;;http://x\x1b\\X\x1b]8;;\x1b\\",
            "\x1bP1;2qsixel\x1b\\\x1b_Gkitty\x1b\\\x1b(0\x1b7\x1b8\x1b#8",
            "\x1b[1;2r\x1b[5 q\x1b[>4;2m\x1b[>1n",
        ] {
            assert_eq!(passed(same.as_bytes()), same);
        }
    }

    #[test]
    fn a_sequence_that_was_given_up_does_not_go_on_behind_one_that_is_dropped() {
        assert_eq!(passed(b"\x1b[3\x1b[4m\x1b[6\x18x"), "\x1b[4m\x1b[6\x18x");
        assert_eq!(passed(b"\x1b]2;given up\x1b[5m"), "\x1b]2;given up\x1b\\\x1b[5m");
        assert_eq!(passed(b"\x1b(\x1b[?u0"), "0", "not the line drawing set");
        assert_eq!(passed(b"\x1b]0;t\x1b[6nleft"), "\x1b]0;t\x1b\\left");
    }

    #[test]
    fn questions_do_not_reach_the_users_terminal() {
        for question in [
            "\x1b[c",
            "\x1b[0c",
            "\x1b[>c",
            "\x1b[=c",
            "\x1bZ",
            "\x1b[5n",
            "\x1b[6n",
            "\x1b[?6n",
            "\x1b[?996n",
            "\x1b[?2026$p",
            "\x1b[4$p",
            "\x1b[>q",
            "\x1b[>0q",
            "\x1b[?u",
            "\x1b[?4m",
            "\x1b[14t",
            "\x1b[18t",
            "\x1b[21t",
            "\x1b[8;50;132t",
            "\x1b]11;?\x07",
            "\x1b]10;?\x1b\\",
            "\x1b]4;1;?;2;?\x07",
            "\x1b]52;c;?\x07",
            "\x1b]52;c;aGk=\x07",
            "\x1b]52;;aGk=\x1b\\",
            "\x1b]7501;?\x1b\\",
            "\x1bP+q544e\x1b\\",
            "\x1bP$qm\x1b\\",
            "\x05",
        ] {
            assert_eq!(passed(format!("a{question}b").as_bytes()), "ab", "{question:?}");
        }
    }

    #[test]
    fn a_long_string_passes_in_bounded_memory() {
        let long = format!("\x1b]1337;File=:{}\x07after", "QUJD".repeat(5000));
        assert_eq!(passed(long.as_bytes()), long);
    }

    #[test]
    fn case_sec02_a_clipboard_of_any_size_stays_the_users_own() {
        for content in ["".to_owned(), "UFdORUQ=".to_owned(), "QUJD".repeat(5000)] {
            for end in ["\x07", "\x1b\\"] {
                assert_eq!(passed(format!("a\x1b]52;c;{content}{end}b").as_bytes()), "ab");
            }
        }
    }
}
