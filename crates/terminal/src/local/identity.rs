//! Which process a process id meant.

use std::fs;

use serde::{Deserialize, Serialize};

use super::tree::procfs::Process;

/// A process, told from every other one that had or will have its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its id.
    pub pid: u32,
    /// When it started, in clock ticks since the machine booted.
    pub started_ticks: u64,
    /// Which boot that was.
    pub boot_id: String,
}

impl Identity {
    /// The process that `pid` means now; `None` when it means none.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let started_ticks = Process::look(pid)?.started_ticks;
        Some(Self { pid, started_ticks, boot_id: boot_id()? })
    }

    /// Whether the process is still there, running or not reaped.
    #[must_use]
    pub fn is_there(&self) -> bool {
        Self::of(self.pid).is_some_and(|now| now == *self)
    }
}

fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_04_another_boot_or_another_start_is_another_process() {
        let own = Identity::of(std::process::id()).unwrap();
        assert!(own.is_there());
        assert!(!Identity { started_ticks: own.started_ticks + 1, ..own.clone() }.is_there());
        assert!(!Identity { boot_id: "another".to_owned(), ..own.clone() }.is_there());
        assert!(!Identity { pid: 1, ..own }.is_there());
    }
}
