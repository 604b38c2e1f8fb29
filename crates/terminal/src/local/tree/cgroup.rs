//! A cgroup for every program: children are born into it and cannot leave it, whatever they shed.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::FlockOperation;
use rustix::time::Timespec;
use tokio::io::Interest;

use super::aside;
use super::ceilings::{self, Controller};
use crate::backend::Ceilings;
use crate::local::fork;
use crate::sys;
use crate::sys::watched::WatchedFd;

/// How the directory of a server is named, before its process id.
const PREFIX: &str = "ptyard-";

/// How long programs may take to end where nobody can wait for them but by blocking. Below a second.
const CLEAR_LIMIT: Duration = Duration::from_millis(500);

/// How often another server may snatch a directory that was just made, before we give up.
const ATTEMPTS: u32 = 8;

/// The directory that holds the cgroups of one server's programs, below the server's own cgroup.
///
/// The directory is locked while its server lives: a server that finds one it can lock knows that its owner is dead,
/// in whatever process id namespace that was, and clears it away.
#[derive(Debug)]
pub(in crate::local) struct Home {
    path: PathBuf,
    next_leaf: AtomicU64,
    owner: Owner,
    lock: OwnedFd,
}

/// Whose directory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// Ours: it goes when we do.
    Us,
    /// The keeper's. We hold its lock as well, so that nobody clears it away while either of us lives.
    Keeper,
}

impl Home {
    /// Makes the directory. An error says why cgroups cannot be used here.
    pub(in crate::local) fn open() -> io::Result<Arc<Self>> {
        let own = own_cgroup()?;
        clear_dead_homes(&own);
        let (path, lock) = make_locked(&own)?;
        let home = Arc::new(Self { path, next_leaf: AtomicU64::new(0), owner: Owner::Us, lock: lock.into() });
        // Permission to move processes depends on more than modes: the only proof is to do it.
        let probe = Leaf::make(&home, "probe")?;
        if !probe.path.join("cgroup.kill").exists() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "cgroup.kill needs Linux 5.14"));
        }
        fork::can_start_in(File::open(&probe.path)?.as_fd())?;
        Ok(home)
    }

    /// The directory of a keeper that died, with a copy of its lock. Dropped, it goes, if nothing lives in it.
    pub(in crate::local) fn of_the_dead(path: PathBuf, lock: OwnedFd) -> Arc<Self> {
        Arc::new(Self { path, next_leaf: AtomicU64::new(0), owner: Owner::Us, lock })
    }

    /// The keeper's directory, with a copy of its lock.
    pub(in crate::local) fn of_keeper(path: PathBuf, lock: OwnedFd) -> Arc<Self> {
        Arc::new(Self { path, next_leaf: AtomicU64::new(0), owner: Owner::Keeper, lock })
    }

    pub(in crate::local) fn path(&self) -> &Path {
        &self.path
    }

    /// Why programs in here cannot be held to a ceiling of this controller, if they cannot.
    pub(in crate::local) fn offer(&self, controller: Controller) -> io::Result<()> {
        ceilings::offer(&self.path, controller)
    }

    /// KILL to every process of every program in it.
    pub(in crate::local) fn kill(&self) {
        // Fails only when it is gone, with everything in it.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    pub(in crate::local) fn lock(&self) -> BorrowedFd<'_> {
        self.lock.as_fd()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.owner == Owner::Us {
            remove_tree(&self.path);
        }
    }
}

/// The cgroup of one program.
///
/// # Invariants
/// 1. When this is dropped nothing lives in the cgroup and its directory is removed, but for processes that a KILL does
///    not end in [`CLEAR_LIMIT`].
#[derive(Debug)]
pub(in crate::local) struct Leaf {
    path: PathBuf,
    removed: AtomicBool,
    /// `None` when it is another process that clears the home away.
    _home: Option<Arc<Home>>,
}

impl Leaf {
    /// Makes a cgroup in `home`. Two programs never share one: `name` gets a number.
    pub(in crate::local) fn make(home: &Arc<Home>, name: &str) -> io::Result<Self> {
        let number = home.next_leaf.fetch_add(1, Ordering::Relaxed);
        let path = home.path.join(format!("{name}-{number}"));
        fs::create_dir(&path)?;
        Ok(Self { path, removed: AtomicBool::new(false), _home: Some(Arc::clone(home)) })
    }

