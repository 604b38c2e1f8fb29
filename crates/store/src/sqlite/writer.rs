//! The thread that writes.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::answer::Survives;
use crate::error::StoreError;
use crate::sqlite::fault::{Fault, told};

/// How many jobs wait for the thread; further callers wait outside.
const QUEUE: usize = 256;

/// How many jobs share one commit.
const GROUP: usize = 256;

struct Job {
    survives: Survives,
    work: Box<dyn FnOnce(Place<'_>) -> Done + Send>,
}

/// Where a job is done: in an open transaction of the database at a path; or why there is none.
type Place<'a> = Result<(&'a Connection, &'a Path), StoreError>;

/// A job that was done, or tried, and is not answered yet.
struct Done {
    /// Why it failed. Then it has left nothing.
    failed: Option<StoreError>,
    /// Answers, given the fate of the transaction.
    tell: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

/// The thread that writes, and the way to it.
pub(super) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(path: PathBuf, connection: Connection) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let group = Group { path: path.clone(), connection, survives: Survives::Machine };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || group.serve(queue))
            .map_err(|error| StoreError::Internal { path, why: error.to_string() })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Does a job and answers when it is committed. Dropped after it was queued, the job is done all the same.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        survives: Survives,
        job: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run_and_tell(survives, job, |_| ()).await
    }

    /// The same, and `tell` is called when it is committed, before any later job is answered.
    pub(super) async fn run_and_tell<T: Send + 'static>(
        &self,
        survives: Survives,
        job: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
        tell: impl FnOnce(&T) + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let work = move |place: Place<'_>| {
            let done =
                place.and_then(|(connection, path)| alone(connection, job).map_err(|fault| fault.told(path)));
            let failed = done.as_ref().err().cloned();
            let tell = Box::new(move |fate: Result<(), StoreError>| {
                let outcome = fate.and(done);
                if let Ok(done) = &outcome {
                    tell(done);
                }
                let _nobody_waits = answer.send(outcome);
            });
            Done { failed, tell }
        };
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(Job { survives, work: Box::new(work) }).await.map_err(|_closed| StoreError::Closed)?;
        answered.await.map_err(|_closed| StoreError::Closed)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        // Whoever is told of a job may hold the last handle of a store, on this very thread, which cannot wait for itself.
        let others = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id());
        if let Some(thread) = others {
            let _panicked = thread.join();
        }
    }
}

/// Does a job so that it leaves nothing when it fails, and the other jobs of the transaction as they are.
fn alone<T>(connection: &Connection, job: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
    let run = |sql: &str| connection.prepare_cached(sql)?.execute([]);
    run("SAVEPOINT job")?;
    let done = job(connection);
    // After some errors, a full disk among them, the database has taken the whole transaction back.
    if !connection.is_autocommit() {
        if done.is_err() {
            run("ROLLBACK TO job")?;
        }
        run("RELEASE job")?;
    }
    done
}

/// # Invariants
/// 1. No job is answered before the fate of its transaction is known.
/// 2. No job is done outside a transaction.
struct Group {
    path: PathBuf,
    connection: Connection,
    /// What a commit survives at the moment.
    survives: Survives,
}

impl Group {
    fn serve(mut self, mut queue: mpsc::Receiver<Job>) {
        while let Some(first) = queue.blocking_recv() {
            let mut jobs = VecDeque::from([first]);
            while jobs.len() < GROUP
                && let Ok(job) = queue.try_recv()
            {
                jobs.push_back(job);
            }
            while !jobs.is_empty() {
                self.commit(&mut jobs);
            }
        }
    }

    /// Does jobs in one transaction and answers them. Jobs that are left over had no part in it.
    fn commit(&mut self, jobs: &mut VecDeque<Job>) {
        let mut done = Vec::with_capacity(jobs.len());
        let fate = self.transaction(jobs, &mut done);
        if let Err(error) = &fate {
            tracing::warn!(%error, jobs = done.len(), "nothing was stored");
            if !self.connection.is_autocommit() {
                let _taken_back = self.run("ROLLBACK");
            }
        }
        for one in done {
            (one.tell)(fate.clone());
        }
    }

    fn transaction(&mut self, jobs: &mut VecDeque<Job>, done: &mut Vec<Done>) -> Result<(), StoreError> {
        if let Err(error) = self.begin(jobs) {
            done.extend(jobs.drain(..).map(|job| (job.work)(Err(error.clone()))));
            return Err(error);
        }
        while let Some(job) = jobs.pop_front() {
            debug_assert!(!self.connection.is_autocommit(), "invariant 2");
            let one = (job.work)(Ok((&self.connection, &self.path)));
            let failed = one.failed.clone();
            done.push(one);
            if self.connection.is_autocommit() {
                return Err(failed.unwrap_or(StoreError::Closed));
            }
        }
        self.run("COMMIT")
    }

    /// Opens a transaction. Of the jobs the one that asks most of the disk decides for all.
    fn begin(&mut self, jobs: &VecDeque<Job>) -> Result<(), StoreError> {
        let survives = jobs.iter().map(|job| job.survives).max().unwrap_or(Survives::Server);
        if survives != self.survives {
            // A write-ahead log that is not synchronised survives the server, because the kernel has it.
            self.run(match survives {
                Survives::Server => "PRAGMA synchronous = NORMAL",
                Survives::Machine => "PRAGMA synchronous = FULL",
            })?;
            self.survives = survives;
        }
        self.run("BEGIN IMMEDIATE")
    }

    fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(|error| told(&error, &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_13_a_commit_for_the_machine_is_synchronised_and_one_for_the_server_is_not() {
        let connection = Connection::open_in_memory().unwrap();
        let mut group = Group { path: PathBuf::new(), connection, survives: Survives::Machine };
        group.run("PRAGMA synchronous = FULL").unwrap();
        for (asked, setting) in [
            (vec![Survives::Server], 1),
            (vec![Survives::Server, Survives::Machine, Survives::Server], 2),
            (vec![Survives::Machine], 2),
            (vec![Survives::Server, Survives::Server], 1),
        ] {
            let jobs = asked.into_iter().map(|survives| {
                let work = |place: Place<'_>| {
                    let (connection, _) = place.unwrap();
                    let now: i64 =
                        connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
                    Done {
                        failed: Some(StoreError::UnknownFlow(now.to_string())),
                        tell: Box::new(|_fate| ()),
                    }
                };
                Job { survives, work: Box::new(work) }
            });
            let mut done = Vec::new();
            group.transaction(&mut jobs.collect(), &mut done).unwrap();
            for one in done {
                assert_eq!(one.failed, Some(StoreError::UnknownFlow(setting.to_string())));
            }
        }
    }

    #[test]
    fn a_job_that_fails_half_way_leaves_nothing_and_its_neighbours_as_they_are() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (n INTEGER)").unwrap();
        connection.execute_batch("BEGIN").unwrap();
        let put = |n: i64| {
            move |connection: &Connection| -> Result<(), Fault> {
                connection.execute("INSERT INTO t VALUES (?1)", [n])?;
                if n == 2 { Err(StoreError::Closed.into()) } else { Ok(()) }
            }
        };
        assert!(alone(&connection, put(1)).is_ok());
        assert!(alone(&connection, put(2)).is_err());
        assert!(alone(&connection, put(3)).is_ok());
        connection.execute_batch("COMMIT").unwrap();
        let left: i64 = connection.query_row("SELECT sum(n) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 4);
    }
}
