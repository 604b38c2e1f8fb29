//! What a program switched on in the user's terminal, and how it is switched off again.

use std::collections::BTreeMap;

/// A complete CSI sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Csi {
    /// `<`, `=`, `>`, `?`, or 0.
    pub(super) prefix: u8,
    /// The intermediate byte, or 0.
    pub(super) intermediate: u8,
    /// The final byte.
    pub(super) last: u8,
    numbers: Vec<Option<u16>>,
}

impl Csi {
    /// Reads what stands after `ESC [`, the final byte included.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let (&last, body) = body.split_last()?;
        let body: Vec<u8> = body.iter().copied().filter(|byte| *byte >= 0x20).collect();
        let (prefix, rest) = match body.split_first() {
            Some((&prefix @ b'<'..=b'?', rest)) => (prefix, rest),
            _ => (0, &body[..]),
        };
        let params = rest.iter().position(|byte| *byte < 0x30).unwrap_or(rest.len());
        let numbers = rest[..params].split(|&b| b == b';').map(|field| {
            let main = field.split(|&b| b == b':').next().unwrap_or_default();
            std::str::from_utf8(main).ok()?.parse().ok()
        });
        let numbers = numbers.collect();
        Some(Self { prefix, intermediate: rest.get(params).copied().unwrap_or(0), last, numbers })
    }

    /// The parameter at `nth`, 0 when it is not given.
    pub(super) fn number(&self, nth: usize) -> u16 {
        self.given(nth).unwrap_or(0)
    }

    fn given(&self, nth: usize) -> Option<u16> {
        self.numbers.get(nth).copied().flatten()
    }
}

/// Private modes that are on in a terminal that was just reset: wrap, autorepeat, cursor.
const ON_BY_DEFAULT: [u16; 3] = [7, 8, 25];
/// Private modes that show the alternate screen.
const ALT_SCREEN: [u16; 3] = [47, 1047, 1049];

/// Kitty's keyboard flags, as far as they were changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct KittyKeys {
    /// Entries pushed and not popped.
    pushed: u16,
    /// The entry that was there before was changed.
    is_changed: bool,
}

/// What differs from the terminal that the user had.
///
/// # Invariants
/// 1. A mode is in `private` or `ansi` only while it differs from its default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OuterModes {
    private: BTreeMap<u16, bool>,
    ansi: BTreeMap<u16, bool>,
    /// Of the main and of the alternate screen, which have a stack each.
    kitty: [KittyKeys; 2],
    other_keys: bool,
    keypad: bool,
    margins: bool,
    cursor_style: bool,
    /// Character sets G0 to G3.
    charsets: [bool; 4],
    shifted_out: bool,
    link: bool,
    progress: bool,
    palette: bool,
    /// OSC 10, 11 and 12.
    colours: [bool; 3],
}

impl OuterModes {
    pub(super) fn obey_control(&mut self, byte: u8) {
        match byte {
            0x0e => self.shifted_out = true,
            0x0f => self.shifted_out = false,
            _ => {}
        }
    }

    /// Reads what stands after `ESC`.
    pub(super) fn obey_escape(&mut self, body: &[u8]) {
        match body {
            b"=" => self.keypad = true,
            b">" => self.keypad = false,
            b"c" => *self = Self::default(),
            [slot @ b'('..=b'+', set] => self.charsets[usize::from(slot - b'(')] = *set != b'B',
            _ => {}
        }
    }

    pub(super) fn obey_csi(&mut self, csi: &Csi) {
        match (csi.prefix, csi.intermediate, csi.last) {
            (b'?', 0, b'h' | b'l') => {
                for mode in csi.numbers.iter().flatten() {
                    let is_default = ON_BY_DEFAULT.contains(mode) == (csi.last == b'h');
                    note(&mut self.private, *mode, csi.last == b'h', is_default);
                }
            }
            (0, 0, b'h' | b'l') => {
                for mode in csi.numbers.iter().flatten() {
                    note(&mut self.ansi, *mode, csi.last == b'h', csi.last == b'l');
                }
            }
            (b'>', 0, b'u') => {
                let keys = self.kitty();
                keys.pushed = keys.pushed.saturating_add(1);
            }
            (b'<', 0, b'u') => {
                let count = csi.given(0).unwrap_or(1);
                let keys = self.kitty();
                keys.pushed = keys.pushed.saturating_sub(count);
            }
            (b'=', 0, b'u') => {
                let (is_any, how) = (csi.number(0) != 0, csi.number(1));
                let keys = self.kitty();
                // An entry of the program's own goes with its pop.
                if keys.pushed == 0 {
                    keys.is_changed = match how {
                        2 => keys.is_changed || is_any,
                        3 => keys.is_changed,
                        _ => is_any,
                    };
                }
            }
            (b'>', 0, b'm') if csi.number(0) == 4 => self.other_keys = csi.number(1) != 0,
            (b'>', 0, b'm') if csi.given(0).is_none() => self.other_keys = false,
            (b'>', 0, b'n') => self.other_keys = false,
            (0, 0, b'r') => self.margins = csi.given(0).is_some() || csi.given(1).is_some(),
            (0, b' ', b'q') => self.cursor_style = csi.number(0) != 0,
            _ => {}
        }
    }

