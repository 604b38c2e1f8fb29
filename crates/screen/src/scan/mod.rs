//! The reader that looks at every byte of a terminal's output as it arrives.

mod osc;
pub mod signal;

pub(crate) use osc::text as plain_text;
pub use signal::{
    Clipboard, ColourSlot, Event, ProgramState, ProgramStatus, Progress, PromptMark, Query, Signal,
};

use crate::modes::Modes;
use crate::parse::{ControlString, Csi, Parser, Step, StringKind};
use osc::Effect;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
/// Shift out: text that follows is of another character set.
const SO: u8 = 0x0e;

/// Finds questions, titles, status reports and modes in the output, at the speed of the memory.
///
/// It costs a search for `ESC` and a small state machine, whatever the chunks are, and at most
/// 4 KiB of memory for a sequence that is not complete.
///
/// # Invariants
///
/// 1. `plain_since` and `pen_since` never go back, and are ends of sequences that were scanned, or where scanning began.
/// 2. What was scanned from `plain_since` on moves the cursor only along its row and down, see
///    [`Scanner::plain_since`].
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    parser: Parser,
    modes: Modes,
    plain_since: u64,
    pen_since: u64,
    paste_mode_asked_at: u64,
    update_ended_at: u64,
}

impl Scanner {
    /// A scanner at the start of a log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A scanner that begins in the midst of a log, at `offset`: what was before is unknown, and so nothing before is
    /// plain.
    #[must_use]
    pub fn starting_at(offset: u64) -> Self {
        Self { plain_since: offset, pen_since: offset, ..Self::default() }
    }

    /// The modes in force after what was scanned.
    #[must_use]
    pub fn modes(&self) -> &Modes {
        &self.modes
    }

    /// The offset since which there was nothing but text, `CR`, `LF`, `TAB`, `BEL`, `BS`, SGR and EL sequences,
    /// and OSCs that a screen ignores (7, 8, 9, 99, 133, 777, 7501).
    ///
    /// A sequence that is not complete does not count yet: it is neither inside nor outside.
    #[must_use]
    pub fn plain_since(&self) -> u64 {
        self.plain_since
    }

    /// The offset after the last SGR sequence: since then the pen did not change, within a plain run.
    #[must_use]
    pub fn pen_since(&self) -> u64 {
        self.pen_since
    }

    /// The offset after the last request for bracketed paste (mode 2004 set), also when it was in force already; 0
    /// before the first one.
    #[must_use]
    pub fn paste_mode_asked_at(&self) -> u64 {
        self.paste_mode_asked_at
    }

    /// The offset after the last end of a synchronized update (mode 2026 reset); 0 before the first one.
    #[must_use]
    pub fn update_ended_at(&self) -> u64 {
        self.update_ended_at
    }

    /// Reads `bytes`, whose first one is at log offset `at`, and hands every signal to `on`, in order.
    pub fn scan(&mut self, at: u64, bytes: &[u8], on: &mut impl FnMut(Signal)) {
        let mut i = 0;
        loop {
            if self.parser.is_ground() {
                let Some(found) = memchr::memchr3(ESC, BEL, SO, &bytes[i..]) else { return };
                i += found + 1;
                match bytes[i - 1] {
                    ESC => {
                        if let Some(len) = sgr_len(&bytes[i..]) {
                            i += len;
                            self.pen_since = at + i as u64;
                            continue;
                        }
                        self.parser.escape();
                    }
                    BEL => on(Signal { at: at + i as u64, event: Event::Bell }),
                    _ => self.plain_since = at + i as u64,
                }
            }
            while !self.parser.is_ground() {
                let Some(&byte) = bytes.get(i) else { return };
                i += 1;
                match self.parser.step(byte) {
                    Step::More => {}
                    Step::Csi(csi) if csi.is_sgr() => self.pen_since = at + i as u64,
                    Step::Csi(csi) if csi.id() == (0, 0, b'K') => {}
                    step => {
                        if let Step::Csi(csi) = step
                            && csi.id() == (b'?', 0, b'h')
                            && csi.params().contains(&2004)
                        {
                            self.paste_mode_asked_at = at + i as u64;
                        }
                        if let Step::Csi(csi) = step
                            && csi.id() == (b'?', 0, b'l')
                            && csi.params().contains(&2026)
                        {
                            self.update_ended_at = at + i as u64;
                        }
                        // Control characters in the midst of a sequence, and whatever is not known to be
                        // harmless, end the plain run.
                        let effect = obey(&step, &mut self.modes, &mut |event| {
                            on(Signal { at: at + i as u64, event });
                        });
                        if effect == Effect::Some {
                            self.plain_since = at + i as u64;
                        }
                    }
                }
            }
        }
    }
}

