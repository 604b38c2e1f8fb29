//! When a program has ended.
//!
//! A process that was reaped may have output under way, and an output that ended may have a process that lives on.
//! [`EndRule`] is told of both and says once when the end can be reported: everything printed before it is in the
//! log then.

use std::time::Duration;

use crate::{Exit, Moment};

/// Quiet after which the output of a reaped program counts as drained although something still holds it open: 200 ms.
///
/// A background child that keeps the terminal or the pipe withholds end of file for as long as it lives, so the end
/// cannot wait for that. What the program itself printed is in the kernel when it is reaped and arrives within
/// scheduling delays, of some milliseconds even on a busy machine; relayed output (docker, ssh) takes up to some 100 ms.
/// Longer would only delay the report of every program that leaves a child behind.
pub const DRAIN_GRACE: Duration = Duration::from_millis(200);

/// Quiet after which output that is still open counts as drained although no descendant of the program lives: 1 s.
///
/// Nobody is known to hold it, so end of file is under way, and the last bytes may be: a relay (docker, a sandbox's
/// gateway) delivers them up to half a second after the exit was visible. Only a holder that is no descendant, one that
/// was sent the descriptor, makes anybody wait this long.
pub const IN_FLIGHT_GRACE: Duration = Duration::from_secs(1);

/// How long after the exit surviving descendants can put off the report by printing on: 5 s.
///
/// Without it, a background child that prints more often than every [`DRAIN_GRACE`] would hide the exit for as long as
/// it lives. It applies only while descendants live, who can be printing. What they print after the report goes to the
/// log all the same.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndStep {
    /// Nothing yet: look again at this moment, or when something happens.
    Wait(Option<Moment>),
    /// Seal the log and report this end. Given once.
    Seal(Exit),
}

/// The rule of the end: reaped, *and* end of file or quiet after the last byte and the exit, for [`DRAIN_GRACE`] when a
/// descendant lives that can hold the output, for [`IN_FLIGHT_GRACE`] when none does.
///
/// Output that closed while the process lives ends nothing: a daemon that gave up its stdio keeps running, can be
/// signalled and has its exit reported when it is reaped. A process that was reaped while output still comes ends
/// nothing either, until its output drained.
///
/// # Invariants
/// 1. No seal before [`EndRule::exited`], and none with another exit than the first one given there.
/// 2. At most one seal.
/// 3. No seal while output is open and its last byte is younger than the grace, but for [`DRAIN_LIMIT`].
#[derive(Debug, Clone, Default)]
pub struct EndRule {
    exit: Option<(Exit, Moment)>,
    last_output: Option<Moment>,
    output: Output,
    report: Report,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Output {
    #[default]
    Open,
    Closed,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Report {
    #[default]
    Due,
    Done,
}

impl EndRule {
    /// The rule for a program that runs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The rule for a program whose end was reported before, by whoever watched it then.
    #[must_use]
    pub fn reported(exit: Exit, now: Moment) -> Self {
        Self { exit: Some((exit, now)), report: Report::Done, ..Self::default() }
    }

    /// Bytes of output arrived and are in the log.
    pub fn output(&mut self, now: Moment) {
        self.last_output = self.last_output.max(Some(now));
    }

    /// End of file: no byte can follow. Never to be called for "no data yet".
    pub fn output_closed(&mut self) {
        self.output = Output::Closed;
    }

    /// The process was reaped. The first end given stands.
    pub fn exited(&mut self, exit: Exit, now: Moment) {
        self.exit.get_or_insert((exit, now));
    }

    /// Whether the process was reaped, reported or not.
    #[must_use]
    pub const fn is_reaped(&self) -> bool {
        self.exit.is_some()
    }

    /// What is to be done at `now`, while `descendants` of the program live.
    ///
    /// Quiet is only quiet when somebody listens: look after reading what was there, and not while reading is held up
    /// (a full disk).
    pub fn look(&mut self, now: Moment, descendants: u32) -> EndStep {
        if self.report == Report::Done {
            return EndStep::Wait(None);
        }
        let Some((exit, reaped)) = &self.exit else { return EndStep::Wait(None) };
        if self.output == Output::Open {
            let last = self.last_output.map_or(*reaped, |last| last.max(*reaped));
            let drained = match descendants {
                0 => last + IN_FLIGHT_GRACE,
                _ => (last + DRAIN_GRACE).min(*reaped + DRAIN_LIMIT),
            };
            if now < drained {
                return EndStep::Wait(Some(drained));
            }
        }
        self.report = Report::Done;
        EndStep::Seal(Exit { descendants, ..exit.clone() })
    }
}

#[cfg(test)]
mod tests;