    /// Reads the text of an OSC.
    pub(super) fn obey_osc(&mut self, body: &[u8]) {
        let (code, rest) = match body.iter().position(|&b| b == b';') {
            Some(at) => (&body[..at], &body[at + 1..]),
            None => (body, &[][..]),
        };
        match code {
            b"4" => self.palette = true,
            b"104" => self.palette = false,
            b"8" => self.link = rest.iter().position(|&b| b == b';').is_some_and(|at| at + 1 < rest.len()),
            b"9" if rest.starts_with(b"4;") => self.progress = !rest.starts_with(b"4;0"),
            b"10" => self.colours[0] = true,
            b"11" => self.colours[1] = true,
            b"12" => self.colours[2] = true,
            b"110" => self.colours[0] = false,
            b"111" => self.colours[1] = false,
            b"112" => self.colours[2] = false,
            _ => {}
        }
    }

    fn is_alt(&self) -> bool {
        ALT_SCREEN.iter().any(|mode| self.private.contains_key(mode))
    }

    fn kitty(&mut self) -> &mut KittyKeys {
        let screen = usize::from(self.is_alt());
        &mut self.kitty[screen]
    }

    /// What undoes all of it. The first two bytes end whatever sequence the terminal may be in the middle of.
    pub(super) fn resets(&self) -> Vec<u8> {
        let mut out = b"\x1b\\".to_vec();
        let mut say = |text: &str| out.extend_from_slice(text.as_bytes());
        let [main_keys, alt_keys] = self.kitty;
        if self.is_alt() {
            say(&alt_keys.resets());
        }
        if self.private.contains_key(&2026) {
            say("\x1b[?2026l");
        }
        if self.link {
            say("\x1b]8;;\x1b\\");
        }
        if self.margins {
            // Setting margins moves the cursor.
            say("\x1b7\x1b[r\x1b8");
        }
        for (mode, is_set) in &self.private {
            if *mode != 2026 {
                say(&format!("\x1b[?{mode}{}", if *is_set { 'l' } else { 'h' }));
            }
        }
        for (mode, is_set) in &self.ansi {
            say(&format!("\x1b[{mode}{}", if *is_set { 'l' } else { 'h' }));
        }
        say(&main_keys.resets());
        let switches = [
            (self.other_keys, "\x1b[>4m"),
            (self.keypad, "\x1b>"),
            (self.cursor_style, "\x1b[0 q"),
            (self.charsets[0], "\x1b(B"),
            (self.charsets[1], "\x1b)B"),
            (self.charsets[2], "\x1b*B"),
            (self.charsets[3], "\x1b+B"),
            (self.shifted_out, "\x0f"),
            (self.progress, "\x1b]9;4;0\x1b\\"),
            (self.palette, "\x1b]104\x1b\\"),
            (self.colours[0], "\x1b]110\x1b\\"),
            (self.colours[1], "\x1b]111\x1b\\"),
            (self.colours[2], "\x1b]112\x1b\\"),
        ];
        switches.iter().filter(|(is_on, _)| *is_on).for_each(|(_, reset)| say(reset));
        // These do no harm where they change nothing.
        say("\x1b[0m\x1b[?25h");
        out
    }
}

impl KittyKeys {
    fn resets(self) -> String {
        let mut text = String::new();
        if self.pushed > 0 {
            text.push_str(&format!("\x1b[<{}u", self.pushed));
        }
        if self.is_changed {
            text.push_str("\x1b[=0u");
        }
        text
    }
}

