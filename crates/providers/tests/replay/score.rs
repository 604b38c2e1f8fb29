//! How well a timeline follows the truth.

use ptyard_core::turn::Status;
use ptyard_providers::Change;

use crate::scenes::Mark;

/// The truth's own uncertainty around each of its changes, in seconds.
const EDGE: f64 = 0.3;

/// Ready for longer than this while the truth is not, in seconds, is a false ready.
const FALSE_READY: f64 = 0.05;

/// How late ready may be seen, in seconds, beside that uncertainty.
pub(crate) const LATE: f64 = 0.3;

/// How far the clock goes for one sample, in seconds.
const STEP: f64 = 0.02;

/// How well a timeline follows the truth.
#[derive(Debug)]
pub(crate) struct Score {
    /// The part of the time in which both agree, where the truth is ready, busy or blocked.
    pub(crate) agreement: f64,
    /// Moments of ready while the truth is busy or blocked.
    pub(crate) false_ready: usize,
    /// The longest delay until ready is seen, in seconds.
    pub(crate) ready_late: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Ready,
    Busy,
    Blocked,
    Other,
}

impl Score {
    pub(crate) fn of(timeline: &[Change], truth: &[Mark]) -> Self {
        let found: Vec<(f64, Class)> = timeline
            .iter()
            .map(|change| (change.at.since_epoch().as_secs_f64(), of_status(change.evidence.status)))
            .collect();
        let truth: Vec<(f64, Class, bool)> =
            truth.iter().map(|mark| (mark.t, of_word(&mark.status), is_end(&mark.status))).collect();
        let end = truth
            .iter()
            .find(|(_, _, is_end)| *is_end)
            .map_or_else(|| truth.last().map_or(0.0, |(t, ..)| t + 1.0), |(t, ..)| *t);
        let (mut good, mut total, mut false_ready, mut run) = (0.0, 0.0, 0, 0.0);
        let mut t = truth.first().map_or(0.0, |(t, ..)| *t);
        while t < end {
            let wanted = truth.iter().rev().find(|(at, ..)| *at <= t).map_or(Class::Other, |found| found.1);
            let got = at(&found, t);
            if truth.iter().any(|(change, ..)| (t - change).abs() <= EDGE) {
                run = 0.0;
            } else {
                if wanted != Class::Other {
                    total += STEP;
                    good += if wanted == got { STEP } else { 0.0 };
                }
                let is_false = got == Class::Ready && matches!(wanted, Class::Busy | Class::Blocked);
                run = if is_false { run + STEP } else { 0.0 };
                if run > FALSE_READY && run - STEP <= FALSE_READY {
                    false_ready += 1;
                }
            }
            t += STEP;
        }
        let agreement = if total > 0.0 { good / total } else { 1.0 };
        Self { agreement, false_ready, ready_late: late(&found, &truth, end) }
    }

    pub(crate) fn holds(&self, floor: f64) -> bool {
        self.agreement >= floor && self.false_ready == 0 && self.ready_late <= LATE + EDGE
    }
}

fn late(found: &[(f64, Class)], truth: &[(f64, Class, bool)], end: f64) -> f64 {
    let mut late: f64 = 0.0;
    for (index, (from, class, _)) in truth.iter().enumerate() {
        if *class != Class::Ready || *from >= end {
            continue;
        }
        let stop = truth.get(index + 1).map_or(end, |next| next.0);
        let moments = std::iter::once(*from).chain(found.iter().map(|(t, _)| *t).filter(|t| t > from));
        match moments.into_iter().find(|t| at(found, *t) == Class::Ready) {
            Some(seen) if seen <= stop => late = late.max(seen - from),
            _ if stop - from > 2.0 * EDGE => late = late.max(stop - from),
            _ => {}
        }
    }
    late
}

fn at(timeline: &[(f64, Class)], t: f64) -> Class {
    timeline.iter().rev().find(|(at, _)| *at <= t).map_or(Class::Other, |(_, class)| *class)
}

fn of_status(status: Status) -> Class {
    match status {
        Status::Idle | Status::Completed => Class::Ready,
        Status::Processing => Class::Busy,
        Status::WaitingUserAnswer => Class::Blocked,
        _ => Class::Other,
    }
}

fn of_word(word: &str) -> Class {
    match word {
        "idle" | "completed" => Class::Ready,
        "processing" => Class::Busy,
        "waiting_user" | "dialog" => Class::Blocked,
        _ => Class::Other,
    }
}

fn is_end(word: &str) -> bool {
    matches!(word, "exiting" | "exited" | "killed")
}
