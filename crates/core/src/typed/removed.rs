//! What cleaning took away, so that the sender can be told.

use std::fmt;

/// A kind of thing that text may not carry into a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A control character U+0000..U+001F that begins no sequence.
    C0,
    /// U+007F.
    Delete,
    /// A control character U+0080..U+009F, or its single byte, that begins no sequence.
    C1,
    /// The beginning or the end of a bracketed paste.
    PasteMarker,
    /// Another CSI sequence.
    Csi,
    /// An OSC, DCS, APC, PM or SOS string.
    String,
    /// Another escape, or a lone ESC.
    Escape,
    /// A byte that is part of no character; it became U+FFFD.
    Invalid,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::C0,
        Self::Delete,
        Self::C1,
        Self::PasteMarker,
        Self::Csi,
        Self::String,
        Self::Escape,
        Self::Invalid,
    ];

    /// Its name in JSON and in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::C0 => "c0",
            Self::Delete => "delete",
            Self::C1 => "c1",
            Self::PasteMarker => "paste_marker",
            Self::Csi => "csi",
            Self::String => "string",
            Self::Escape => "escape",
            Self::Invalid => "invalid",
        }
    }
}

/// How much of what was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    characters: u64,
    counts: [u64; Kind::ALL.len()],
}

impl Removed {
    /// Characters that are not in the text any more; a sequence counts with its whole length. An invalid byte counts as
    /// one, although a U+FFFD stands for it.
    #[must_use]
    pub const fn characters(&self) -> u64 {
        self.characters
    }

    /// How many of one kind: sequences, not their characters.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> u64 {
        self.counts[kind as usize]
    }

    /// Whether the text came through as it was, line ends aside.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.characters == 0
    }

    /// The kinds there were, with their numbers.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> + '_ {
        Kind::ALL.into_iter().map(|kind| (kind, self.of(kind))).filter(|(_, count)| *count > 0)
    }

    pub(super) fn character(&mut self) {
        self.characters += 1;
    }

    pub(super) fn count(&mut self, kind: Kind) {
        self.counts[kind as usize] += 1;
    }

    /// What was counted as `before` turns out to be `after`.
    pub(super) fn recount(&mut self, before: Kind, after: Kind) {
        debug_assert!(self.of(before) > 0, "only what was counted can be counted anew");
        self.counts[before as usize] -= 1;
        self.count(after);
    }
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} characters", self.characters)?;
        for (at, (kind, count)) in self.kinds().enumerate() {
            write!(f, "{}{} {count}", if at == 0 { ": " } else { ", " }, kind.as_str())?;
        }
        Ok(())
    }
}
