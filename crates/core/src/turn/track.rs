//! What one source has said, and whether that covers the last write.

use super::attempt::AttemptId;
use super::event::Doubt;
use super::evidence::{Evidence, Position, Sight, Source};
use super::status::Status;
use crate::Moment;

/// What one source has said.
///
/// # Invariants
/// 1. The positions of `latest` never go back.
/// 2. `gone_at` is set only after `echo_at`, and not before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Track {
    /// The last thing it said.
    pub(super) latest: Option<Evidence>,
    /// Since when it says that status.
    pub(super) since: Moment,
    /// It kept silent while others went on: it is not believed until it moves.
    pub(super) is_silent: bool,
    /// Since the write began:
    pub(super) seen: SinceWrite,
}

/// What a source has said since the last write began.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct SinceWrite {
    /// Where the source was when the write began; for one without offsets, when its Enter was written.
    from: Option<Position>,
    /// Where it last said that the agent works.
    busy_at: Option<Position>,
    /// Where it last said that the agent asks something.
    asks_at: Option<Position>,
    /// Where it first showed the text in the composer. Nothing before the write can have shown it.
    echo_at: Option<Position>,
    /// Where it last showed, after that, that the text is not there any more.
    gone_at: Option<Position>,
    /// Where it named the text as submitted; for a source with offsets, the first place from after the Enter, once that
    /// is written.
    submitted_at: Option<Position>,
}

/// The write that evidence has to cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Write {
    /// Whose text it is.
    pub(super) text: Text,
    /// The end of the log right before the first Enter, once it was written.
    pub(super) mark: Option<u64>,
    /// The agent was at work when it was written, so that its being at work says nothing.
    pub(super) while_busy: bool,
    /// It is on record from before that the text was taken by the time the log was this long.
    pub(super) taken_at: Option<u64>,
    /// Enters pressed so far.
    pub(super) enters: u8,
    /// Somebody else typed since: an Enter of ours would submit their text too.
    pub(super) meddled: bool,
    /// Somebody else may have removed it from the composer since: that it is not there any more proves nothing.
    pub(super) edited: bool,
    /// It was written by a server that is gone: a look decides whether it is in doubt.
    pub(super) recovered: bool,
    /// It was reported as uncertain for this reason.
    pub(super) doubt: Option<Doubt>,
}

impl Write {
    /// A write that begins.
    pub(super) const fn new(text: Text) -> Self {
        Self {
            text,
            mark: None,
            while_busy: false,
            taken_at: None,
            enters: 0,
            meddled: false,
            edited: false,
            recovered: false,
            doubt: None,
        }
    }

    /// Whether what was seen there can be what the first Enter caused, as far as offsets tell.
    fn is_behind_enter(&self, at: Position) -> bool {
        at.offset().is_none_or(|offset| self.mark.is_some_and(|mark| offset > mark))
    }
}

/// Whose text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Text {
    /// Of this attempt.
    Ours(AttemptId),
    /// A person's.
    Human,
}

impl Text {
    fn is_seen_in(self, sight: Sight) -> bool {
        match self {
            Self::Ours(attempt) => sight == Sight::Ours(attempt),
            Self::Human => sight == Sight::Draft,
        }
    }
}

impl Track {
    /// Whether this can be the next thing it says: positions do not go back.
    pub(super) fn takes(&self, evidence: &Evidence) -> bool {
        self.latest.as_ref().is_none_or(|latest| !latest.position.is_after(evidence.position))
    }

    /// Takes what it says now.
    pub(super) fn hear(&mut self, evidence: Evidence, write: Option<Write>, now: Moment) {
        debug_assert!(self.takes(&evidence), "invariant 1: positions do not go back");
        let (status, at) = (evidence.status, evidence.position);
        if self.latest.as_ref().is_none_or(|latest| latest.status != status) {
            self.since = now;
            self.is_silent = false;
        }
        self.seen.note_status(status, at);
        if let Some(write) = write {
            self.seen.note_sight(evidence.sight, evidence.sight_at, status, write);
        }
        self.latest = Some(evidence);
    }

