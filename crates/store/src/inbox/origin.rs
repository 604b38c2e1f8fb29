//! Where mail comes from that no terminal sent.

use std::fmt;
use std::str::FromStr;

/// What is known of a sender that is no terminal and no person.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The calendar: the flow of this name.
    Flow(String),
    /// A program that calls itself so; nothing vouches for it.
    Client(String),
}

/// It is none that was ever written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoOrigin;

/// Longest name that a program may give itself, in characters.
const NAME_CHARS: usize = 128;

impl Origin {
    /// A program that calls itself so: one line that is not empty, of at most 128 characters; `None` for any other name.
    #[must_use]
    pub fn client(name: &str) -> Option<Self> {
        let name = name.trim();
        let is_name =
            !name.is_empty() && name.chars().count() <= NAME_CHARS && !name.contains(char::is_control);
        is_name.then(|| Self::Client(name.to_owned()))
    }

    /// The kind, and the name.
    fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Flow(name) => ("flow", name),
            Self::Client(name) => ("client", name),
        }
    }

    /// The name, of whatever kind.
    #[must_use]
    pub fn name(&self) -> &str {
        self.parts().1
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = self.parts();
        write!(f, "{kind}:{name}")
    }
}

impl FromStr for Origin {
    type Err = NoOrigin;

    fn from_str(text: &str) -> Result<Self, NoOrigin> {
        match text.split_once(':') {
            Some(("flow", name)) => Ok(Self::Flow(name.to_owned())),
            Some(("client", name)) => Ok(Self::Client(name.to_owned())),
            _ => Err(NoOrigin),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_whatever_a_client_calls_itself() {
        for name in ["ui", "flow:nightly", "client:", "", "ä b"] {
            for origin in [Origin::Flow(name.to_owned()), Origin::Client(name.to_owned())] {
                assert_eq!(origin.to_string().parse(), Ok(origin));
            }
        }
        for bad in ["", "ui", "person:x"] {
            assert_eq!(bad.parse::<Origin>(), Err(NoOrigin));
        }
    }

    #[test]
    fn a_program_calls_itself_by_one_line() {
        let longest = "ä".repeat(NAME_CHARS);
        assert_eq!(Origin::client(" a b "), Some(Origin::Client("a b".to_owned())));
        assert_eq!(Origin::client(&longest), Some(Origin::Client(longest.clone())));
        for bad in ["", " ", "a\nb", "\u{1b}[31m", &(longest + "b")] {
            assert_eq!(Origin::client(bad), None, "{bad:?}");
        }
    }
}
