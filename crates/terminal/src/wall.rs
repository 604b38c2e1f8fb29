//! A wait on the clock of the wall.

use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;

use crate::sys::watched::WatchedFd;

/// Waits until the clock of the wall shows `moment`, or somebody set it: also when the machine slept meanwhile. Cancel-safe.
///
/// # Errors
/// When the system has no such timer.
pub async fn wait_for_wall(moment: SystemTime) -> io::Result<()> {
    // A timer at zero would never come.
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default().max(Duration::from_nanos(1));
    let it_value = Timespec::try_from(since).map_err(|_| io::ErrorKind::InvalidInput)?;
    let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
    let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    timerfd_settime(&timer, flags, &Itimerspec { it_interval, it_value })?;
    // Readable when it is time, and when the clock was set.
    let timer = WatchedFd::new(timer, Interest::READABLE)?;
    drop(timer.readable().await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_wait_ends_at_the_moment() {
        let moment = SystemTime::now() + Duration::from_millis(30);
        wait_for_wall(moment).await.unwrap();
        assert!(SystemTime::now() >= moment);
        wait_for_wall(UNIX_EPOCH).await.unwrap();
    }
}
