//! All the processes that came of one program, those that left its session included.

pub(super) mod cgroup;
pub(super) mod procfs;
pub(super) mod walk;

use std::future::pending;

use self::cgroup::Leaf;
use self::walk::Walk;

/// How the processes of one program are known.
#[derive(Debug)]
pub(super) enum Tree {
    /// They are in a cgroup of their own, which they cannot leave.
    Cgroup(Leaf),
    /// They are looked for among all processes.
    Walk(Walk),
}

impl Tree {
    /// The processes that live now. Reads `/proc` or the cgroup file system: some 20 microseconds with a cgroup, a
    /// millisecond or more without.
    pub(super) fn members(&self) -> Vec<u32> {
        match self {
            Self::Cgroup(leaf) => leaf.members(),
            Self::Walk(walk) => walk.members(),
        }
    }

    /// Sends `signals`, in this order, to every process that lives now.
    pub(super) fn signal(&self, signals: &[i32]) {
        match self {
            Self::Cgroup(leaf) => leaf.signal(signals),
            Self::Walk(walk) => walk.signal(signals),
        }
    }

    /// KILL to every process, in such a way that none escapes by forking meanwhile.
    pub(super) fn kill(&self) {
        match self {
            Self::Cgroup(leaf) => leaf.kill(),
            Self::Walk(walk) => walk.kill(),
        }
    }

    /// Waits until no process lives. Cancel-safe.
    pub(super) async fn emptied(&self) {
        let watched = match self {
            Self::Cgroup(leaf) => leaf.emptied().await,
            Self::Walk(walk) => walk.emptied().await,
        };
        if let Err(error) = watched {
            // Out of descriptors. Whoever waits has a limit of his own, and looks again when it is over.
            tracing::warn!(%error, "cannot watch a program's processes");
            pending::<()>().await;
        }
    }

    /// Gives back what the kernel holds for the tree, if no process lives; says whether that is so.
    pub(super) fn release(&self) -> bool {
        match self {
            Self::Cgroup(leaf) => leaf.remove(),
            Self::Walk(walk) => walk.program_was_reaped(),
        }
    }
}
