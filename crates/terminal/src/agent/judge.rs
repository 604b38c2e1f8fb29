//! Who says what an agent is doing, from what it prints.

use ptyard_core::Moment;
use ptyard_core::turn::{Evidence, Keys};
use ptyard_screen::{Signal, View};

/// Judges what an agent prints: its reports, its titles and its screen.
///
/// It is told of everything in the order of the log, and says what each source says. It does not weigh the sources
/// against each other and does not ask whether what they say is from before or after a write: the turn machine does.
pub trait Judge: Send {
    /// A sequence was seen in the output: a report (OSC 7501), a title, a mark.
    fn signal(&mut self, signal: &Signal, now: Moment);

    /// Output came, up to log offset `end`. It may not have been looked at yet.
    fn printed(&mut self, _end: u64, _now: Moment) {}

    /// Keys were typed, by whomever; those of mail too.
    fn typed(&mut self, _keys: Keys) {}

    /// The screen showed `view` when the output was `offset` bytes long.
    fn look(&mut self, view: &View, offset: u64, now: Moment);

    /// What is known at `now`.
    fn verdict(&mut self, now: Moment) -> Verdict;
}

/// What is known of an agent at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What each source says, at most one each. That of the screen comes with the offset of the last look; its
    /// [`sight`](Evidence::sight) is filled in by the actor, who knows what was pasted.
    pub evidence: Vec<Evidence>,
    /// What stands where input is composed.
    pub composer: Composer,
    /// When time alone will change the verdict (a screen that has to stay the same for a while, a program that counts as
    /// ready when it is quiet).
    pub until: Option<Moment>,
}

/// What stands where input is composed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Composer {
    /// None is to be seen.
    #[default]
    Unseen,
    /// Nothing, or only a placeholder.
    Empty,
    /// This text, its rows joined by line feeds.
    Text(String),
    /// A paste that the program folded to a few words, and nothing else.
    Folded,
}
