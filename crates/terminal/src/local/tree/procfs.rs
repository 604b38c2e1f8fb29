//! Processes as `/proc` shows them.

use std::fs;

/// One process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::local) struct Process {
    pub(in crate::local) pid: u32,
    pub(in crate::local) parent: u32,
    pub(in crate::local) session: u32,
    /// Device number of its controlling terminal, 0 without one.
    pub(in crate::local) tty: u64,
    /// When it started, in clock ticks since boot: tells two processes that had the same pid apart.
    pub(in crate::local) started_ticks: u64,
    state: u8,
}

impl Process {
    /// Whether it has ended and only waits to be reaped.
    pub(in crate::local) const fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Process `pid`; `None` when there is none.
    pub(in crate::local) fn look(pid: u32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads a `stat` line. The name in it may hold anything, closing brackets included, so fields count from the
    /// last one.
    fn parse(pid: u32, line: &[u8]) -> Option<Self> {
        let after_name = line.iter().rposition(|&byte| byte == b')')? + 1;
        let mut fields = std::str::from_utf8(&line[after_name..]).ok()?.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let _group = fields.next()?;
        let session = fields.next()?.parse().ok()?;
        let tty = u64::try_from(fields.next()?.parse::<i64>().ok()?).ok()?;
        // The start is the 22nd field of the line; the tty was the 7th.
        let started_ticks = fields.nth(14)?.parse().ok()?;
        Some(Self { pid, parent, session, tty, started_ticks, state })
    }
}

/// What a look at all processes showed.
#[derive(Debug)]
pub(in crate::local) struct Census {
    pub(in crate::local) processes: Vec<Process>,
    /// Whether some process was listed and had gone before it was looked at. What it left behind may be missing.
    pub(in crate::local) some_vanished: bool,
}

/// Looks at all processes that can be seen.
pub(in crate::local) fn census() -> Census {
    let mut census = Census { processes: Vec::new(), some_vanished: false };
    for pid in pids() {
        match Process::look(pid) {
            Some(process) => census.processes.push(process),
            None => census.some_vanished = true,
        }
    }
    census
}

/// The ids of all processes that can be seen.
pub(super) fn pids() -> Vec<u32> {
    let Ok(dir) = fs::read_dir("/proc") else { return Vec::new() };
    dir.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The timer slack of a process, in nanoseconds.
pub(super) fn timer_slack_ns(pid: u32) -> Option<u64> {
    fs::read_to_string(format!("/proc/{pid}/timerslack_ns")).ok()?.trim_end().parse().ok()
}

/// Whether a process was started with this `NAME=value` in its environment.
pub(super) fn has_variable(pid: u32, variable: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|&byte| byte == 0).any(|entry| entry == variable.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_brackets_does_not_shift_the_fields() {
        let line = b"42 (a) R 1 (b)) S 7 42 41 34816 42 4194304 1 0 0 0 2 3 0 0 20 0 1 0 98765 1 2 3\n";
        let process = Process::parse(42, line).unwrap();
        assert_eq!((process.parent, process.session, process.tty), (7, 41, 34816));
        assert_eq!(process.started_ticks, 98765);
        assert!(!process.is_dead());
    }

    #[test]
    fn this_process_is_among_the_processes() {
        let own = std::process::id();
        let found = census().processes.into_iter().find(|process| process.pid == own).unwrap();
        assert_eq!(found.parent, std::os::unix::process::parent_id());
        assert!(timer_slack_ns(own).is_some());
    }
}
