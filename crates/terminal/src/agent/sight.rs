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
    /// How often it stood on the screen before the paste.
    before: Counts,
    /// The paste was written, so what stands in the composer can be it.
    written: bool,
    /// Whether all of it was written is not known: what is cut may be all there is.
    may_be_cut: bool,
    /// What is seen folded in the composer is this text.
    folds: bool,
}

/// How often a text stands on a screen.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// As much of it as is shown: all of it, or its beginning where the rest is cut off, at the end of a row, before a
    /// gap, a frame or dots. What goes on otherwise is another text.
    beginning: usize,
    /// All of it.
    whole: usize,
}

impl Counts {
    const fn is_more_than(self, before: Self) -> bool {
        self.beginning > before.beginning || self.whole > before.whole
    }

    fn or_more(self, other: Self) -> Self {
        Self { beginning: self.beginning.max(other.beginning), whole: self.whole.max(other.whole) }
    }

    /// How often `text`, which begins with `probe`, stands in these rows.
    fn of<'a>(text: &str, probe: &str, rows: impl Iterator<Item = &'a str>) -> Self {
        let (mut shown, mut cuts) = (String::new(), Vec::new());
        for row in rows {
            let mut before = ' ';
            for c in row.chars() {
                if c.is_alphanumeric() {
                    shown.push(c);
                } else if !c.is_ascii() || (c, before) == (' ', ' ') {
                    cuts.push(shown.len());
                }
                before = c;
            }
            cuts.push(shown.len());
        }
        let mut counts = Self::default();
        for (at, _) in shown.match_indices(probe) {
            let alike = shown[at..].bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
            let is_whole = alike == text.len();
            counts.whole += usize::from(is_whole);
            counts.beginning += usize::from(is_whole || cuts.binary_search(&(at + alike)).is_ok());
        }
        counts
    }
}

impl Pasted {
    pub(crate) fn new(attempt: AttemptId, text: &str) -> Self {
        let letters = letters(text);
        let probe: String = letters.chars().take(PROBE_CHARS).collect();
        let probe = (probe.chars().count() >= PROBE_MIN).then_some(probe);
        Self {
            attempt,
            letters,
            probe,
            before: Counts::default(),
            written: false,
            may_be_cut: false,
            folds: true,
        }
    }

    /// The same for an attempt of an earlier server. When it is not known how often the text stood on the screen then,
    /// seeing it outside the composer proves nothing.
    pub(crate) fn recovered(attempt: AttemptId, text: &str, seen: Before) -> Self {
        let count = |seen: Option<u32>| seen.map_or(usize::MAX, |seen| seen as usize);
        let before = Counts { beginning: count(seen.shown), whole: count(seen.whole) };
        Self { before, written: true, may_be_cut: true, folds: seen.folds, ..Self::new(attempt, text) }
    }

    /// The screen before the paste, for whoever recovers it: how often the text stands there, if it can be told from
    /// others.
    pub(crate) fn before(&self, view: Option<&View>) -> Before {
        let counts = self.probe.as_ref().and(view).map(|view| self.counts(view));
        let count = |count: usize| u32::try_from(count).ok();
        Before {
            shown: counts.and_then(|counts| count(counts.beginning)),
            whole: counts.and_then(|counts| count(counts.whole)),
            folds: false,
        }
    }

    /// The screen right before the paste.
    pub(crate) fn begins(&mut self, view: Option<&View>) {
        self.before = view.map_or(Counts::default(), |view| self.counts(view));
        self.written = true;
    }

    /// The screen between the paste and its Enter: what stands beside an empty composer is from before, drawn late. A
    /// program may say that it is ready before it has drawn all of its answer.
    pub(crate) fn waits_for_enter(&mut self, composer: &Composer, view: &View) {
        if *composer == Composer::Empty {
            self.before = self.before.or_more(self.counts(view));
        }
    }

    /// What is seen of it.
    pub(crate) fn sight(&self, composer: &Composer, view: &View) -> Sight {
        match composer {
            Composer::Folded if self.written && self.folds => Sight::Ours(self.attempt),
            Composer::Text(text) if self.written && self.is_in(text) => Sight::Ours(self.attempt),
            Composer::Empty if self.written && self.counts(view).is_more_than(self.before) => {
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

    fn counts(&self, view: &View) -> Counts {
        let Some(probe) = &self.probe else { return Counts::default() };
        let rows = view.screen_lines();
        Counts::of(&self.letters, probe, rows.iter().map(|row| row.text.as_str()))
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Compare the totals of last year with those of June";

    fn counts(rows: &[&str]) -> (usize, usize) {
        let text = letters(TEXT);
        let probe: String = text.chars().take(PROBE_CHARS).collect();
        let counts = Counts::of(&text, &probe, rows.iter().copied());
        (counts.beginning, counts.whole)
    }

    #[test]
    fn a_text_is_found_whole_wherever_it_wraps() {
        assert_eq!(counts(&["> Compare the totals of last", "│ year with those of June  │ 3 files"]), (1, 1));
        assert_eq!(counts(&[&format!("> {TEXT}"), &format!("• You said: {TEXT}.")]), (2, 2));
    }

    #[test]
    fn a_text_is_found_where_the_rest_is_cut_off() {
        assert_eq!(counts(&["> Compare the totals of last yea", "* Thinking"]), (1, 0));
        assert_eq!(counts(&["> Compare the totals of last yea… (3 lines)"]), (1, 0));
        assert_eq!(counts(&["> Compare the totals of last yea │ 3 files"]), (1, 0));
        assert_eq!(counts(&["> Compare the totals of last yea   3 files"]), (1, 0));
    }

    #[test]
    fn a_text_that_begins_alike_and_goes_on_otherwise_is_another() {
        assert_eq!(counts(&["> Compare the totals of last year with those of May"]), (0, 0));
        assert_eq!(counts(&["> Compare the totals of last month"]), (0, 0));
    }
}
