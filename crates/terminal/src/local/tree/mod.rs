//! All the processes that came of one program, those that left its session included.

mod aside;
pub(super) mod ceilings;
pub(super) mod cgroup;
pub(super) mod procfs;
pub(super) mod walk;

use std::collections::HashSet;
use std::future::pending;
use std::io;
use std::sync::Arc;

use tokio::io::Interest;

use crate::sys::watched::WatchedFd;

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

    /// Sends `signals`, in this order, to every process that lives now and is not in `asked` yet, and adds it.
    pub(super) fn ask(&self, signals: &[i32], asked: &mut HashSet<u32>) {
        match self {
            Self::Cgroup(leaf) => leaf.ask(signals, asked),
            Self::Walk(walk) => walk.ask(signals, asked),
        }
    }

    /// KILL to every process, in such a way that none escapes by forking meanwhile.
    pub(super) fn kill(&self) {
        match self {
            Self::Cgroup(leaf) => leaf.kill(),
            Self::Walk(walk) => walk.kill(),
        }
    }

    /// Whether the kernel ended processes because their memory ran out.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        match self {
            Self::Cgroup(leaf) => leaf.ran_out_of_memory(),
            Self::Walk(_) => false,
        }
    }

    /// Waits until a process was refused because there were too many; `None` when as many may be as will.
    pub(super) fn too_many_processes(&self) -> Option<impl Future<Output = io::Result<()>> + Send + use<>> {
        match self {
            Self::Cgroup(leaf) => leaf.too_many_processes(),
            Self::Walk(_) => None,
        }
    }

    /// Waits until no process lives. Cancel-safe.
    pub(super) async fn emptied(self: &Arc<Self>) {
        let watched = match &**self {
            Self::Cgroup(leaf) => leaf.emptied().await,
            Self::Walk(_) => self.walked_empty().await,
        };
        if let Err(error) = watched {
            // Out of descriptors. Whoever waits has a limit of his own, and looks again when it is over.
            tracing::warn!(%error, "cannot watch a program's processes");
            pending::<()>().await;
        }
    }

    /// Waits for the end of all processes that live now, and looks again, until none is found.
    async fn walked_empty(self: &Arc<Self>) -> io::Result<()> {
        loop {
            let living = self.off_runtime(|tree| match tree {
                Self::Walk(walk) => walk.living(),
                Self::Cgroup(_) => Ok(Vec::new()),
            });
            let Some(living) = living.await.transpose()? else { return pending().await };
            if living.is_empty() {
                return Ok(());
            }
            for pidfd in living {
                // Readable from the process's end on.
                let _ = WatchedFd::new(pidfd, Interest::READABLE)?.readable().await?;
            }
        }
    }

    /// Looks at the tree where blocking is allowed. `None` when the runtime is shutting down.
    pub(super) async fn off_runtime<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Option<T> {
        let tree = Arc::clone(self);
        tokio::task::spawn_blocking(move || look(&tree)).await.ok()
    }

    /// Gives back what the kernel holds for the tree, if no process lives; says whether that is certain.
    pub(super) fn release(&self) -> bool {
        match self {
            Self::Cgroup(leaf) => leaf.remove(),
            // It holds nothing, and looking is not worth it.
            Self::Walk(_) => false,
        }
    }
}
