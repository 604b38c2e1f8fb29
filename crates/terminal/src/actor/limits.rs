//! Limits in time, and what becomes of a program that reached a limit.

use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::{Exit, Limit, Moment};

use super::{Actor, KilledBy};
use crate::activity::IdleSince;
use crate::observed::TerminalEvent;

/// How long a program that reached a limit has to leave by itself: that of a kill nobody gave another grace.
const GRACE: Duration = Duration::from_secs(2);

/// The limits in time of one terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeLimits {
    /// When its time is up.
    pub wall: Option<Moment>,
    /// How long it may be idle: no output, and nothing typed by a caller.
    pub idle: Option<Duration>,
}

/// What the actor knows about them.
///
/// # Invariants
/// 1. `idle_look` is never later than the moment at which the program will have been idle for too long. It may be
///    earlier: output does not move it, so that a flood costs nothing.
pub(super) struct LimitWatch {
    limits: TimeLimits,
    /// When something was typed last, or the watch began.
    typed: Moment,
    idle_look: Option<Moment>,
    /// Whether a note of the idleness lies beside the log.
    noted: bool,
    struck: Option<Limit>,
}

impl LimitWatch {
    pub(super) fn new(limits: TimeLimits, now: Moment) -> Self {
        let idle_look = limits.idle.map(|idle| now + idle);
        Self { limits, typed: now, idle_look, noted: false, struck: None }
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        if self.struck.is_some() {
            return None;
        }
        self.limits.wall.into_iter().chain(self.idle_look).min()
    }
}

impl Actor {
    /// Begins to watch, or goes on where an earlier server stopped.
    pub(super) fn watch_limits(&mut self, limits: TimeLimits) {
        let now = self.clock.now();
        self.limits = LimitWatch::new(limits, now);
        let Some(idle) = limits.idle else { return };
        let noted = IdleSince::of(self.reader.dir()).filter(|noted| noted.end == self.now.end);
        if let Some(noted) = noted {
            self.limits.typed = self.clock.at_boot(noted.since_boot);
            self.now.last_output = self.now.last_output.map(|_| self.limits.typed);
            self.limits.idle_look = Some(self.limits.typed + idle);
            self.limits.noted = true;
        } else {
            self.note_idle(now);
        }
    }

    /// Something is about to be typed.
    pub(super) fn typed(&mut self) {
        self.limits.typed = self.clock.now();
        if std::mem::take(&mut self.limits.noted)
            && let Err(error) = IdleSince::forget(self.reader.dir())
        {
            tracing::warn!(%error, "a restart of the server could end a program as idle too early");
        }
    }

    /// Ends the program when it has reached a limit.
    pub(super) fn poll_limits(&mut self, cx: &mut Context<'_>, now: Moment) {
        if self.limits.struck.is_some() || self.end.is_reaped() || self.closing {
            self.limits.wall_and_idle_are_over();
            return;
        }
        if let Some(limit) = self.reached(cx, now) {
            self.limits.struck = Some(limit);
            self.observer.event(TerminalEvent::LimitReached(limit));
            self.kill(GRACE, KilledBy(limit.by()), None);
        }
    }

    /// The memory's limit is held by the kernel: it shows in the end.
    pub(super) fn limits_saw(&mut self, exit: &Exit) {
        if exit.by.as_deref() == Some(Limit::Memory.by()) && self.limits.struck.is_none() {
            self.limits.struck = Some(Limit::Memory);
            self.observer.event(TerminalEvent::LimitReached(Limit::Memory));
        }
    }

    fn reached(&mut self, cx: &mut Context<'_>, now: Moment) -> Option<Limit> {
        if let Poll::Ready(limit) = self.control.poll_ceiling(cx) {
            return Some(limit);
        }
        if self.limits.limits.wall.is_some_and(|wall| wall <= now) {
            return Some(Limit::Wall);
        }
        let idle = self.limits.limits.idle?;
        if self.limits.idle_look.is_none_or(|look| now < look) {
            return None;
        }
        // While the log holds the program back, it cannot print: that is not idleness.
        let active = if self.held_back.is_some() {
            now
        } else {
            self.now.last_output.map_or(self.limits.typed, |output| output.max(self.limits.typed))
        };
        if active + idle <= now {
            return Some(Limit::Idle);
        }
        self.limits.idle_look = Some(active + idle);
        self.note_idle(active);
        None
    }

    fn note_idle(&mut self, since: Moment) {
        let note = IdleSince { since_boot: self.clock.since_boot(since), end: self.now.end };
        match note.note(self.reader.dir()) {
            Ok(()) => self.limits.noted = true,
            Err(error) => tracing::debug!(%error, "a restart of the server counts idleness from zero"),
        }
    }
}

impl LimitWatch {
    fn wall_and_idle_are_over(&mut self) {
        self.limits = TimeLimits::default();
        self.idle_look = None;
    }
}
