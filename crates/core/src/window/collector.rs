//! The machine behind a window.

use super::watch::{Age, Watch};
use super::{Collected, Condition, EndedBy, Step};
use crate::truncate::{Truncated, Truncator};
use crate::utf8::{Decoder, Sink};
use crate::{Exit, Moment};

/// What a window is to be.
#[derive(Debug, Clone)]
pub struct CollectorSpec {
    /// The cursor: log offset of the first byte of the window.
    pub from: u64,
    /// Log offset from which output counts as new for `quiet`, `regex` and `prompt`: the end of the log when the input
    /// was written. A position, not a time, so output that was under way is never taken for an answer. At least
    /// `from`; less means `from`.
    pub mark: u64,
    /// Most tokens of text, zero and below for none; `None` for no cap.
    pub cap_tokens: Option<i64>,
    /// What ends the window besides the program's end and the deadline.
    pub conditions: Vec<Condition>,
    /// What `quiet` asks for.
    pub quiet_after: QuietAfter,
    /// When the window was opened.
    pub started: Moment,
    /// When it ends if nothing else ends it.
    pub deadline: Option<Moment>,
}

/// What must come before a [`Condition::Quiet`] can hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QuietAfter {
    /// New output, then silence: an answer and its end.
    #[default]
    NewOutput,
    /// Only silence, which may have begun before: for who waits until a terminal is at rest.
    Anything,
}

/// Collects a window from the bytes of a log.
///
/// The driver feeds bytes in order from [`Collector::position`] on, tells what else happens, and asks
/// [`Collector::step`] after each; it feeds all that the log has before it steps.
///
/// Which end is told when several hold: first what the output meets (`regex`, `prompt`), since output comes before the
/// exit; then the exit; then `status`; then `quiet` or the deadline, whichever was due first. So the answer does not
/// depend on how late the driver woke up.
///
/// # Invariants
/// 1. Every byte in `from..position` was decoded once or is counted in `evicted`; the decoder holds back at most the last
///    three, and `next` is `position` without those.
/// 2. Bytes after a known sealed end are not taken.
/// 3. Once [`Step::Done`] was given, every later step gives the same.
#[derive(Debug, Clone)]
pub struct Collector {
    from: u64,
    mark: u64,
    position: u64,
    evicted: u64,
    deadline: Option<Moment>,
    last_output: Moment,
    decoder: Decoder,
    truncator: Truncator,
    watch: Watch,
    quiet_after: QuietAfter,
    seal: Option<(Exit, u64)>,
    ended: Option<EndedBy>,
}

impl Collector {
    /// A window that has nothing in it yet.
    #[must_use]
    pub fn new(spec: CollectorSpec) -> Self {
        Self {
            from: spec.from,
            mark: spec.mark.max(spec.from),
            position: spec.from,
            evicted: 0,
            deadline: spec.deadline,
            last_output: spec.started,
            decoder: Decoder::new(),
            truncator: Truncator::new(spec.cap_tokens),
            watch: Watch::new(spec.conditions),
            quiet_after: spec.quiet_after,
            seal: None,
            ended: None,
        }
    }

    /// Log offset of the next byte to feed.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Takes the bytes at offset `at`, the last of which arrived at `arrived`, or as near as is known.
    ///
    /// Bytes that were taken before are passed over; bytes missing before `at` are a [`Collector::gap`].
    pub fn bytes(&mut self, at: u64, data: &[u8], arrived: Moment) {
        self.gap(at);
        let taken_before = usize::try_from(self.position.saturating_sub(at)).unwrap_or(usize::MAX);
        let data = data.get(taken_before..).unwrap_or_default();
        let data = &data[..limited(data.len(), self.sealed_end().saturating_sub(self.position))];
        if data.is_empty() {
            return;
        }
        let (old, new) = data.split_at(limited(data.len(), self.mark.saturating_sub(self.position)));
        for (bytes, age) in [(old, Age::Old), (new, Age::New)] {
            self.decoder
                .feed(bytes, &mut Fan { truncator: &mut self.truncator, watch: &mut self.watch, age });
        }
        self.position += data.len() as u64;
        self.last_output = arrived;
        self.check();
    }

    /// There are bytes up to offset `to`, and nobody wants their text: no cap to fill, no pattern to match.
    pub fn pass(&mut self, to: u64) {
        self.position = self.position.max(to.min(self.sealed_end()));
    }

    /// The bytes up to offset `to` were evicted: they are counted, and a held prefix can no longer be completed.
    pub fn gap(&mut self, to: u64) {
        let to = to.min(self.sealed_end());
        if to > self.position {
            self.flush();
            self.watch.gap();
            self.evicted += to - self.position;
            self.position = to;
            self.check();
        }
    }

