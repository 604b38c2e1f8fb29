//! Identifiers, as newtypes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The full id of a terminal: `t` and 32 lower-case hex digits, unique for good.
///
/// Made from 128 bits that the caller supplies (a UUIDv7, so that ids sort by age).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TerminalId(u128);

/// The text was not the id it should have been.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an id")]
pub struct IdError(String);

impl TerminalId {
    /// An id of the given bits.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The bits of the id.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }
}

impl fmt::Display for TerminalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{:032x}", self.0)
    }
}

impl fmt::Debug for TerminalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for TerminalId {
    type Err = IdError;
    fn from_str(s: &str) -> Result<Self, IdError> {
        let hex = s
            .strip_prefix('t')
            .filter(|h| h.len() == 32 && h.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        hex.and_then(|h| u128::from_str_radix(h, 16).ok()).map(Self).ok_or_else(|| IdError(s.to_owned()))
    }
}

impl From<TerminalId> for String {
    fn from(id: TerminalId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for TerminalId {
    type Error = IdError;
    fn try_from(s: String) -> Result<Self, IdError> {
        s.parse()
    }
}

/// The short id a model uses, an integer in [`SessionId::MIN`]`..=`[`SessionId::MAX`].
///
/// Never given to another program within a server's life. The range is what models were trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub struct SessionId(u32);

impl SessionId {
    /// Smallest short id.
    pub const MIN: u32 = 1_000;
    /// Largest short id.
    pub const MAX: u32 = 99_999;

    /// A short id, if `n` is in range.
    #[must_use]
    pub fn new(n: u32) -> Option<Self> {
        (Self::MIN..=Self::MAX).contains(&n).then_some(Self(n))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl From<SessionId> for u32 {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

impl TryFrom<u32> for SessionId {
    type Error = IdError;
    fn try_from(n: u32) -> Result<Self, IdError> {
        Self::new(n).ok_or_else(|| IdError(n.to_string()))
    }
}

macro_rules! numbered {
    ($(#[$doc:meta])+ $name:ident, $letter:literal) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(u64);

        impl $name {
            /// The id with number `n`.
            #[must_use]
            pub const fn new(n: u64) -> Self {
                Self(n)
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(s: &str) -> Result<Self, IdError> {
                numbered(s, $letter).map(Self).ok_or_else(|| IdError(s.to_owned()))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(s: String) -> Result<Self, IdError> {
                s.parse()
            }
        }
    };
}

/// The number behind `letter`, in the one way it is written.
fn numbered(text: &str, letter: &str) -> Option<u64> {
    let digits = text.strip_prefix(letter)?;
    let number: u64 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

numbered! {
    /// The id of a message, `m17`: unique in its store, never given twice.
    MessageId, "m"
}
numbered! {
    /// The id of one try to deliver one batch of messages, `a9`: unique in its store, never given twice.
    AttemptId, "a"
}
numbered! {
    /// The id of a handoff, `h3`: unique in its store, never given twice.
    HandoffId, "h"
}
numbered! {
    /// The id of one run of a flow, `r5`: unique in its store, never given twice.
    FlowRunId, "r"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_ids_round_trip_and_refuse_everything_else() {
        let id = TerminalId::from_bits(0x0192_f0aa_bbcc_7ddd_8eee_ffff_0000_1111);
        assert_eq!(id.to_string().parse::<TerminalId>().unwrap(), id);
        for bad in [
            "",
            "t",
            "19523",
            "T0192f0aabbcc7ddd8eeeffff00001111",
            "t0192F0aabbcc7ddd8eeeffff00001111",
            "t+192f0aabbcc7ddd8eeeffff0000111",
        ] {
            assert!(bad.parse::<TerminalId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn short_ids_stay_in_their_range() {
        assert!(SessionId::new(999).is_none());
        assert!(SessionId::new(1000).is_some());
        assert!(SessionId::new(99_999).is_some());
        assert!(SessionId::new(100_000).is_none());
    }

    #[test]
    fn numbered_ids_are_written_in_one_way() {
        assert_eq!("m17".parse::<MessageId>().unwrap().to_string(), "m17");
        for bad in ["m", "17", "m017", "m+1", "m-1", "a17", "m17 ", "m18446744073709551616"] {
            assert!(bad.parse::<MessageId>().is_err(), "{bad}");
        }
    }
}
