//! One observation about an agent: what was seen, by whom, and from where in the order of things.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::attempt::AttemptId;
use super::status::{BlockedOn, Status};

/// Who observed. In the order of authority: the first one that speaks is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The end of the program.
    Exit,
    /// The program's own report on the terminal (OSC 7501).
    Native,
    /// A hook that the program runs, the events of a server of its own, or a place that watches the agent itself.
    Hook,
    /// The title or the progress report of the window.
    Title,
    /// What stands on the screen.
    Screen,
}

impl Source {
    /// Every source, the most trusted first.
    pub const ALL: [Self; 5] = [Self::Exit, Self::Native, Self::Hook, Self::Title, Self::Screen];

    /// The word for it, as it stands in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Native => "native",
            Self::Hook => "hook",
            Self::Title => "title",
            Self::Screen => "screen",
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where an observation stands in the order of its source. Never a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// It was made from the output up to this offset of the log, in bytes.
    Offset(u64),
    /// It is this one in the order of a source that has no offsets: by the source's own count of its reports, or by how
    /// many writes came before it for certain.
    Sequence(u64),
}

impl Position {
    /// Whether this comes after `other`. Positions of different kinds have no order, so neither comes after the other.
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        match (self, other) {
            (Self::Offset(a), Self::Offset(b)) | (Self::Sequence(a), Self::Sequence(b)) => a > b,
            (Self::Offset(_), Self::Sequence(_)) | (Self::Sequence(_), Self::Offset(_)) => false,
        }
    }

    /// The log offset, if it is one.
    #[must_use]
    pub const fn offset(self) -> Option<u64> {
        match self {
            Self::Offset(offset) => Some(offset),
            Self::Sequence(_) => None,
        }
    }
}

/// The rule that led to a verdict, by its name: `osc7501.working`, `claude.spinner`, ...
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rule(Cow<'static, str>);

impl Rule {
    /// A rule that the program was built with.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Rule {
    fn from(name: String) -> Self {
        Self(Cow::Owned(name))
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an observation tells of the place where input is composed, and of the text that was last pasted there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// Nothing: it cannot be seen from here.
    #[default]
    Unseen,
    /// The composer is seen, and nothing stands in it.
    Empty,
    /// The text of this attempt stands in it, as itself or folded ("pasted text, 30 lines"), and was not submitted.
    Ours(AttemptId),
    /// Something else stands in it: what a person typed.
    Draft,
    /// The text of this attempt was submitted: the program named it, or its transcript shows it and did not before. On
    /// a screen this also says that nothing stands in the composer.
    Submitted(AttemptId),
}

impl Sight {
    /// Whether a screen that shows this shows a composer with nothing in it.
    #[must_use]
    pub const fn is_clear(self) -> bool {
        matches!(self, Self::Empty | Self::Submitted(_))
    }
}

/// One observation about an agent.
///
/// An observer tells the truth about the program at `position`, which may be long ago: how late it is told proves
/// nothing. Whether it covers a write is decided by the machine, for all sources alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Evidence {
    /// Who observed.
    pub source: Source,
    /// Where it stands in the order of its source.
    pub position: Position,
    /// What the agent was doing there.
    pub status: Status,
    /// By which rule.
    pub rule: Rule,
    /// What it tells of the composer.
    pub sight: Sight,
    /// Where it stands what it tells of the composer: a status that has to hold for a while before it is told is that of
    /// an older frame than the composer's.
    pub sight_at: Position,
    /// What the agent asks, where that is known.
    pub blocked_on: Option<BlockedOn>,
}

impl Evidence {
    /// An observation of a status that tells nothing of the composer.
    #[must_use]
    pub const fn new(source: Source, position: Position, status: Status, rule: Rule) -> Self {
        Self { source, position, status, rule, sight: Sight::Unseen, sight_at: position, blocked_on: None }
    }

    /// The same with what it tells of the composer at the same place.
    #[must_use]
    pub const fn seeing(self, sight: Sight) -> Self {
        let at = self.position;
        self.seeing_at(sight, at)
    }

    /// The same with what it tells of the composer, of a frame that may be newer than the one that the status is of.
    #[must_use]
    pub const fn seeing_at(mut self, sight: Sight, at: Position) -> Self {
        self.sight = sight;
        self.sight_at = at;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_different_kinds_have_no_order() {
        assert!(Position::Offset(2).is_after(Position::Offset(1)));
        assert!(!Position::Offset(2).is_after(Position::Offset(2)));
        assert!(!Position::Offset(2).is_after(Position::Sequence(1)));
        assert!(!Position::Sequence(2).is_after(Position::Offset(1)));
    }

    #[test]
    fn the_most_trusted_source_comes_first() {
        assert!(Source::ALL.is_sorted());
    }
}
