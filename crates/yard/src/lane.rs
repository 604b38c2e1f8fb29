//! The threads that terminals live on.
//!
//! A terminal's actor, its descriptors and the waits for its program stay on one thread with an event loop of its own.
//! Reading a busy terminal is a ping-pong with the kernel, 4 KiB at a time, and part of what it costs is handing over
//! between threads: on a shared pool of two workers, `cat` of 81 MB came to 0.82-0.90 of a plain read loop. A trial
//! with everything, callers included, on one thread kept up with it (0.94-1.10, medians of 5-7 rounds, 2 cores).

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, EnterGuard, Handle};
use tokio::sync::oneshot;

/// Most threads. One carries about 100 MB/s; the programs need the other cores.
const MOST: usize = 8;

/// Threads that terminals live on, each terminal on one. Dropped, they end, and what still runs on them is dropped.
///
/// # Invariants
/// 1. There is at least one.
pub(crate) struct Lanes {
    all: Vec<Lane>,
    next: AtomicUsize,
}

struct Lane {
    runtime: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What was to run on a lane will not: the lanes end.
#[derive(Debug)]
pub(crate) struct LanesEnd;

impl Lanes {
    /// One for every two cores.
    pub(crate) fn open() -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let all = (0..(cores / 2).clamp(1, MOST)).map(Lane::open).collect::<io::Result<_>>()?;
        Ok(Self { all, next: AtomicUsize::new(0) })
    }

    /// In the returned guard's life, tasks and descriptors that this thread makes belong to the first lane.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.all[0].runtime.enter()
    }

    /// Runs `work` on the next lane, in turn. When the caller goes away, `work` goes on and its result is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, LanesEnd> {
        let lane = &self.all[self.next.fetch_add(1, Ordering::Relaxed) % self.all.len()];
        match lane.runtime.spawn(work).await {
            Ok(done) => Ok(done),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_cancelled) => Err(LanesEnd),
            },
        }
    }

    /// How many tasks there are on all of them.
    pub(crate) fn tasks(&self) -> usize {
        self.all.iter().map(|lane| lane.runtime.metrics().num_alive_tasks()).sum()
    }
}

impl Lane {
    fn open(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name(format!("terminals-{number}")).spawn(move || {
            // Ended by the sender, dropped or not.
            let _ = runtime.block_on(stopped);
        })?;
        Ok(Self { runtime: handle, stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The last handle of a yard may be dropped by a task of this very lane, which cannot wait for itself.
        if let Some(thread) =
            self.thread.take().filter(|thread| thread.thread().id() != thread::current().id())
        {
            // A panic in there was told by the panic hook.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_runs_on_a_lane_and_its_result_comes_back() {
        let lanes = Lanes::open().unwrap();
        let name = lanes.run(async { thread::current().name().map(str::to_owned) }).await.unwrap();
        assert!(name.unwrap().starts_with("terminals-"));
    }

    #[tokio::test]
    async fn work_of_a_caller_who_went_away_goes_on() {
        let lanes = Lanes::open().unwrap();
        let (begun, has_begun) = oneshot::channel();
        let (go_on, told) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        {
            let work = lanes.run(async move {
                begun.send(()).unwrap();
                told.await.unwrap();
                done.send(()).unwrap();
            });
            tokio::select! {
                _ = work => unreachable!("it waits"),
                begun = has_begun => begun.unwrap(),
            }
        }
        go_on.send(()).unwrap();
        is_done.await.unwrap();
    }

    #[tokio::test]
    async fn what_runs_when_they_end_is_dropped() {
        let lanes = Lanes::open().unwrap();
        let (kept, gone) = oneshot::channel::<()>();
        let handle = lanes.all[0].runtime.clone();
        handle.spawn(async move {
            let _kept = kept;
            std::future::pending::<()>().await;
        });
        drop(lanes);
        assert!(gone.await.is_err());
    }
}
