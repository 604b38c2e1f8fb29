//! What is to be done now.

use jiff_02::Timestamp;

use super::schedule::Schedule;

/// Missed runs are counted up to here, then said to be more.
pub const MOST_MISSED: usize = 1_000;

/// What a flow has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Nothing before this moment; `None` is never again.
    Later(Option<Timestamp>),
    /// It runs now.
    Now {
        /// The moment of the calendar that it runs for: the last one that has come.
        moment: Timestamp,
        /// The moments before it that went by.
        missed: Option<Missed>,
    },
}

/// Runs that did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// How many, at most [`MOST_MISSED`].
    pub count: usize,
    /// Whether there were more.
    pub more: bool,
    /// The first of them.
    pub first: Timestamp,
}

/// What a flow that ran last for the moment `last` has to do at `now`. A flow that never ran has the moment it was made
/// as its last one.
///
/// A clock that was set back runs nothing twice: moments up to `last` are done.
#[must_use]
pub fn due(schedule: &Schedule, last: Timestamp, now: Timestamp) -> Due {
    let Some(first) = schedule.next_after(last) else { return Due::Later(None) };
    if first > now {
        return Due::Later(Some(first));
    }
    let moment = schedule.last_until(now).filter(|moment| *moment > first).unwrap_or(first);
    let mut passed =
        std::iter::successors(Some(first), |at| schedule.next_after(*at)).take_while(|at| *at < moment);
    let count = passed.by_ref().take(MOST_MISSED).count();
    let more = passed.next().is_some();
    Due::Now { moment, missed: (count > 0).then_some(Missed { count, more, first }) }
}

#[cfg(test)]
mod tests {
    use jiff_02::tz::TimeZone;
    use jiff_02::{SignedDuration, ToSpan as _};
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn schedule(text: &str) -> Schedule {
        Schedule::parse(text, TimeZone::UTC, at("2026-01-01T00:00:00Z")).unwrap()
    }

    const MADE: &str = "2026-11-29T08:10:00Z";

    #[test]
    fn a_flow_waits_for_its_first_moment_and_runs_at_it() {
        let hourly = schedule("0 * * * *");
        assert_eq!(
            due(&hourly, at(MADE), at("2026-11-29T08:59:59Z")),
            Due::Later(Some(at("2026-11-29T09:00:00Z")))
        );
        let now = Due::Now { moment: at("2026-11-29T09:00:00Z"), missed: None };
        assert_eq!(due(&hourly, at(MADE), at("2026-11-29T09:00:00Z")), now);
        assert_eq!(due(&hourly, at(MADE), at("2026-11-29T09:59:59Z")), now, "late, and missed none");
    }

    #[test]
    fn missed_moments_become_one_run_that_says_so() {
        let missed = Missed { count: 3, more: false, first: at("2026-11-29T09:00:00Z") };
        let now = Due::Now { moment: at("2026-11-29T12:00:00Z"), missed: Some(missed) };
        assert_eq!(due(&schedule("0 * * * *"), at(MADE), at("2026-11-29T12:30:00Z")), now);
    }

    #[test]
    fn a_year_of_missed_minutes_is_counted_up_to_a_bound() {
        let Due::Now { moment, missed: Some(missed) } =
            due(&schedule("* * * * *"), at("2025-11-29T00:00:00Z"), at("2026-11-29T00:00:30Z"))
        else {
            panic!("a year of minutes is due");
        };
        assert_eq!(moment, at("2026-11-29T00:00:00Z"));
        assert_eq!((missed.count, missed.more), (MOST_MISSED, true));
    }

    #[test]
    fn a_clock_that_was_set_back_runs_nothing_twice() {
        let ran = at("2026-11-29T09:00:00Z");
        assert_eq!(
            due(&schedule("0 * * * *"), ran, at("2026-11-29T08:30:00Z")),
            Due::Later(Some(at("2026-11-29T10:00:00Z")))
        );
        assert_eq!(due(&schedule("0 * * * *"), ran, ran), Due::Later(Some(at("2026-11-29T10:00:00Z"))));
    }

    proptest! {
        /// However often somebody looks, and whenever: each moment is run or told as missed, once, in order.
        #[test]
        fn every_moment_is_run_or_told(
            expression in prop::sample::select(vec!["*/7 * * * *", "0 */3 * * *", "15 4 * * *", "@hourly"]),
            looks in prop::collection::vec(1_i64..20_000, 1..40),
        ) {
            let schedule = schedule(expression);
            let (mut last, mut now) = (at(MADE), at(MADE));
            let mut told = 0;
            for seconds in looks {
                now += SignedDuration::from_secs(seconds);
                match due(&schedule, last, now) {
                    Due::Later(next) => prop_assert!(next.is_some_and(|next| next > now)),
                    Due::Now { moment, missed } => {
                        prop_assert!(last < moment && moment <= now);
                        told += 1 + missed.map_or(0, |missed| missed.count);
                        last = moment;
                    }
                }
            }
            let all = std::iter::successors(schedule.next_after(at(MADE)), |at| schedule.next_after(*at));
            prop_assert_eq!(told, all.take_while(|at| *at <= last).count());
            prop_assert!(schedule.next_after(last).is_some_and(|next| next > now || next + 0.seconds() > last));
        }
    }
}
