//! What happens to a turn, and what is to be done about it.

use serde::{Deserialize, Serialize};

use super::attempt::{AttemptId, Epoch};
use super::evidence::{Evidence, Position, Rule, Source};

/// Who reads what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Foreground {
    /// The agent, as far as can be told.
    Agent,
    /// A bare shell: it would run the text as commands.
    Shell,
}

/// What somebody else typed: a person at the terminal, a program with the id, an answer to a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Keys {
    /// Text that was not submitted: it stands in the composer.
    Text,
    /// Keys that submit what stands in the composer, perhaps with text before them.
    Submit,
    /// Keys that may remove or replace what stands in the composer, or a part of it.
    Edit,
}

/// How much of a write the program took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Taken {
    /// Not a byte: it is as if nothing had been tried.
    Nothing,
    /// Some of it, or all of it without the Enter.
    Part,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Something was observed.
    Seen(Evidence),
    /// This source has kept silent while others went on, see [`TurnMachine::silent_authority`](super::TurnMachine::silent_authority).
    FellSilent(Source),
    /// Who reads what is typed now. To be said before every [`Event::Dispatch`], [`Event::Noted`], [`Event::PauseOver`]
    /// and [`Event::LookedAgain`], so that nothing is typed into a bare shell.
    Foreground(Foreground),
    /// The owner of this attempt wants it written. The terminal was drained and judged just before.
    Dispatch {
        /// Which.
        attempt: AttemptId,
    },
    /// The note of [`Effect::Note`] is durable; the paste would begin now.
    Noted {
        /// Which.
        attempt: AttemptId,
    },
    /// The whole paste was taken.
    Pasted {
        /// Which.
        attempt: AttemptId,
    },
    /// The pause between paste and Enter is over, and the screen was judged anew.
    PauseOver {
        /// Which.
        attempt: AttemptId,
    },
    /// The Enter was taken.
    Entered {
        /// Which.
        attempt: AttemptId,
        /// The end of the log right before the Enter was written: what it caused comes after.
        mark: u64,
    },
    /// The write ended early.
    NotTaken {
        /// Which.
        attempt: AttemptId,
        /// How much was taken.
        taken: Taken,
    },
    /// The terminal was drained and the screen judged anew, [`SETTLED_AFTER`](super::SETTLED_AFTER) or longer after the
    /// last input: the program has read what was typed.
    LookedAgain,
    /// Mail waits that does not wait for the end of a turn: the turn that runs is to be stopped for it.
    Hurry,
    /// No such mail waits any more.
    Calm,
    /// The turn would be stopped now, see [`TurnMachine::would_interrupt`](super::TurnMachine::would_interrupt). The
    /// terminal was drained and judged, and the foreground told, just before.
    InterruptDue,
    /// The owner of this attempt does not want it any more.
    Withdraw {
        /// Which.
        attempt: AttemptId,
    },
    /// Somebody else's input was written.
    Typed {
        /// What kind.
        keys: Keys,
        /// The end of the log right before it was written.
        mark: u64,
    },
    /// A person says that nothing is under way: forget what was seen and start from what is seen now.
    Reset {
        /// The end of the log now.
        at: u64,
    },
    /// The program ended.
    Exited,
    /// Another program runs in its place.
    Restarted {
        /// The end of the log now.
        at: u64,
    },
    /// The terminal is removed. Nothing that comes later has an effect.
    Removed,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write down, so that it outlives this process, that the text of this attempt is about to be typed; then say
    /// [`Event::Noted`]. Not a byte goes out before.
    Note {
        /// Which.
        attempt: AttemptId,
        /// The turn that would begin.
        epoch: Epoch,
    },
    /// Take the note back: nothing was written.
    EraseNote {
        /// Which.
        attempt: AttemptId,
    },
    /// Paste the text of this attempt, and keep the input for it until its Enter.
    Paste {
        /// Which.
        attempt: AttemptId,
    },
    /// Press the keys that stop a turn, in this very step.
    Interrupt {
        /// Which turn.
        epoch: Epoch,
    },
    /// Press Enter.
    Enter {
        /// For which attempt.
        attempt: AttemptId,
    },
    /// Write no more of this attempt.
    TakeBack {
        /// Which.
        attempt: AttemptId,
    },
    /// What became of an attempt.
    Outcome(AttemptId, Outcome),
    /// The status is another one: publish the report.
    Status,
    /// The turn is over.
    TurnEnded {
        /// Which turn.
        epoch: Epoch,
        /// The attempt that began it; `None` when it was somebody else's input.
        attempt: Option<AttemptId>,
    },
    /// Mail can be handed over from now on.
    Ready,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Nothing was written, and why. It can be tried again with another attempt.
    Refused(Hold),
    /// The program took the text.
    Delivered(Proof),
    /// It may have been taken or not. Never to be tried again without a person's word; `Delivered` may still follow.
    Uncertain(Doubt),
}

/// What shows that a text was taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Proof {
    /// Who saw it.
    pub source: Source,
    /// By which rule.
    pub rule: Rule,
    /// Where.
    pub position: Position,
}

/// Why mail waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Nothing is known of the agent yet, or it says that it starts.
    Starting,
    /// It works.
    Busy,
    /// It asks something; mail would answer it.
    Dialog,
    /// What a person typed stands in the composer.
    Draft,
    /// An earlier text stands in the composer.
    TextInComposer,
    /// Another attempt is being written or is not confirmed.
    Unconfirmed,
    /// Somebody else's input was submitted, and what came of it was not seen yet.
    HumanTurn,
    /// It says that it failed.
    Error,
    /// Nothing that is known of it tells whether it is ready.
    Unknown,
    /// A bare shell would read it.
    ShellInForeground,
    /// The program does not take its input.
    InputNotTaken,
    /// Its owner took it back.
    Withdrawn,
    /// A person reset the terminal.
    Reset,
    /// The program has ended.
    Exited,
}

/// Why it is not known whether a text was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The program ended before it was seen to take it.
    Exited,
    /// A person reset the terminal before.
    Reset,
    /// The server ended after the write may have begun, and nothing that can be seen tells.
    ServerLost,
    /// Only a part was written.
    PartlyWritten,
    /// A bare shell came to the foreground between the paste and its Enter.
    ShellInForeground,
}
