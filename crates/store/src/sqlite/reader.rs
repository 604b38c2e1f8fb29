//! The thread that reads.

use std::path::PathBuf;
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::StoreError;
use crate::sqlite::fault::Fault;

/// How many jobs wait for the thread; further callers wait outside.
const QUEUE: usize = 64;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The thread that reads, and the way to it. It sees what was committed and holds up nobody who writes.
pub(super) struct Reader {
    path: PathBuf,
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    pub(super) fn start(path: PathBuf, mut connection: Connection) -> Result<Self, StoreError> {
        let (jobs, mut queue) = mpsc::channel::<Job>(QUEUE);
        let why = path.clone();
        let thread = std::thread::Builder::new()
            .name("store-reader".to_owned())
            .spawn(move || {
                while let Some(job) = queue.blocking_recv() {
                    job(&mut connection);
                }
            })
            .map_err(|error| StoreError::Internal { path: why, why: error.to_string() })?;
        Ok(Self { path, jobs: Some(jobs), thread: Some(thread) })
    }

    /// Reads, all from one state of the database.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let path = self.path.clone();
        let work = move |connection: &mut Connection| {
            let read = connection.transaction().map_err(Fault::from).and_then(|state| job(&state));
            let _nobody_waits = answer.send(read.map_err(|fault| fault.told(&path)));
        };
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(Box::new(work)).await.map_err(|_closed| StoreError::Closed)?;
        answered.await.map_err(|_closed| StoreError::Closed)?
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}
