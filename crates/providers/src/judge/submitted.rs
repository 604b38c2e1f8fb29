//! Texts that left the composer.

use std::time::Duration;

use ptyard_core::Moment;
use ptyard_core::turn::Keys;

use super::Composer;
use crate::manifest::Ready;
use crate::rules::rows::Rows;

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
    /// Something stood in it, be it only in a few words of the program's.
    had_text: bool,
    /// Keys that submit were typed while it stood there.
    entered: bool,
    /// Keys that remove something were typed since it was seen there last.
    edited: bool,
    /// How often it stood outside of the composer while it stood in it.
    before: usize,
    gone_at: Option<Moment>,
    /// Since when a composer is seen, after that.
    seen_since: Option<Moment>,
    is_in_transcript: bool,
}

impl Submitted {
    /// The composer of the next frame that differs from the one before.
    pub(super) fn frame(&mut self, composer: &Composer, rows: &Rows, now: Moment) {
        match composer {
            Composer::Text(text) => {
                let probe: String = text.chars().filter(|c| c.is_alphanumeric()).take(PROBE).collect();
                let before = count(rows, &probe).saturating_sub(1);
                *self = Self { probe, had_text: true, entered: self.entered, before, ..Self::default() };
            }
            Composer::Folded => *self = Self { had_text: true, entered: self.entered, ..Self::default() },
            // Whoever removed it did not submit it.
            Composer::Empty if self.had_text && self.edited && !self.entered => *self = Self::default(),
            Composer::Empty if self.had_text => {
                self.gone_at.get_or_insert(now);
                self.seen_since.get_or_insert(now);
            }
            Composer::Unseen if self.gone_at.is_some() => self.seen_since = None,
            Composer::Empty | Composer::Unseen => {}
        }
        if *composer == Composer::Empty && !self.probe.is_empty() && count(rows, &self.probe) > self.before {
            self.is_in_transcript = true;
            self.probe.clear();
        }
    }

    /// Somebody typed this. Keys that are not told of here (at a pane elsewhere, say) leave it open what became of a text.
    pub(super) fn typed(&mut self, keys: Keys) {
        if self.had_text && self.gone_at.is_none() {
            self.entered |= keys == Keys::Submit;
            self.edited |= keys == Keys::Edit;
        }
    }

    /// It is worked on, or asked about.
    pub(super) fn taken_up(&mut self) {
        *self = Self::default();
    }

    /// Until when work is expected, though none is seen. A text in the transcript has as long as work may take to show;
    /// one that stands nowhere has less, for it may have been deleted: from when a composer is seen, since a program that
    /// opens a conversation first clears its screen.
    pub(super) fn until(&self, ready: &Ready) -> Option<Moment> {
        let gone_at = self.gone_at?;
        if self.is_in_transcript {
            return Some(gone_at + Duration::from_millis(ready.unseen_work_ms));
        }
        // While no composer is seen nothing looks ready.
        Some(self.seen_since? + Duration::from_millis(ready.on_its_way_ms))
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
