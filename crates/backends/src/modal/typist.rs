//! Typing into a program of a sandbox.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptyard_core::TerminalId;
use ptyard_modal_wire::router::TaskExecStdinStatusRequest;

use super::api::CALL_LIMIT;
use super::exec::Exec;
use super::follow::bear;
use super::patience::Patience;
use super::place::Place;
use crate::remote::http::CallError;
use crate::remote::input;

/// How long one call waits for a program that does not read; then it is made again.
const WRITE_LIMIT: Duration = Duration::from_secs(60);

/// Who types into one program.
///
/// # Invariants
/// 1. A piece goes to its own offset, and the next one only when it was taken: nothing is typed twice or out of order,
///    however often it is sent.
#[derive(Debug, Clone)]
pub(super) struct Typist {
    place: Place,
    id: TerminalId,
    /// How many bytes were taken; `None` when only the machine knows.
    taken: Arc<Mutex<Option<u64>>>,
}

/// Whether more input can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Here,
    Later,
}

impl Typist {
    /// Of a program to which nothing was typed yet.
    pub(super) fn new(place: Place, id: TerminalId) -> Self {
        Self { place, id, taken: Arc::new(Mutex::new(Some(0))) }
    }

    /// Of one to which somebody may have typed.
    pub(super) fn again(place: Place, id: TerminalId) -> Self {
        Self { place, id, taken: Arc::default() }
    }

    async fn write(self, data: Vec<u8>, end: End) -> Result<(), CallError> {
        // Until it is known what became of this piece, only the machine knows.
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner).take();
        let joined = self.place.joined().await?;
        let exec = Exec::of(&joined.router, self.id);
        let at = match taken {
            Some(at) => at,
            None => {
                let (task_id, exec_id) = (joined.router.task(), exec.id.clone());
                let status = TaskExecStdinStatusRequest { task_id, exec_id };
                joined.router.ask(&status, CALL_LIMIT).await?.num_bytes_written
            }
        };
        let then = at + data.len() as u64;
        let request = exec.write(at, data, end == End::Here);
        let mut patience = Patience::new(joined.router.api().settings().patience);
        loop {
            match joined.router.ask_once(&request, WRITE_LIMIT).await {
                Ok(_) => break,
                Err(error) if error.is_over_time() => patience.went_well(),
                Err(error) => bear(&mut patience, &joined, &error).await?,
            }
        }
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(then);
        Ok(())
    }
}

impl input::Typist for Typist {
    const PIECE: usize = 64 << 10;

    fn send(&self, bytes: Vec<u8>) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        self.clone().write(bytes, End::Later)
    }

    fn close(&self) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        self.clone().write(Vec::new(), End::Here)
    }
}
