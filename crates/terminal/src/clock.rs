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
}

impl Clock {
    /// A clock whose epoch is now.
    #[must_use]
    pub fn start() -> Self {
        Self { epoch: Instant::now(), wall_epoch: SystemTime::now() }
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

    /// Sleeps until `moment`; for good when it is `None`.
    pub async fn sleep_until(&self, moment: Option<Moment>) {
        match moment {
            Some(at) => tokio::time::sleep_until(self.instant(at)).await,
            None => std::future::pending().await,
        }
    }
}
