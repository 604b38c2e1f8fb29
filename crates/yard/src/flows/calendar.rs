//! The clock of the wall, and a wait on it.

use std::time::SystemTime;

use ptyard_terminal::backend::BoxFuture;
use ptyard_terminal::wait_for_wall;

/// The clock that flows go by. Tests bring their own.
pub trait Calendar: Send + Sync + 'static {
    /// What the clock shows.
    fn now(&self) -> SystemTime;

    /// Waits until the clock shows `moment`, or somebody set it; for good when there is no moment. Cancel-safe.
    fn wait_until(&self, moment: Option<SystemTime>) -> BoxFuture<'_, ()>;
}

/// The clock of this machine. Its wait ends at the moment of the wall, also when the machine slept meanwhile, and when
/// the clock was set.
#[derive(Debug, Clone, Copy, Default)]
pub struct WallCalendar;

impl Calendar for WallCalendar {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn wait_until(&self, moment: Option<SystemTime>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(moment) = moment else { return std::future::pending().await };
            if let Err(error) = wait_for_wall(moment).await {
                tracing::warn!(%error, "a clock that is set is not noticed: there is no timer for it");
                let left = moment.duration_since(SystemTime::now()).unwrap_or_default();
                tokio::time::sleep(left).await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[tokio::test]
    async fn a_wait_ends_when_the_clock_shows_the_moment() {
        let calendar = WallCalendar;
        let moment = calendar.now() + Duration::from_millis(30);
        calendar.wait_until(Some(moment)).await;
        assert!(calendar.now() >= moment);
        calendar.wait_until(Some(UNIX_EPOCH)).await;
        let never = calendar.wait_until(None);
        assert!(tokio::time::timeout(Duration::from_millis(1), never).await.is_err());
    }
}
