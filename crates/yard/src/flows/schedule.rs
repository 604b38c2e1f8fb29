//! When: cron expressions in a time zone.

use std::fmt;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff_02::Timestamp;
use jiff_02::tz::TimeZone;

/// A cron expression of five fields (or `@daily`, `@hourly`, ...) in a time zone, which `CRON_TZ=ZONE` before it names. Where both a day of the month and a day of the week are given, either will do, as in cron.
///
/// A time that the clock skips in spring happens right after the gap; one that it repeats in autumn happens once, unless
/// the expression means every hour or minute.
#[derive(Debug, Clone)]
pub struct Schedule {
    text: String,
    cron: Cron,
    zone: TimeZone,
}

/// Why a text is no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It is no cron expression.
    #[error(
        "{text:?} is no schedule: {why}; for example `30 9 * * mon-fri`, `@daily` or `CRON_TZ=Europe/Paris 0 8 * * *`"
    )]
    Syntax {
        /// The text.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// The time zone is unknown.
    #[error("{0:?} is no time zone; for example UTC, Europe/Paris or America/New_York")]
    Zone(String),
    /// The time zone is named beside the expression, and in it.
    #[error("the time zone is named twice: {beside} and {text:?}")]
    TwoZones {
        /// The zone beside it.
        beside: String,
        /// The expression.
        text: String,
    },
    /// Nobody named a time zone, and that of the machine has no name.
    #[error("the time zone of this machine has no name: name one, for example UTC or Europe/Paris")]
    NamelessZone,
    /// No day ever matches.
    #[error("{0:?} never happens")]
    Never(String),
}

/// The zone a schedule is meant in: the one named, else that of the machine as it is now. Whoever writes a schedule down
/// writes the zone with it, so that a machine that moves changes none.
///
/// # Errors
/// When the zone is unknown, or that of the machine has no name.
pub fn zone(named: Option<&str>) -> Result<TimeZone, ScheduleError> {
    let Some(name) = named else {
        let machine = TimeZone::system();
        if machine.is_unknown() {
            return Ok(TimeZone::UTC);
        }
        return machine.iana_name().is_some().then_some(machine).ok_or(ScheduleError::NamelessZone);
    };
    TimeZone::get(name).map_err(|_| ScheduleError::Zone(name.to_owned()))
}

/// The zone that an expression names before its fields.
#[must_use]
pub fn zone_within(text: &str) -> Option<&str> {
    let text = text.trim();
    let rest = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ="))?;
    rest.split(char::is_whitespace).next()
}

impl Schedule {
    /// Reads a schedule. `zone` counts unless the text names one; `now` is only asked whether it can ever happen.
    ///
    /// # Errors
    /// When it is no schedule, its time zone is unknown, or it never happens.
    pub fn parse(text: &str, zone: TimeZone, now: Timestamp) -> Result<Self, ScheduleError> {
        let text = text.trim();
        let (zone, expression) = match zone_within(text) {
            None => (zone, text),
            Some(name) => {
                let expression = text.split_once(char::is_whitespace).map_or("", |(_zone, rest)| rest.trim());
                (self::zone(Some(name))?, expression)
            }
        };
        let syntax = |why: String| ScheduleError::Syntax { text: text.to_owned(), why };
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(expression).map_err(|error| syntax(error.to_string()))?;
        let schedule = Self { text: text.to_owned(), cron, zone };
        match schedule.next_after(now) {
            Some(_) => Ok(schedule),
            None => Err(ScheduleError::Never(text.to_owned())),
        }
    }

