//! The one place where this crate reads a clock.

use std::time::{Duration, SystemTime};

use ptyard_core::Moment;
use tokio::time::Instant;

/// A monotonic clock with an epoch, and the wall time of that epoch.
///
/// Built on tokio's clock, so that tests may pause it. Wall time is only ever shown; nothing is decided by it.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
    wall_epoch: SystemTime,
    boot_epoch: Duration,
}

impl Clock {
    /// A clock whose epoch is now.
    #[must_use]
    pub fn start() -> Self {
        let since_boot = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let boot_epoch = Duration::try_from(since_boot).unwrap_or_default();
        Self { epoch: Instant::now(), wall_epoch: SystemTime::now(), boot_epoch }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment::from_epoch(self.epoch.elapsed())
    }

    /// The runtime's instant for `moment`. Moments beyond thirty years are cut to that.
    #[must_use]
    pub fn instant(&self, moment: Moment) -> Instant {
        const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);
        self.epoch + moment.since_epoch().min(FAR)
    }

    /// The wall time of `moment`, for people.
    #[must_use]
    pub fn wall(&self, moment: Moment) -> SystemTime {
        self.wall_epoch + moment.since_epoch()
    }

    /// The time from the machine's boot to `moment`, the time it was suspended left out: what a moment means to another
    /// process, whatever becomes of the wall time.
    #[must_use]
    pub fn since_boot(&self, moment: Moment) -> Duration {
        self.boot_epoch.saturating_add(moment.since_epoch())
    }

    /// The moment `since_boot` after the machine's boot; this clock's epoch when it was before that.
    #[must_use]
    pub fn at_boot(&self, since_boot: Duration) -> Moment {
        Moment::from_epoch(since_boot.saturating_sub(self.boot_epoch))
    }

    /// Sleeps until `moment`; for good when it is `None`.
    pub async fn sleep_until(&self, moment: Option<Moment>) {
        match moment {
            Some(at) => tokio::time::sleep_until(self.instant(at)).await,
            None => std::future::pending().await,
        }
    }
}