/// The length of an SGR sequence behind its `ESC`, when all of it is here. Most sequences of most output are such ones,
/// and this is several times as fast as the parser, which handles the rest.
fn sgr_len(bytes: &[u8]) -> Option<usize> {
    /// Longer ones are left to the parser, which knows how many parameters count.
    const MOST: usize = 20;
    let (b'[', rest) = bytes.split_first().map(|(first, rest)| (*first, rest))? else { return None };
    let len = rest.iter().take(MOST).position(|byte| !matches!(byte, b'0'..=b';'))?;
    (rest[len] == b'm').then_some(len + 2)
}

fn obey(step: &Step<'_>, modes: &mut Modes, on: &mut impl FnMut(Event)) -> Effect {
    match *step {
        Step::More => return Effect::None,
        Step::Execute(BEL) => on(Event::Bell),
        Step::Execute(_) => {}
        Step::Escape { intermediate, byte } => {
            if (intermediate, byte) == (0, b'\\') {
                return Effect::None;
            }
            if (intermediate, byte) == (0, b'Z') {
                on(Event::Query(Query::PrimaryAttributes));
            }
            modes.obey_escape(intermediate, byte);
        }
        Step::Csi(csi) => {
            if let Some(query) = query(csi, modes) {
                on(Event::Query(query));
            }
            let had_paste_mode = modes.bracketed_paste;
            modes.obey_csi(csi);
            if modes.bracketed_paste && !had_paste_mode {
                on(Event::PasteModeSet);
            }
        }
        Step::String(ref string) => match string.kind {
            StringKind::Osc => return osc::read(string, on),
            StringKind::Dcs => {
                if let Some(query) = device_query(string) {
                    on(Event::Query(query));
                }
            }
            StringKind::Other => {}
        },
    }
    Effect::Some
}

fn query(csi: &Csi, modes: &Modes) -> Option<Query> {
    let number = csi.params()[0];
    Some(match (csi.id(), number) {
        ((0, 0, b'c'), 0) => Query::PrimaryAttributes,
        ((b'>', 0, b'c'), 0) => Query::SecondaryAttributes,
        ((b'=', 0, b'c'), 0) => Query::TertiaryAttributes,
        ((0, 0, b'n'), 5) => Query::Status,
        ((0, 0, b'n'), 6) => Query::CursorPosition,
        ((b'?', 0, b'n'), 6) => Query::ExtendedCursorPosition,
        ((b'>', 0, b'q'), 0) => Query::Version,
        // With a number it is the answer, which an echoing terminal prints back.
        ((b'?', 0, b'u'), _) if csi.is_bare() => Query::KittyKeys { flags: modes.kitty_flags() },
        ((b'?', 0, b'm'), 4) => Query::ModifyOtherKeys { value: modes.modify_other_keys },
        ((b'?', b'$', b'p'), _) => Query::PrivateMode { number, is_set: modes.private(number) },
        ((0, b'$', b'p'), _) => Query::AnsiMode { number, is_set: modes.ansi(number) },
        ((0, 0, b't'), 14) => Query::WindowPixels,
        ((0, 0, b't'), 16) => Query::CellPixels,
        ((0, 0, b't'), 18) => Query::TextArea,
        ((0, 0, b't'), 19) => Query::ScreenCells,
        _ => return None,
    })
}

fn device_query(dcs: &ControlString<'_>) -> Option<Query> {
    if !dcs.is_whole() {
        return None;
    }
    if let Some(names) = dcs.body.strip_prefix(b"+q") {
        let is_hex = |b: &u8| b.is_ascii_hexdigit() || *b == b';';
        let names = if names.iter().all(is_hex) { plain_text(names) } else { String::new() };
        return Some(Query::Capabilities { names });
    }
    dcs.body.starts_with(b"$q").then_some(Query::Setting)
}

#[cfg(test)]
mod tests;