    /// The cgroup of a program that an earlier server started. A lock of its home must be held meanwhile.
    pub(in crate::local) fn found(path: PathBuf) -> Self {
        Self { path, removed: AtomicBool::new(false), _home: None }
    }

    /// Its directory, to start a process in.
    pub(in crate::local) fn path(&self) -> &Path {
        &self.path
    }

    /// Holds what will live in it to these ceilings, whose controllers were offered.
    pub(in crate::local) fn hold(&self, ceilings: Ceilings) -> io::Result<()> {
        ceilings::set(&self.path, ceilings)
    }

    pub(super) fn ran_out_of_memory(&self) -> bool {
        ceilings::ran_out_of_memory(&self.path)
    }

    pub(super) fn too_many_processes(&self) -> Option<impl Future<Output = io::Result<()>> + Send + use<>> {
        ceilings::too_many_processes(&self.path)
    }

    pub(super) fn members(&self) -> Vec<u32> {
        let mut members = Vec::new();
        if !self.removed.load(Ordering::Acquire) {
            collect_members(&self.path, &mut members);
        }
        members
    }

    pub(super) fn ask(&self, signals: &[i32], asked: &mut HashSet<u32>) {
        // A pid of the list may mean another process by now. One that is still in the list after its descriptor was
        // opened is a member whichever process it is, and the descriptor reaches the one it was opened for.
        let opened: Vec<_> = self
            .members()
            .into_iter()
            .filter(|pid| !asked.contains(pid))
            .filter_map(|pid| Some((pid, sys::spawn::open_pidfd(pid).ok()?)))
            .collect();
        let still = self.members();
        for (pid, pidfd) in opened.iter().filter(|(pid, _)| still.contains(pid)) {
            asked.insert(*pid);
            for &signal in signals {
                // Fails for a process that just ended, or that we may not signal: both show afterwards.
                let _ = sys::signal::send(pidfd.as_fd(), signal);
            }
        }
    }

    pub(super) fn kill(&self) {
        // Fails only when the cgroup is gone, with everything in it.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    pub(super) async fn emptied(&self) -> io::Result<()> {
        let events = match File::open(self.path.join("cgroup.events")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        // The kernel tells a change of this file as "priority" readiness, once since the last reading.
        let events = WatchedFd::new(events.into(), Interest::PRIORITY)?;
        while is_populated(events.get_ref())? {
            events.ready(Interest::PRIORITY).await?.clear_ready();
        }
        Ok(())
    }

    /// Removes the cgroup unless a process lives in it; says whether it is gone.
    pub(super) fn remove(&self) -> bool {
        let removed = self.removed.load(Ordering::Acquire) || remove_tree(&self.path);
        self.removed.store(removed, Ordering::Release);
        removed
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        if self.remove() {
            return;
        }
        // Whoever ends a tree waits for it, and only then drops it. So the runtime is shutting down, or some process
        // would not end.
        self.kill();
        let _ = wait_until_empty(&self.path);
        if !self.remove() {
            tracing::warn!(path = %self.path.display(), "left a cgroup behind: processes live in it");
        }
    }
}

/// This process's cgroup in the unified hierarchy, as a path here.
fn own_cgroup() -> io::Result<PathBuf> {
    let missing = || io::Error::new(io::ErrorKind::Unsupported, "no cgroup2 file system is mounted");
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let (root, mount) = mounts.lines().find_map(cgroup2_mount).ok_or_else(missing)?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::")).ok_or_else(missing)?;
    // A container may see only a part of the hierarchy mounted, while the path counts from its top.
    let below = Path::new(path).strip_prefix(&root).map_err(|_| missing())?;
    let own = Path::new(&mount).join(below);
    // Where an earlier server, or we, stepped aside.
    Ok(if own.ends_with(aside::ASIDE) { own.parent().map_or(own.clone(), Path::to_owned) } else { own })
}

/// Root and mount point, if a line of mountinfo is about the unified hierarchy.
fn cgroup2_mount(line: &str) -> Option<(String, String)> {
    let (mount, filesystem) = line.split_once(" - ")?;
    if filesystem.split(' ').next()? != "cgroup2" {
        return None;
    }
    let mut fields = mount.split(' ').skip(3);
    Some((unescape(fields.next()?), unescape(fields.next()?)))
}

/// Undoes mountinfo's octal escapes of blanks and backslashes.
fn unescape(field: &str) -> String {
    field.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// Makes and locks a directory for this server below `own`.
fn make_locked(own: &Path) -> io::Result<(PathBuf, File)> {
    let pid = std::process::id();
    for attempt in 0..ATTEMPTS {
        // Distinct in this process too, and where another process id namespace has our number.
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let path = own.join(format!("{PREFIX}{pid}-{}", SERIAL.fetch_add(1, Ordering::Relaxed)));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other?,
        }
        // Until it is locked another server may take it for a dead one's.
        if let Ok(dir) = File::open(&path)
            && rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive).is_ok()
            && path.exists()
        {
            return Ok((path, dir));
        }
        tracing::debug!(attempt, "another server cleared our new cgroup away");
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "other servers kept clearing our cgroup away"))
}

