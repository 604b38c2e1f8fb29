//! How busy the machine is with other things.

use std::time::{Duration, Instant};

use crate::Outcome;

/// Above this share of the processors in use by others a run is not worth citing.
const QUIET_SHARE: f64 = 0.05;

/// What others did to the machine during one second without us.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct Noise {
    /// Share of all processors that was busy, 0 to 1.
    pub(crate) busy_share: f64,
    /// The load average of the last minute.
    pub(crate) load_1min: f64,
}

impl Noise {
    /// Waits until a second is quiet, for about `patience`; gives what the last second was like.
    pub(crate) async fn settled(patience: Duration) -> Outcome<Self> {
        let until = Instant::now() + patience;
        loop {
            let noise = Self::of_one_second().await?;
            if noise.is_quiet() || Instant::now() >= until {
                return Ok(noise);
            }
        }
    }

    /// Watches for one second; this process does nothing in it.
    async fn of_one_second() -> Outcome<Self> {
        let before = Ticks::read()?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let after = Ticks::read()?;
        let all = after.all.saturating_sub(before.all).max(1);
        let idle = after.idle.saturating_sub(before.idle).min(all);
        let load = std::fs::read_to_string("/proc/loadavg")?;
        let load_1min = load.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN);
        Ok(Self { busy_share: 1.0 - idle as f64 / all as f64, load_1min })
    }

    pub(crate) fn is_quiet(self) -> bool {
        self.busy_share <= QUIET_SHARE
    }
}

/// Clock ticks of all processors since boot.
struct Ticks {
    all: u64,
    idle: u64,
}

impl Ticks {
    fn read() -> Outcome<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat")?)
            .ok_or_else(|| "/proc/stat is not understood".into())
    }

    fn parse(stat: &str) -> Option<Self> {
        let ticks: Vec<u64> =
            stat.lines().next()?.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is counted in user already.
        Some(Self { all: ticks.iter().take(8).sum(), idle: ticks.get(3)? + ticks.get(4)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_for_disks_are_not_busy() {
        let ticks = Ticks::parse("cpu  10 1 5 100 4 0 2 3 9 9\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!((ticks.all, ticks.idle), (125, 104));
        assert!(Ticks::parse("").is_none());
    }
}
