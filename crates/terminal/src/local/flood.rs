//! Terminals that print faster than they are read.

use std::num::NonZeroU64;

use rustix::thread::Timespec;

/// A read of a master that gives this many bytes or more is one of many. The kernel hands over 4 KiB at most and has up
/// to 64 KiB behind them, which the next read waits for by itself; waiting for them in the event loop costs a tenth of
/// the throughput.
pub(super) const FLOOD_BYTES: usize = 2048;

/// Gives the processor away between two reads of a flood, for the few microseconds in which the kernel fills a master's
/// 4 KiB again.
///
/// Between the program and the reader stands the kernel's own worker. A reader that comes back at once finds it in the
/// middle of its work, takes its processor or is put to sleep by it, and the program is stopped for either: where there
/// are two processors `cat` is interrupted 9,000 times in 81 MB, and 100 times with this pause, which makes a plain loop
/// of reads faster by a third (`ptyard-bench --only drain`). Yielding is not enough: nobody else may be runnable yet.
/// Four floods at once, and one beside two busy loops, are as fast with it as without.
pub(super) fn let_the_kernel_fill() {
    const SHORTEST: Timespec = Timespec { tv_sec: 0, tv_nsec: 1 };
    // Only for this pause, as programs inherit the slack of the thread that starts them. Where it cannot be set there is
    // no pause: one with the usual 50 microseconds on top halves the throughput.
    if rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN)).is_ok() {
        let _interrupted = rustix::thread::nanosleep(&SHORTEST);
        let _usual = rustix::thread::set_current_timer_slack(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_leaves_the_thread_the_slack_that_its_programs_inherit() {
        let before = rustix::thread::current_timer_slack().unwrap();
        let_the_kernel_fill();
        assert_eq!(rustix::thread::current_timer_slack(), Ok(before));
        assert_ne!(before, 1, "or this sees nothing");
    }
}
