//! Texts that left the composer.

use std::time::Duration;

use ptyard_core::Moment;

use super::Composer;
use crate::rules::rows::Rows;

/// How long a text that left the composer and stands nowhere may be on its way to the transcript: 600 ms. The slowest
/// program that was recorded took 320 ms. A text that was merely deleted looks the same, so this is short.
const ON_ITS_WAY: Duration = Duration::from_millis(600);

/// Most letters that are looked for.
const PROBE: usize = 24;

/// Fewest letters that say anything: shorter texts stand anywhere.
const LEAST: usize = 8;

/// Notices that a text was submitted: it stood in the composer and does not any more.
///
/// What was submitted is going to be worked on, whatever the screen shows for the next moment: the signs of work come a
/// few frames later. When it is seen in the transcript, that is certain.
#[derive(Debug, Clone, Default)]
pub(super) struct Submitted {
    probe: String,
    /// How often it stood outside of the composer while it stood in it.
    before: usize,
    gone_at: Option<Moment>,
    is_in_transcript: bool,
    /// It stood there folded, so that it will not be known in the transcript.
    was_folded: bool,
}

impl Submitted {
    /// The composer of the next frame.
    pub(super) fn frame(&mut self, composer: &Composer, rows: &Rows, now: Moment) {
        match composer {
            Composer::Text(text) => {
                let probe: String = text.chars().filter(|c| c.is_alphanumeric()).take(PROBE).collect();
                self.before = count(rows, &probe).saturating_sub(1);
                *self = Self { probe, before: self.before, ..Self::default() };
            }
            Composer::Folded => *self = Self { was_folded: true, ..Self::default() },
            Composer::Empty if self.was_folded || !self.probe.is_empty() => {
                self.gone_at.get_or_insert(now);
                if !self.was_folded && count(rows, &self.probe) > self.before {
                    self.is_in_transcript = true;
                    self.probe.clear();
                }
            }
            Composer::Empty | Composer::Unseen => {}
        }
    }

    /// It is worked on, or asked about.
    pub(super) fn taken_up(&mut self) {
        *self = Self::default();
    }

    /// Until when work is expected, though none is seen; `work_is_due` is how long it may take to show.
    pub(super) fn until(&self, work_is_due: Duration) -> Option<Moment> {
        let due = if self.is_in_transcript { work_is_due } else { ON_ITS_WAY };
        self.gone_at.map(|at| at + due)
    }
}

fn count(rows: &Rows, probe: &str) -> usize {
    if probe.chars().count() < LEAST {
        return 0;
    }
    let mut letters = String::new();
    for at in 0..rows.len() {
        letters.extend(rows.text(at).chars().filter(|c| c.is_alphanumeric()));
    }
    letters.matches(probe).count()
}
