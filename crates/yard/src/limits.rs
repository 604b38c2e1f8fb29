//! The limits of one terminal: as they were asked for, as they hold, and as the next server finds them.

use std::time::Duration;

use ptyard_core::{Limit, Limits, Moment};
use ptyard_terminal::backend::{Ceilings, Unheld};
use ptyard_terminal::log::LogConfig;
use ptyard_terminal::{Clock, TimeLimits};
use serde::{Deserialize, Serialize};

use crate::error::YardError;
use crate::spec::{LimitInfo, LimitSpec};

/// The limits that a terminal was started with, written down with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Granted {
    limits: Limits,
    /// When the wall limit strikes, as time since the machine's boot: it means the same to the next server, and whoever
    /// sets the wall clock does not move it.
    #[serde(default)]
    wall_ends: Option<Duration>,
    /// Those that could not be held, each with the reason.
    #[serde(default)]
    pub(crate) unheld: Vec<(Limit, String)>,
}

impl Granted {
    /// Limits that count from `now` on.
    pub(crate) fn new(asked: &LimitSpec, clock: Clock, now: Moment) -> Result<Self, YardError> {
        asked.limits.check().map_err(|low| YardError::InvalidArgument(low.to_string()))?;
        let wall_ends = asked.limits.wall.map(|wall| clock.since_boot(now + wall));
        Ok(Self { limits: asked.limits, wall_ends, unheld: Vec::new() })
    }

    /// Those in time, on this server's clock.
    pub(crate) fn in_time(&self, clock: Clock) -> TimeLimits {
        TimeLimits { wall: self.wall_ends.map(|ends| clock.at_boot(ends)), idle: self.limits.idle }
    }

    /// Those that the operating system holds.
    pub(crate) fn ceilings(&self, unheld: Unheld) -> Ceilings {
        let Limits { memory_bytes, processes, .. } = self.limits;
        Ceilings { memory_bytes, processes, unheld }
    }

    /// The log's limits, with the terminal's own quota.
    pub(crate) fn log(&self, usual: LogConfig) -> LogConfig {
        self.limits.log_bytes.map_or(usual, |bytes| usual.keeping(bytes))
    }

    /// As it is shown; `None` when nothing is limited.
    pub(crate) fn info(&self, clock: Clock, is_over: bool) -> Option<LimitInfo> {
        let left = |ends| clock.at_boot(ends).since(clock.now());
        let wall_left = self.wall_ends.filter(|_| !is_over).map(left);
        (!self.limits.is_none()).then(|| LimitInfo {
            limits: self.limits,
            wall_left,
            unheld: self.unheld.clone(),
        })
    }

    /// What a caller is told about limits that do not hold.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.unheld.iter().map(|(limit, why)| format!("the limit {limit} is not held: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_means_the_same_moment_on_the_next_servers_clock() {
        let first = Clock::start();
        let wall = Duration::from_secs(30);
        let asked =
            LimitSpec { limits: Limits { wall: Some(wall), ..Limits::default() }, ..LimitSpec::default() };
        let granted = Granted::new(&asked, first, Moment::from_millis(5)).unwrap();
        let record = serde_json::to_string(&granted).unwrap();
        let again: Granted = serde_json::from_str(&record).unwrap();
        assert_eq!(again.in_time(first).wall, Some(Moment::from_millis(5) + wall));
        let second = Clock::start();
        let ends = again.in_time(second).wall.unwrap();
        assert_eq!(second.since_boot(ends), first.since_boot(Moment::from_millis(5) + wall));
        assert_eq!(again.info(second, false).unwrap().limits, asked.limits);
        assert_eq!(Granted::default().info(first, false), None);
    }
}