fn note(modes: &mut BTreeMap<u16, bool>, mode: u16, is_set: bool, is_default: bool) {
    if is_default {
        modes.remove(&mode);
    } else {
        modes.insert(mode, is_set);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::passthrough::Passthrough;

    fn resets_after(output: &str) -> String {
        let mut filter = Passthrough::new();
        filter.feed(output.as_bytes());
        String::from_utf8(filter.resets()).unwrap()
    }

    #[test]
    fn case_a13_what_a_killed_program_left_on_is_switched_off() {
        let resets = resets_after("\x1b[>1u\x1b[?1003h\x1b[?2004h\x1b[?1049h\x1b[?25l");
        for reset in ["\x1b[<1u", "\x1b[?1003l", "\x1b[?2004l", "\x1b[?1049l", "\x1b[?25h"] {
            assert!(resets.contains(reset), "{reset:?} in {resets:?}");
        }
        let left_alt = resets.find("\x1b[?1049l").unwrap();
        assert!(left_alt < resets.find("\x1b[<1u").unwrap(), "main's keys are popped on the main screen");
    }

    #[test]
    fn each_screens_keys_are_popped_on_that_screen() {
        let resets = resets_after("\x1b[>1u\x1b[?1049h\x1b[>7u\x1b[>1u\x1b[<u");
        assert!(resets.find("\x1b[<1u").unwrap() < resets.find("\x1b[?1049l").unwrap());
        assert_eq!(resets.matches("\x1b[<1u").count(), 2);
    }

    #[test]
    fn what_the_program_switched_off_itself_is_left_alone() {
        let clean = resets_after("");
        let tidy = "\x1b[>1u\x1b[?1049h\x1b[?1000;1006h\x1b[4h\x1b[2;5r\x1b[3 q\x1b[?25l\x1b=\x0e\x1b(0\x1b[>4;2m\
            \x1b(B\x0f\x1b>\x1b[?25h\x1b[0 q\x1b[r\x1b[4l\x1b[?1006;1000l\x1b[?1049l\x1b[<u\x1b[>4m";
        assert_eq!(resets_after(tidy), clean);
        assert_eq!(resets_after("\x1b[?1003h\x1b[>1u\x1bc"), clean);
    }

    #[test]
    fn everything_else_is_undone_as_well() {
        let resets = resets_after(
            "\x1b[?7l\x1b[?1h\x1b=\x1b[4h\x1b[3;9r\x1b[5 q\x1b[>4;1m\x1b[=5u\x1b(0\x0e\x1b]8;;http://x\x07\x1b]11;#fff\x07\x1b[?2026h",
        );
        let expected = "\x1b\\\x1b[?2026l\x1b]8;;\x1b\\\x1b7\x1b[r\x1b8\x1b[?1l\x1b[?7h\x1b[4l\x1b[=0u\x1b[>4m\x1b>\x1b[0 q\
            \x1b(B\x0f\x1b]111\x1b\\\x1b[0m\x1b[?25h";
        assert_eq!(resets, expected);
    }

    #[test]
    fn resets_reset() {
        let mess = "\x1b[?7l\x1b[>1u\x1b[?1049h\x1b[>3u\x1b[=5u\x1b[4h\x1b[3;9r\x1b[5 q\x1b[?1003;2004h\x1b]10;red\x07\x1b]9;4;1;50\x07";
        let mut filter = Passthrough::new();
        filter.feed(mess.as_bytes());
        let resets = filter.resets();
        filter.feed(&resets);
        assert_eq!(String::from_utf8(filter.resets()).unwrap(), "\x1b\\\x1b[0m\x1b[?25h");
    }

    /// Output of programs: the sequences that matter here, whole and cut, and anything else.
    fn output() -> impl Strategy<Value = Vec<u8>> {
        let modes = prop_oneof![
            Just(1u16),
            Just(7),
            Just(25),
            Just(47),
            Just(1003),
            Just(1049),
            Just(2026),
            0..3000u16
        ];
        let piece = prop_oneof![
            (modes, any::<bool>())
                .prop_map(|(m, on)| format!("\x1b[?{m}{}", if on { 'h' } else { 'l' }).into_bytes()),
            (0..5u8, "[<>=]").prop_map(|(n, prefix)| format!("\x1b[{prefix}{n}u").into_bytes()),
            "\x1b\\[[0-9;:?>$ ]{0,4}[a-zA-Z]".prop_map(String::into_bytes),
            "\x1b\\](4|8|9|10|11|52|104|111);[;?4a]{0,4}(\x07|\x1b\\\\)".prop_map(String::into_bytes),
            "\x1b[()*+=>c78\\[\\]PZ][0B]?".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(output in output(), cuts in prop::collection::vec(1..9usize, 1..64)) {
            let mut whole = Passthrough::new();
            let passed = whole.feed(&output);
            let mut pieces = Passthrough::new();
            let (mut rest, mut passed_in_pieces) = (&output[..], Vec::new());
            for cut in cuts.into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                passed_in_pieces.extend(pieces.feed(piece));
                rest = after;
            }
            prop_assert_eq!(passed_in_pieces, passed);
            prop_assert_eq!(pieces.resets(), whole.resets());
        }

        #[test]
        fn case_a13_whatever_was_printed_the_resets_leave_nothing_on(output in output()) {
            let mut filter = Passthrough::new();
            let passed = filter.feed(&output);
            // The terminal saw only what passed.
            let mut terminal = Passthrough::new();
            terminal.feed(&passed);
            terminal.feed(&filter.resets());
            prop_assert_eq!(terminal.resets(), Passthrough::new().resets());
        }
    }
}
