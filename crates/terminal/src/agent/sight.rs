//! What a screen tells of a text that was pasted.

use ptyard_core::turn::{AttemptId, Sight};
use ptyard_screen::View;

use super::judge::Composer;
use super::note::Before;

/// Most characters of a text that are looked for on the screen: enough to tell texts apart, and what a narrow composer
/// shows of a line.
const PROBE_CHARS: usize = 24;

/// Fewest letters and digits that say anything: shorter texts appear by chance.
const PROBE_MIN: usize = 8;

/// A text that is being handed over.
#[derive(Debug, Clone)]
pub(crate) struct Pasted {
    attempt: AttemptId,
    /// All letters and digits of the text.
    letters: String,
    /// The first of them, to be looked for; `None` when there are too few.
    probe: Option<String>,
    /// How often the probe stood on the screen before the paste.
    before: usize,
    /// The paste was written, so what stands in the composer can be it.
    written: bool,
    /// Whether all of it was written is not known: what is cut may be all there is.
    may_be_cut: bool,
    /// What is seen folded in the composer is this text.
    folds: bool,
}

impl Pasted {
    pub(crate) fn new(attempt: AttemptId, text: &str) -> Self {
        let letters = letters(text);
        let probe: String = letters.chars().take(PROBE_CHARS).collect();
        let probe = (probe.chars().count() >= PROBE_MIN).then_some(probe);
        Self { attempt, letters, probe, before: 0, written: false, may_be_cut: false, folds: true }
    }

    /// The same for an attempt of an earlier server. When it is not known how often the text stood on the screen then,
    /// seeing it outside the composer proves nothing.
    pub(crate) fn recovered(attempt: AttemptId, text: &str, seen: Before) -> Self {
        let before = seen.shown.map_or(usize::MAX, |shown| shown as usize);
        Self { before, written: true, may_be_cut: true, folds: seen.folds, ..Self::new(attempt, text) }
    }

    /// How often the text stands on the screen, if it can be told from others.
    pub(crate) fn shown(&self, view: Option<&View>) -> Option<u32> {
        self.probe.as_ref()?;
        u32::try_from(self.count(view?)).ok()
    }

    /// The screen right before the paste.
    pub(crate) fn begins(&mut self, view: Option<&View>) {
        self.before = view.map_or(0, |view| self.count(view));
        self.written = true;
    }

    /// What is seen of it.
    pub(crate) fn sight(&self, composer: &Composer, view: &View) -> Sight {
        match composer {
            Composer::Folded if self.written && self.folds => Sight::Ours(self.attempt),
            Composer::Text(text) if self.written && self.is_in(text) => Sight::Ours(self.attempt),
            Composer::Empty if self.written && self.count(view) > self.before => {
                Sight::Submitted(self.attempt)
            }
            composer => plain(composer),
        }
    }

    /// Whether a prompt that was submitted is this text: all of it, behind whatever stood in the composer before.
    pub(crate) fn is_prompt(&self, prompt: &str) -> bool {
        let prompt = letters(prompt);
        let may_be_found = self.letters.chars().count() >= PROBE_MIN;
        self.written && (prompt == self.letters || may_be_found && prompt.contains(&self.letters))
    }

    /// The attempt.
    pub(crate) const fn attempt(&self) -> AttemptId {
        self.attempt
    }

    /// Whether `shown` is this text or what a composer shows of it: long texts are cut, wrapped or scrolled.
    fn is_in(&self, shown: &str) -> bool {
        let shown = letters(shown);
        if shown.is_empty() || self.letters.is_empty() {
            return shown == self.letters;
        }
        if shown == self.letters || self.may_be_cut {
            return shown == self.letters;
        }
        (shown.chars().count() >= PROBE_MIN && self.letters.contains(&shown))
            || self.probe.as_ref().is_some_and(|probe| shown.contains(probe.as_str()))
    }

    fn count(&self, view: &View) -> usize {
        let Some(probe) = &self.probe else { return 0 };
        let text: String = view.screen_lines().iter().map(|line| letters(&line.text)).collect();
        text.matches(probe.as_str()).count()
    }
}

/// What a composer tells when no text of ours is under way.
pub(crate) fn plain(composer: &Composer) -> Sight {
    match composer {
        Composer::Unseen => Sight::Unseen,
        Composer::Empty => Sight::Empty,
        Composer::Text(_) | Composer::Folded => Sight::Draft,
    }
}

/// Letters and digits: what no wrapping, indenting or framing changes.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}
