//! Going on after the server was lost: what was durable, and what follows from it.
//!
//! | durable of an attempt | it was | what is done |
//! |---|---|---|
//! | the claim in the store, no note | not written: the note comes before the first byte | its messages go back to pending |
//! | claim and note | perhaps written | [`Recovered::Noted`]: its text seen in the composer gets its Enter; its text or a turn seen from after the note is delivery; else it is uncertain |
//! | `uncertain` in the store, and the note | perhaps written | the same: what is seen may still settle it |
//! | `delivered` in the store | settled | [`Recovered::Taken`] while its turn may still run |
//!
//! Whatever it was, nothing is handed over before a look that finds all input read: the server that is gone may have
//! typed, or let type, right before.
//!
//! A claim without a note is safe to repeat, an outcome is final, and between the two nothing is ever sent again
//! without a person's word.

use super::attempt::{AttemptId, Epoch};
use super::machine::{Eager, OpenTurn, TurnMachine};
use super::stage::Stage;
use super::track::{Text, Write};
use crate::Moment;

/// What is on record of the last attempt of a terminal whose server was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recovered {
    /// There is none, or its turn is known to be over.
    Nothing,
    /// Its text was about to be typed when the log was `from` bytes long. Whether it was is not known.
    Noted {
        /// Which.
        attempt: AttemptId,
        /// The end of the log then.
        from: u64,
    },
    /// The program took it.
    Taken {
        /// Which.
        attempt: AttemptId,
        /// A log offset from after it was taken: that of the proof, or the end of the log at the restart.
        at: u64,
    },
}

impl TurnMachine {
    /// The machine of a program that an earlier server ran. Evidence found in the log is to be told again after this.
    #[must_use]
    pub fn recover(eager: Eager, epoch: Epoch, recovered: Recovered, now: Moment) -> Self {
        let mut machine = Self::new(eager, now);
        machine.epoch = epoch;
        machine.is_unsettled = true;
        match recovered {
            Recovered::Nothing => {}
            Recovered::Noted { attempt, from } => {
                machine.begin_write(Write {
                    mark: Some(from),
                    recovered: true,
                    // In eager mode nobody knows whether it was at work then, so its being at work proves nothing.
                    while_busy: eager == Eager::WhileBusy,
                    ..Write::new(Text::Ours(attempt))
                });
                machine.enter(Stage::Written(attempt), now);
            }
            Recovered::Taken { attempt, at } => {
                machine.begin_write(Write { taken_at: Some(at), ..Write::new(Text::Ours(attempt)) });
                machine.open = Some(OpenTurn { attempt: Some(attempt) });
            }
        }
        machine
    }
}
