//! Kitty's keyboard flags: a stack for each of the two screens.

use crate::parse::Csi;

/// Most entries of a stack; the oldest goes when one more is pushed, as the protocol says.
const DEPTH: usize = 16;

/// The flags that exist; others are ignored.
const KNOWN: u8 = 0b1_1111;

/// One screen's stack; its last entry is in force.
///
/// # Invariants
///
/// 1. `1 <= len <= DEPTH`.
/// 2. Entries from `len` on are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stack {
    entries: [u8; DEPTH],
    len: u8,
}

impl Default for Stack {
    fn default() -> Self {
        Self { entries: [0; DEPTH], len: 1 }
    }
}

impl Stack {
    fn top(&mut self) -> &mut u8 {
        &mut self.entries[usize::from(self.len) - 1]
    }

    fn push(&mut self, flags: u8) {
        if usize::from(self.len) == DEPTH {
            self.entries.copy_within(1.., 0);
        } else {
            self.len += 1;
        }
        *self.top() = flags;
    }

    fn pop(&mut self, count: u16) {
        for _ in 0..count.min(u16::from(self.len)) {
            *self.top() = 0;
            self.len = (self.len - 1).max(1);
        }
    }
}

/// Kitty's keyboard flags of the main and of the alternate screen.
///
/// The bits: 1 disambiguate, 2 event types, 4 alternate keys, 8 all keys as escapes, 16 associated text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KittyKeys {
    main: Stack,
    alt: Stack,
}

impl KittyKeys {
    /// The flags in force on the screen named.
    #[must_use]
    pub fn flags(&self, alt_screen: bool) -> u8 {
        let stack = if alt_screen { &self.alt } else { &self.main };
        stack.entries[usize::from(stack.len) - 1]
    }

    pub(super) fn reset(&mut self, alt_screen: bool) {
        *self.stack(alt_screen) = Stack::default();
    }

    pub(super) fn obey(&mut self, csi: &Csi, alt_screen: bool) {
        let flags = csi.params()[0] as u8 & KNOWN;
        let stack = self.stack(alt_screen);
        match csi.id() {
            (b'>', ..) => stack.push(flags),
            (b'<', ..) => stack.pop(csi.param(0, 1)),
            _ => {
                let top = stack.top();
                *top = match csi.param(1, 1) {
                    2 => *top | flags,
                    3 => *top & !flags,
                    _ => flags,
                };
            }
        }
    }

    fn stack(&mut self, alt_screen: bool) -> &mut Stack {
        if alt_screen { &mut self.alt } else { &mut self.main }
    }
}

#[cfg(test)]
mod tests {
    use crate::Scanner;

    fn flags_after(bytes: &[u8]) -> u8 {
        let mut scanner = Scanner::new();
        scanner.scan(0, bytes, &mut |_| {});
        scanner.modes().kitty_flags()
    }

    #[test]
    fn the_stack_pushes_pops_and_sets() {
        assert_eq!(flags_after(b"\x1b[>7u"), 7);
        assert_eq!(flags_after(b"\x1b[>7u\x1b[>1u\x1b[<u"), 7);
        assert_eq!(flags_after(b"\x1b[>7u\x1b[>1u\x1b[<9u"), 0);
        assert_eq!(flags_after(b"\x1b[=5u\x1b[=2;2u\x1b[=4;3u"), 3);
        assert_eq!(flags_after(b"\x1b[>7u\x1bc"), 0);
        assert_eq!(flags_after(b"\x1b[>7u\x1b[!p"), 0);
    }

    #[test]
    fn each_screen_has_its_own_stack() {
        assert_eq!(flags_after(b"\x1b[>7u\x1b[?1049h"), 0);
        assert_eq!(flags_after(b"\x1b[>7u\x1b[?1049h\x1b[>1u\x1b[?1049l"), 7);
    }

    #[test]
    fn a_flood_of_pushes_keeps_the_newest() {
        let mut pushes = b"\x1b[>1u".repeat(5000);
        pushes.extend_from_slice(b"\x1b[>3u");
        assert_eq!(flags_after(&pushes), 3);
        pushes.extend_from_slice(b"\x1b[<15u");
        assert_eq!(flags_after(&pushes), 1);
    }
}