    /// A write begins: what was said so far does not cover it. One that is told late, with where its first byte stood,
    /// may have been answered already: what was said of the output behind that does.
    pub(super) fn begin_write(&mut self, mark: Option<u64>) {
        let is_answer =
            |at: &Position| matches!((at, mark), (Position::Offset(at), Some(mark)) if *at > mark);
        self.seen = SinceWrite {
            from: self.latest.as_ref().map(|latest| latest.position),
            busy_at: self.seen.busy_at.filter(is_answer),
            asks_at: self.seen.asks_at.filter(is_answer),
            ..SinceWrite::default()
        };
    }

    /// The first Enter was written. A source without offsets does not know the mark: what it said so far is from before.
    pub(super) fn enter_was_written(&mut self) {
        if let Some(at @ Position::Sequence(_)) = self.latest.as_ref().map(|latest| latest.position) {
            self.seen.from = Some(at);
        }
    }

    /// A person's draft was seen before it was submitted.
    pub(super) fn echoed(&mut self, at: Position) {
        self.seen.echo_at = Some(at);
    }

    /// Where this source first showed a state from after the write; `None` while everything it said may be older.
    ///
    /// * It named the text as submitted, and from after the Enter where it has offsets: what a screen shows before is drawn
    ///   late, of a text that is alike. Or
    /// * it reports states by itself, and reported from after the Enter that the agent works or asks: an agent that was
    ///   ready does not begin by itself. Or
    /// * it showed the text in the composer, which cannot be older than the paste, and from after the Enter and after
    ///   that showed it gone. A flicker of the screen shows no text of ours, so it proves nothing here.
    pub(super) fn cover(&self, source: Source, write: Write) -> Option<Position> {
        let seen = &self.seen;
        if let Some(at) = seen.submitted_at.filter(|at| write.is_behind_enter(*at)) {
            return Some(at);
        }
        if let Some(taken_at) = write.taken_at {
            let latest = self.latest.as_ref()?.position;
            return latest.offset().is_none_or(|offset| offset >= taken_at).then_some(latest);
        }
        let mark = write.mark?;
        let is_after_write = |at: &Position| match at {
            Position::Offset(offset) => *offset > mark,
            Position::Sequence(_) => seen.from.is_none_or(|from| at.is_after(from)),
        };
        let moved = match source {
            Source::Exit | Source::Screen => None,
            Source::Native | Source::Hook | Source::Title if write.while_busy => None,
            Source::Native | Source::Hook | Source::Title => {
                seen.busy_at.filter(is_after_write).or(seen.asks_at.filter(is_after_write))
            }
        };
        moved.or(seen.gone_at.filter(is_after_write))
    }

    /// Whether the text stands in the composer now.
    pub(super) fn shows(&self, attempt: AttemptId) -> bool {
        self.latest.as_ref().is_some_and(|latest| latest.sight == Sight::Ours(attempt))
    }
}

impl SinceWrite {
    fn note_status(&mut self, status: Status, at: Position) {
        match status {
            Status::Processing => self.busy_at = Some(at),
            Status::WaitingUserAnswer => self.asks_at = Some(at),
            _ => {}
        }
    }

    fn note_sight(&mut self, sight: Sight, at: Position, status: Status, write: Write) {
        if let (Sight::Submitted(named), Text::Ours(attempt)) = (sight, write.text)
            && named == attempt
            && self.submitted_at.is_none_or(|before| !write.is_behind_enter(before))
        {
            self.submitted_at = Some(at);
        }
        if write.text.is_seen_in(sight) {
            self.echo_at.get_or_insert(at);
            self.gone_at = None;
        } else if self.echo_at.is_some_and(|echo| at.is_after(echo)) {
            // At work the composer may be hidden, or hold what a person types behind us.
            let went_to_work = status == Status::Processing
                && matches!(sight, Sight::Unseen | Sight::Draft)
                && !write.while_busy;
            if !write.edited && (sight.is_clear() || went_to_work) {
                self.gone_at = Some(at);
            }
        }
        debug_assert!(
            self.gone_at.is_none() || self.echo_at.is_some(),
            "invariant 2: gone after it was there"
        );
    }
}
