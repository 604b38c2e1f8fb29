//! What the kernel says of another process.

use std::fs;
use std::time::Duration;

use crate::Outcome;

/// Memory of a process, in KiB.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    /// Resident: all of the below.
    pub(crate) rss: u64,
    /// Private pages.
    pub(crate) anon: u64,
    /// Pages of files, the program's own code among them.
    pub(crate) file: u64,
    /// Pages of shared memory.
    pub(crate) shmem: u64,
    /// Resident, with shared pages divided among those who share them.
    pub(crate) pss: u64,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> Outcome<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let field = |text: &str, name: &str| {
            number(text, name).ok_or_else(|| format!("process {pid} does not tell its {name}"))
        };
        Ok(Self {
            rss: field(&status, "VmRSS:")?,
            anon: field(&status, "RssAnon:")?,
            file: field(&status, "RssFile:")?,
            shmem: field(&status, "RssShmem:")?,
            pss: field(&rollup, "Pss:")?,
        })
    }
}

/// How often the threads of a process were put on a processor, all together.
pub(crate) fn switches(pid: u32) -> Outcome<u64> {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(task?.path().join("status"))?;
        sum += number(&status, "voluntary_ctxt_switches:").unwrap_or(0);
        sum += number(&status, "nonvoluntary_ctxt_switches:").unwrap_or(0);
    }
    Ok(sum)
}

/// The time that the threads of a process have spent on processors, all together.
pub(crate) fn cpu(pid: u32) -> Outcome<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Behind the name, which may hold anything: state is the first field, and these are the 12th and the 13th.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = fields.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    let ticks: u64 = ticks.iter().sum();
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

fn number(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let status = "VmRSS:\t    1234 kB\nnonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t5\n";
        assert_eq!(number(status, "VmRSS:"), Some(1234));
        assert_eq!(number(status, "voluntary_ctxt_switches:"), Some(5));
        assert_eq!(number(status, "Pss:"), None);
    }

    #[test]
    fn this_process_has_memory() {
        let memory = Memory::of(std::process::id()).unwrap();
        assert!(memory.rss > 0 && memory.rss >= memory.anon);
    }
}
