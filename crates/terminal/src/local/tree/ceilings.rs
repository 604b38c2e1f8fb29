//! Ceilings of memory and processes, where the cgroup's controllers are ours to use.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use tokio::io::Interest;

use super::aside;
use crate::backend::Ceilings;
use crate::sys::watched::WatchedFd;

/// A controller of the unified hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::local) enum Controller {
    Memory,
    Processes,
}

impl Controller {
    const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "pids",
        }
    }
}

/// Makes a controller's files appear in the cgroups below `home`, if the system lets us; else says why not.
///
/// The controller has to be handed down twice: from our own cgroup to `home`, which the kernel allows only where no
/// process lives beside `home` (we step aside) or in the root, and where whoever made our cgroup has given it to us; and
/// from `home` to its programs, which is ours to do.
pub(super) fn offer(home: &Path, controller: Controller) -> io::Result<()> {
    let name = controller.name();
    let lists = |file: &Path| -> io::Result<bool> {
        Ok(fs::read_to_string(file)?.split_whitespace().any(|word| word == name))
    };
    if lists(&home.join("cgroup.subtree_control"))? {
        return Ok(());
    }
    let hand_down = |dir: &Path| fs::write(dir.join("cgroup.subtree_control"), format!("+{name}"));
    if !lists(&home.join("cgroup.controllers"))? {
        let own = home.parent().ok_or(io::ErrorKind::NotFound)?;
        if !lists(&own.join("cgroup.controllers"))? {
            let why = format!("the {name} controller is not delegated to {}", own.display());
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        aside::step(own)?;
        hand_down(own).map_err(|error| {
            let why = format!("the {name} controller cannot be handed down by {}: {error}", own.display());
            io::Error::new(io::ErrorKind::Unsupported, why)
        })?;
    }
    hand_down(home)
}

/// Sets ceilings on a cgroup whose controllers were offered.
pub(super) fn set(leaf: &Path, ceilings: Ceilings) -> io::Result<()> {
    if let Some(bytes) = ceilings.memory_bytes {
        fs::write(leaf.join("memory.max"), bytes.to_string())?;
        // Without these two the ceiling holds less well: pages go to the disk, and only one process of many ends. Neither
        // file is there on every kernel.
        let _ = fs::write(leaf.join("memory.swap.max"), "0");
        let _ = fs::write(leaf.join("memory.oom.group"), "1");
    }
    if let Some(processes) = ceilings.processes {
        fs::write(leaf.join("pids.max"), processes.to_string())?;
    }
    Ok(())
}

/// Whether the kernel ended processes of a cgroup because its memory ran out.
pub(super) fn ran_out_of_memory(leaf: &Path) -> bool {
    fs::read_to_string(leaf.join("memory.events")).is_ok_and(|events| count_of(&events, "oom_kill") > 0)
}

/// Waits until a process of a cgroup was refused because there were too many. `None` when it has no such ceiling.
pub(super) fn too_many_processes(leaf: &Path) -> Option<impl Future<Output = io::Result<()>> + Send + use<>> {
    let most = fs::read_to_string(leaf.join("pids.max")).ok()?;
    let _limited: u64 = most.trim().parse().ok()?;
    let events = File::open(leaf.join("pids.events")).ok()?;
    Some(async move {
        // The kernel tells a change of this file as "priority" readiness, once since the last reading.
        let events = WatchedFd::new(events.into(), Interest::PRIORITY)?;
        while refusals(events.get_ref())? == 0 {
            events.ready(Interest::PRIORITY).await?.clear_ready();
        }
        Ok(())
    })
}

fn refusals(events: &OwnedFd) -> io::Result<u64> {
    // A short line or two.
    let mut text = [0; 128];
    let length = rustix::io::pread(events, &mut text, 0)?;
    Ok(count_of(&String::from_utf8_lossy(&text[..length]), "max"))
}

/// The count of `name` in a file of lines `name count`.
fn count_of(events: &str, name: &str) -> u64 {
    let count = events.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    count.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that looks like our cgroup and `home` in it; nothing acts on what is written.
    fn cgroups(ours: &str, homes: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let own = tempfile::tempdir().unwrap();
        let home = own.path().join("home");
        fs::create_dir(&home).unwrap();
        for (dir, controllers) in [(own.path(), ours), (home.as_path(), homes)] {
            fs::write(dir.join("cgroup.controllers"), controllers).unwrap();
            fs::write(dir.join("cgroup.subtree_control"), "").unwrap();
        }
        (own, home)
    }

    fn handed_down(dir: &Path) -> String {
        fs::read_to_string(dir.join("cgroup.subtree_control")).unwrap()
    }

    #[test]
    fn a_delegated_controller_is_handed_down_and_another_is_refused_by_name() {
        let (own, home) = cgroups("cpu memory pids", "memory");
        offer(&home, Controller::Memory).unwrap();
        assert_eq!((handed_down(own.path()).as_str(), handed_down(&home).as_str()), ("", "+memory"));
        offer(&home, Controller::Processes).unwrap();
        assert_eq!((handed_down(own.path()).as_str(), handed_down(&home).as_str()), ("+pids", "+pids"));

        let (_own, home) = cgroups("cpu", "");
        let refused = offer(&home, Controller::Memory).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
        assert!(refused.to_string().contains("the memory controller is not delegated to"), "{refused}");
    }

    #[test]
    fn ceilings_are_written_where_the_kernel_reads_them() {
        let leaf = tempfile::tempdir().unwrap();
        set(leaf.path(), Ceilings { memory_bytes: Some(1 << 20), processes: Some(7), ..Ceilings::default() })
            .unwrap();
        let read = |file: &str| fs::read_to_string(leaf.path().join(file)).unwrap();
        assert_eq!((read("memory.max").as_str(), read("pids.max").as_str()), ("1048576", "7"));
        assert_eq!((read("memory.swap.max").as_str(), read("memory.oom.group").as_str()), ("0", "1"));
    }

    #[test]
    fn what_the_kernel_counted_is_read_by_its_whole_name() {
        let events = "low 0\nhigh 3\nmax 5\noom 1\noom_kill 2\noom_group_kill 1\n";
        assert_eq!(count_of(events, "oom_kill"), 2);
        assert_eq!(count_of(events, "max"), 5);
        assert_eq!(count_of("max_usage 4\n", "max"), 0);
        let leaf = tempfile::tempdir().unwrap();
        assert!(!ran_out_of_memory(leaf.path()));
        fs::write(leaf.path().join("memory.events"), events).unwrap();
        assert!(ran_out_of_memory(leaf.path()));
        assert!(too_many_processes(leaf.path()).is_none());
        fs::write(leaf.path().join("pids.max"), "max\n").unwrap();
        assert!(too_many_processes(leaf.path()).is_none(), "no ceiling");
    }
}
