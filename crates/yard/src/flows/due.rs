//! What is to be done now.

use jiff_02::{SignedDuration, Timestamp};

use super::schedule::Schedule;

/// Missed moments are counted up to here, then said to be more.
pub const MOST_MISSED: u32 = 1_000;

/// A moment that came at most so long ago is run; an older one is missed. Longer than a server takes to be replaced and a
/// machine to wake up, and short enough that nobody is surprised by what runs.
pub const LATE: SignedDuration = SignedDuration::from_mins(5);

/// A clock that is set back by more than this was wrong before: what was done by it does not count.
const WRONG: SignedDuration = SignedDuration::from_hours(24);

/// What a flow has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The moment of the calendar that it runs for now.
    pub moment: Option<Timestamp>,
    /// The moments that went by.
    pub missed: Option<Missed>,
    /// The last moment that has come, when one has: up to it everything is run or missed.
    pub until: Option<Timestamp>,
    /// The next moment; `None` is never again.
    pub next: Option<Timestamp>,
}

/// Moments that went by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// How many, at most [`MOST_MISSED`].
    pub count: u32,
    /// Whether there were more.
    pub more: bool,
    /// The first of them.
    pub first: Timestamp,
}

/// What a flow has to do at `now` whose moments up to `done` are done.
///
/// Of the moments that have come, the last one is run if it is not [`LATE`]; all others are missed, and never run. A clock
/// that was set back runs nothing twice.
#[must_use]
pub fn due(schedule: &Schedule, done: Timestamp, now: Timestamp) -> Due {
    let done = if done.duration_since(now) > WRONG { now } else { done };
    let first = schedule.next_after(done);
    let Some(first) = first.filter(|first| *first <= now) else {
        return Due { moment: None, missed: None, until: None, next: first };
    };
    let last = schedule.last_until(now).filter(|last| *last > first).unwrap_or(first);
    let moment = (now.duration_since(last) <= LATE).then_some(last);
    let mut passed = std::iter::successors(Some(first), |at| schedule.next_after(*at))
        .take_while(|at| *at <= last && Some(*at) != moment);
    let count = (0..MOST_MISSED).take_while(|_| passed.next().is_some()).count() as u32;
    let missed = (count > 0).then(|| Missed { count, more: passed.next().is_some(), first });
    Due { moment, missed, until: Some(last), next: schedule.next_after(last) }
}

#[cfg(test)]
mod tests {
    use jiff_02::tz::TimeZone;
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
        let (nine, ten) = (at("2026-11-29T09:00:00Z"), at("2026-11-29T10:00:00Z"));
        let before = due(&hourly, at(MADE), at("2026-11-29T08:59:59Z"));
        assert_eq!(before, Due { moment: None, missed: None, until: None, next: Some(nine) });
        let now = Due { moment: Some(nine), missed: None, until: Some(nine), next: Some(ten) };
        assert_eq!(due(&hourly, at(MADE), nine), now);
        assert_eq!(due(&hourly, at(MADE), nine + LATE), now, "late, and missed none");
        assert_eq!(due(&hourly, nine, nine + LATE), Due { moment: None, until: None, ..now });
    }

    #[test]
    fn what_is_too_late_is_missed_and_nothing_comes_in_a_burst() {
        let hourly = schedule("0 * * * *");
        let (first, last) = (at("2026-11-29T09:00:00Z"), at("2026-11-29T12:00:00Z"));
        let late = due(&hourly, at(MADE), at("2026-11-29T12:30:00Z"));
        assert_eq!(late.missed, Some(Missed { count: 4, more: false, first }));
        assert_eq!((late.moment, late.until), (None, Some(last)));
        let in_time = due(&hourly, at(MADE), at("2026-11-29T12:01:00Z"));
        assert_eq!(in_time.missed, Some(Missed { count: 3, more: false, first }));
        assert_eq!((in_time.moment, in_time.until), (Some(last), Some(last)));
    }

    #[test]
    fn a_year_of_missed_minutes_is_counted_up_to_a_bound() {
        let year = due(&schedule("* * * * *"), at("2025-11-29T00:00:00Z"), at("2026-11-29T00:00:30Z"));
        assert_eq!(year.moment, Some(at("2026-11-29T00:00:00Z")));
        let missed = year.missed.unwrap();
        assert_eq!((missed.count, missed.more), (MOST_MISSED, true));
    }

    #[test]
    fn a_clock_that_was_set_back_runs_nothing_twice() {
        let (ran, next) = (at("2026-11-29T09:00:00Z"), Some(at("2026-11-29T10:00:00Z")));
        let waits = Due { moment: None, missed: None, until: None, next };
        assert_eq!(due(&schedule("0 * * * *"), ran, at("2026-11-29T08:30:00Z")), waits);
        assert_eq!(due(&schedule("0 * * * *"), ran, ran), waits);
    }

    #[test]
    fn a_clock_that_was_wrong_by_a_year_stops_nothing() {
        let done = at("2027-11-29T09:00:00Z");
        let right = due(&schedule("0 * * * *"), done, at("2026-11-29T08:30:00Z"));
        assert_eq!((right.moment, right.next), (None, Some(at("2026-11-29T09:00:00Z"))));
    }

    proptest! {
        /// However often somebody looks, and whenever: each moment is run or told as missed, once, in order.
        #[test]
        fn every_moment_is_run_or_told(
            expression in prop::sample::select(vec!["*/7 * * * *", "0 */3 * * *", "15 4 * * *", "@hourly"]),
            looks in prop::collection::vec(1_i64..20_000, 1..40),
        ) {
            let schedule = schedule(expression);
            let (mut done, mut now) = (at(MADE), at(MADE));
            let mut told = 0;
            for seconds in looks {
                now += SignedDuration::from_secs(seconds);
                let due = due(&schedule, done, now);
                prop_assert!(due.next.is_some_and(|next| next > now));
                if let Some(moment) = due.moment {
                    prop_assert!(done < moment && moment <= now && now.duration_since(moment) <= LATE);
                }
                told += due.moment.iter().count() as u32 + due.missed.map_or(0, |missed| missed.count);
                done = due.until.unwrap_or(done);
            }
            let all = std::iter::successors(schedule.next_after(at(MADE)), |at| schedule.next_after(*at));
            prop_assert_eq!(told as usize, all.take_while(|at| *at <= done).count());
        }
    }
}
