//! On which processors a case runs.

use std::fs;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Outcome;

/// Where the kernel may put what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// All of it on one processor: what the work costs, without the time in which an idle processor wakes.
    OneProcessor,
    /// Anywhere, as the kernel likes.
    Anywhere,
}

/// All threads of this process, and whatever they start, are on one processor until this is dropped.
pub(crate) struct Pinned {
    before: CpuSet,
}

impl Placement {
    /// Puts this process there.
    pub(crate) fn take(self) -> Outcome<Option<Pinned>> {
        if self == Self::Anywhere {
            return Ok(None);
        }
        let before = sched_getaffinity(None)?;
        let first = (0..CpuSet::MAX_CPU).find(|&cpu| before.is_set(cpu)).ok_or("no processor is allowed")?;
        let mut one = CpuSet::new();
        one.set(first);
        put_all_threads(&one)?;
        Ok(Some(Pinned { before }))
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = put_all_threads(&self.before) {
            eprintln!("the processors are not given back: {error}");
        }
    }
}

fn put_all_threads(on: &CpuSet) -> Outcome<()> {
    for task in fs::read_dir("/proc/self/task")? {
        let id = task?.file_name().into_string().ok().and_then(|name| name.parse().ok());
        let thread = id.and_then(Pid::from_raw).ok_or("a thread has no number")?;
        match sched_setaffinity(Some(thread), on) {
            // It has ended.
            Err(rustix::io::Errno::SRCH) => {}
            put => put?,
        }
    }
    Ok(())
}
