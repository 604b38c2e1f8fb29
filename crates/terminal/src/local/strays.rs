//! Reaping the orphans that this process adopted.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::AbortHandle;

use super::fork;
use super::tree::procfs;

/// How many adoptions there are. Adopting is a property of the whole process.
static ADOPTIONS: Mutex<usize> = Mutex::new(0);

/// This process adopts orphans among its descendants, and reaps them, until the last of these is dropped.
#[derive(Debug)]
pub(super) struct Adoption {
    reaping: AbortHandle,
}

/// Adopts orphans from now on. Must be called in a runtime, which does the reaping.
pub(super) fn adopt() -> io::Result<Adoption> {
    let mut ended = signal(SignalKind::child())?;
    let mut adoptions = ADOPTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    *adoptions += 1;
    let reaping = tokio::spawn(async move {
        while ended.recv().await.is_some() {
            // Reads /proc, which is not for a runtime's own threads. It fails only when the runtime is going away.
            let _ = tokio::task::spawn_blocking(reap).await;
        }
    });
    Ok(Adoption { reaping: reaping.abort_handle() })
}

impl Drop for Adoption {
    fn drop(&mut self) {
        self.reaping.abort();
        let mut adoptions = ADOPTIONS.lock().unwrap_or_else(PoisonError::into_inner);
        *adoptions -= 1;
        if *adoptions == 0 {
            // Later orphans go to whoever reaps for the whole system.
            let _ = rustix::process::set_child_subreaper(None);
        }
    }
}

/// Reaps the orphans that ended: children of this process that nobody waits for and that are in a session of their
/// own. Every launched program starts one, so all its descendants are in some session that is not ours; children
/// that other parts of this process started stay in ours, and are left to whoever waits for them.
pub(super) fn reap() {
    let own_pid = std::process::id();
    // Held over the look and the reaping: a child enters the set in the same step in which it is made.
    let awaited = fork::awaited();
    let processes = procfs::census().processes;
    // Not by `getsid`: the leader of our session may be outside of our pid namespace, which makes the session 0, as in
    // a container whose first process is not a leader. /proc says the same 0 of the children that stayed in it.
    let Some(own_session) = processes.iter().find(|process| process.pid == own_pid).map(|own| own.session)
    else {
        return;
    };
    for process in processes {
        let stray = process.is_dead()
            && process.parent == own_pid
            && process.session != own_session
            && !awaited.contains(&process.pid);
        if stray && let Some(pid) = Pid::from_raw(process.pid.cast_signed()) {
            let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}
