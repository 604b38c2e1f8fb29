//! Time as a value.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A point on a monotonic clock, counted from an epoch that the driver chose.
///
/// Pure code never reads a clock; the driver passes moments in. Only differences mean anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// The driver's epoch.
    pub const EPOCH: Self = Self(Duration::ZERO);

    /// The moment `elapsed` after the epoch.
    #[must_use]
    pub const fn from_epoch(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// The moment `ms` milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(Duration::from_millis(ms))
    }

    /// How long after the epoch this is.
    #[must_use]
    pub const fn since_epoch(self) -> Duration {
        self.0
    }

    /// Time from `earlier` to `self`; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(rhs))
    }
}
