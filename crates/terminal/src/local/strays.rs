//! Reaping the orphans that this process adopted.

use std::io;

use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::AbortHandle;

use super::fork;
use super::tree::procfs;

/// Reaps adopted orphans whenever a child ends, until aborted.
pub(super) fn reap_in_background() -> io::Result<AbortHandle> {
    let mut ended = signal(SignalKind::child())?;
    let task = tokio::spawn(async move {
        while ended.recv().await.is_some() {
            // Reads /proc, which is not for a runtime's own threads. It fails only when the runtime is going away.
            let _ = tokio::task::spawn_blocking(reap).await;
        }
    });
    Ok(task.abort_handle())
}

/// Reaps the orphans that ended: children of this process that nobody waits for and that are in a session of their
/// own. Every launched program starts one, so all its descendants are in some session that is not ours; children
/// that other parts of this process started stay in ours, and are left to whoever waits for them.
fn reap() {
    let own = rustix::process::getpid();
    let own_pid = own.as_raw_nonzero().get().unsigned_abs();
    let Ok(own_session) = rustix::process::getsid(None) else { return };
    let own_session = own_session.as_raw_nonzero().get().unsigned_abs();
    // Held over the look and the reaping: a child enters the set in the same step in which it is made.
    let awaited = fork::awaited();
    for process in procfs::processes() {
        let stray = process.is_dead()
            && process.parent == own_pid
            && process.session != own_session
            && !awaited.contains(&process.pid);
        if stray && let Some(pid) = Pid::from_raw(process.pid.cast_signed()) {
            let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}