/// Ends what dead servers left: nobody can reach those programs any more.
fn clear_dead_homes(own: &Path) {
    let Ok(entries) = fs::read_dir(own) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_home = path.file_name().and_then(|name| name.to_str()).is_some_and(|n| n.starts_with(PREFIX));
        if !is_home {
            continue;
        }
        let Ok(dir) = File::open(&path) else { continue };
        if rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive).is_ok() {
            tracing::info!(path = %path.display(), "clearing the cgroup of a dead server away");
            let _ = fs::write(path.join("cgroup.kill"), "1");
            // What is not empty in time goes when the next server starts.
            let _ = wait_until_empty(&path);
            remove_tree(&path);
        }
    }
}

/// Waits, blocking, until no process lives in a cgroup, but not longer than [`CLEAR_LIMIT`].
fn wait_until_empty(path: &Path) -> io::Result<()> {
    let events = File::open(path.join("cgroup.events"))?.into();
    let end = Instant::now() + CLEAR_LIMIT;
    while is_populated(&events)? && Instant::now() < end {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        match rustix::event::poll(&mut [PollFd::new(&events, PollFlags::PRI)], Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Processes in a cgroup and in those below it, which a program may have made.
fn collect_members(path: &Path, into: &mut Vec<u32>) {
    if let Ok(procs) = fs::read_to_string(path.join("cgroup.procs")) {
        // 0 stands for a process that this process id namespace cannot see.
        into.extend(procs.lines().filter_map(|pid| pid.parse::<u32>().ok()).filter(|&pid| pid != 0));
    }
    for below in subdirectories(path) {
        collect_members(&below, into);
    }
}

fn subdirectories(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let is_dir = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.flatten().filter(is_dir).map(|entry| entry.path()).collect()
}

/// Removes a cgroup and those below it; says whether it is gone.
fn remove_tree(path: &Path) -> bool {
    let gone = |path: &Path| match fs::remove_dir(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    // Mostly there is nothing below, and one call does.
    if gone(path) {
        return true;
    }
    for below in subdirectories(path) {
        remove_tree(&below);
    }
    gone(path)
}

fn is_populated(events: &OwnedFd) -> io::Result<bool> {
    // Two short lines.
    let mut text = [0; 128];
    match rustix::io::pread(events, &mut text, 0).map_err(io::Error::from) {
        Ok(length) => Ok(text[..length].split(|&byte| byte == b'\n').any(|line| line == b"populated 1")),
        // The cgroup was removed while its file was open.
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unified_hierarchy_is_found_among_the_mounts() {
        let unified = r"41 31 0:38 / /sys/fs/cgroup/uni\040fied rw,relatime shared:9 - cgroup2 cgroup2 rw";
        assert_eq!(cgroup2_mount(unified), Some(("/".to_owned(), "/sys/fs/cgroup/uni fied".to_owned())));
        assert_eq!(cgroup2_mount("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
    }

    #[test]
    fn what_a_dead_server_left_is_ended_and_removed_and_a_living_ones_is_not() {
        use std::os::unix::process::ExitStatusExt;
        let Ok(living) = Home::open() else {
            eprintln!("no cgroup can be used here");
            return;
        };
        let dead = own_cgroup().unwrap().join(format!("{PREFIX}dead-{}", std::process::id()));
        fs::create_dir_all(dead.join("program-0")).unwrap();
        let mut orphan = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        fs::write(dead.join("program-0/cgroup.procs"), orphan.id().to_string()).unwrap();
        let _next = Home::open().unwrap();
        assert_eq!(orphan.wait().unwrap().signal(), Some(libc::SIGKILL));
        assert!(!dead.exists());
        assert!(living.path.exists());
        let path = living.path.clone();
        drop(living);
        assert!(!path.exists());
    }
}