    /// The shell showed a prompt, and the last byte of its marker lies before log offset `end`.
    ///
    /// A prompt counts when its end is after the mark. It ends the window once the bytes up to it were taken.
    pub fn prompt_at(&mut self, end: u64) {
        if end > self.mark {
            self.watch.prompt_at(end);
        }
    }

    /// The last byte in the log arrived at this moment, for `quiet`. Replaces what [`Collector::bytes`] said.
    pub const fn last_output(&mut self, arrived: Moment) {
        self.last_output = arrived;
    }

    /// The program ended, and all it printed lies before `log_end`. The first end given stands.
    pub fn sealed(&mut self, exit: Exit, log_end: u64) {
        self.seal.get_or_insert((exit, log_end));
    }

    /// The terminal has this status. Only a status judged from output after the mark is to be told.
    pub fn status(&mut self, name: &str) {
        self.watch.status(name);
    }

    /// What is to be done at `now`.
    pub fn step(&mut self, now: Moment) -> Step {
        if let Some(ended_by) = self.ended {
            return Step::Done(ended_by);
        }
        let by_event = self.watch.met_by_output(self.position).or_else(|| {
            let ended = self.exit().is_some().then_some(EndedBy::Exit);
            ended.or_else(|| self.watch.has_status().then_some(EndedBy::Status))
        });
        let may_be_quiet = self.position > self.mark || self.quiet_after == QuietAfter::Anything;
        let quiet_at = self.watch.quiet().filter(|_| may_be_quiet).map(|ms| self.last_output + ms);
        // Of equal moments the first counts: the condition, not the deadline.
        let next_moment = [(quiet_at, EndedBy::Quiet), (self.deadline, EndedBy::Deadline)]
            .into_iter()
            .filter_map(|(moment, ended_by)| moment.map(|moment| (moment, ended_by)))
            .min_by_key(|(moment, _)| *moment);
        let by_time = next_moment.filter(|(moment, _)| *moment <= now).map(|(_, ended_by)| ended_by);

        self.ended = by_event.or(by_time);
        match self.ended {
            Some(ended_by) => Step::Done(ended_by),
            None => Step::Wait { until: next_moment.map(|(moment, _)| moment) },
        }
    }

    /// The window. At the program's end a held prefix becomes U+FFFD first, so that the cut and the count cover it.
    ///
    /// A window that did not end by itself is as one that its deadline ended.
    #[must_use]
    pub fn finish(mut self) -> Collected {
        let exit = self.exit().cloned();
        if exit.is_some() {
            self.flush();
        }
        let otherwise = if exit.is_some() { EndedBy::Exit } else { EndedBy::Deadline };
        let ended_by = self.ended.unwrap_or(otherwise);
        let Truncated { text, original_token_count } = self.truncator.finish();
        Collected {
            text,
            original_token_count,
            from: self.from,
            next: self.position - self.decoder.held() as u64,
            evicted: self.evicted,
            ended_by,
            exit,
            matched: self.watch.into_matched().filter(|_| ended_by == EndedBy::Regex),
        }
    }

    /// The end, once every byte before it was taken.
    fn exit(&self) -> Option<&Exit> {
        self.seal.as_ref().filter(|(_, end)| self.position >= *end).map(|(exit, _)| exit)
    }

    fn sealed_end(&self) -> u64 {
        self.seal.as_ref().map_or(u64::MAX, |(_, end)| *end)
    }

    /// Gives up on a held prefix.
    fn flush(&mut self) {
        let age = if self.position > self.mark { Age::New } else { Age::Old };
        self.decoder.finish(&mut Fan { truncator: &mut self.truncator, watch: &mut self.watch, age });
    }

    fn check(&self) {
        debug_assert!(self.from + self.evicted <= self.position, "invariant 1");
        debug_assert!(
            self.position - self.from - self.evicted >= self.decoder.held() as u64,
            "invariant 1: held bytes are bytes of this window"
        );
    }
}

/// Decoded text goes to the display and to the conditions.
struct Fan<'a> {
    truncator: &'a mut Truncator,
    watch: &'a mut Watch,
    age: Age,
}

impl Sink for Fan<'_> {
    fn text(&mut self, text: &str) {
        self.truncator.push(text);
        self.watch.text(text, self.age);
    }
}

/// `len`, at most `limit`.
fn limited(len: usize, limit: u64) -> usize {
    usize::try_from(limit).map_or(len, |limit| len.min(limit))
}

#[cfg(test)]
mod tests;