    /// The name of its time zone.
    #[must_use]
    pub fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// The first moment after `after` at which it happens.
    #[must_use]
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = after.to_zoned(self.zone.clone());
        self.cron.find_next_occurrence(&after, false).ok().map(|next| next.timestamp())
    }

    /// The last moment up to and with `until` at which it happened.
    #[must_use]
    pub fn last_until(&self, until: Timestamp) -> Option<Timestamp> {
        let until = until.to_zoned(self.zone.clone());
        self.cron.find_previous_occurrence(&until, true).ok().map(|last| last.timestamp())
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn parse(text: &str) -> Result<Schedule, ScheduleError> {
        Schedule::parse(text, TimeZone::UTC, at("2026-01-01T00:00:00Z"))
    }

    fn next(text: &str, after: &str, count: usize) -> Vec<String> {
        let schedule = parse(text).unwrap();
        let moments =
            std::iter::successors(schedule.next_after(at(after)), |last| schedule.next_after(*last));
        moments.take(count).map(|moment| moment.to_string()).collect()
    }

    #[test]
    fn moments_follow_the_expression() {
        assert_eq!(next("30 9 * * mon-fri", "2026-11-27T09:30:00Z", 1), ["2026-11-30T09:30:00Z"]);
        assert_eq!(next("@daily", "2026-11-29T00:00:00Z", 1), ["2026-11-30T00:00:00Z"]);
        assert_eq!(
            next("*/20 * * * *", "2026-11-29T10:19:59.9Z", 2),
            ["2026-11-29T10:20:00Z", "2026-11-29T10:40:00Z"]
        );
        // Either day will do.
        assert_eq!(
            next("0 0 13 * fri", "2026-11-08T00:00:00Z", 2),
            ["2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"]
        );
        assert_eq!(next("0 0 29 2 *", "2026-01-01T00:00:00Z", 1), ["2028-02-29T00:00:00Z"]);
    }

    #[test]
    fn the_last_moment_is_found_too() {
        let schedule = parse("0 * * * *").unwrap();
        for (until, last) in [
            ("2026-11-29T10:00:00Z", "2026-11-29T10:00:00Z"),
            ("2026-11-29T10:59:59Z", "2026-11-29T10:00:00Z"),
        ] {
            assert_eq!(schedule.last_until(at(until)), Some(at(last)));
        }
    }

    #[test]
    fn a_zone_goes_with_its_clock_through_spring_and_autumn() {
        let daily = "CRON_TZ=Europe/Berlin 30 2 * * *";
        // 2:30 does not exist on the 29th of March: it happens at 3:00, the moment the gap ends or after it.
        let spring = next(daily, "2026-03-28T12:00:00Z", 2);
        assert!(spring[0].starts_with("2026-03-29T01:"), "{spring:?}");
        assert_eq!(spring[1], "2026-03-30T00:30:00Z");
        // 2:30 exists twice on the 25th of October.
        assert_eq!(next(daily, "2026-10-24T12:00:00Z", 2), ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
    }

    #[test]
    fn a_schedule_knows_its_zone() {
        assert_eq!(parse("@daily").unwrap().zone_name(), "UTC");
        assert_eq!(parse("CRON_TZ=Europe/Paris @daily").unwrap().zone_name(), "Europe/Paris");
        assert_eq!(zone_within(" CRON_TZ=Europe/Paris @daily"), Some("Europe/Paris"));
        assert_eq!(zone_within("0 0 * * *"), None);
        assert_eq!(zone(Some("Nowhere")), Err(ScheduleError::Zone("Nowhere".to_owned())));
    }

    #[test]
    fn what_is_no_schedule_is_refused_in_words() {
        for text in
            ["", "* * * *", "* * * * * *", "60 * * * *", "every day", "0 0 * * mondayish", "@sometimes"]
        {
            assert!(matches!(parse(text), Err(ScheduleError::Syntax { .. })), "{text:?}: {:?}", parse(text));
        }
        assert_eq!(
            parse("CRON_TZ=Mars/Olympus 0 8 * * *").unwrap_err(),
            ScheduleError::Zone("Mars/Olympus".to_owned())
        );
        assert_eq!(parse("0 0 30 2 *").unwrap_err(), ScheduleError::Never("0 0 30 2 *".to_owned()));
    }
}
