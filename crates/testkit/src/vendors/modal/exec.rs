//! A program on the machine of a sandbox: all it printed, by offset, and how much was typed.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptyard_modal_wire::router::{ExitStatus, TaskExecStdinStatusResponse};
use tokio::sync::{mpsc, watch};
use tonic::Status;

use super::locked;
use crate::vendors::program::{Event, Program, Stream};

/// A program.
#[derive(Debug)]
pub(super) struct Exec {
    program: Program,
    pub(super) out: Kept,
    pub(super) err: Kept,
    input: tokio::sync::Mutex<Input>,
    end: watch::Sender<Option<ExitStatus>>,
}

/// What was typed.
#[derive(Debug, Default)]
struct Input {
    written: u64,
    closed: bool,
}

/// Output, kept from its beginning.
#[derive(Debug, Default)]
pub(super) struct Kept {
    bytes: Mutex<Vec<u8>>,
    state: watch::Sender<State>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    length: usize,
    closed: bool,
}

impl Kept {
    fn add(&self, more: &[u8]) {
        let mut bytes = locked(&self.bytes);
        bytes.extend_from_slice(more);
        let length = bytes.len();
        self.state.send_modify(|state| state.length = length);
    }

    fn close(&self) {
        self.state.send_modify(|state| state.closed = true);
    }

    /// What there is from this byte on, at most so much of it, once there is something; `None` at the end.
    pub(super) async fn from(&self, offset: usize, most: usize) -> Option<Vec<u8>> {
        let mut states = self.state.subscribe();
        let ready = states.wait_for(|state| state.length > offset || state.closed).await;
        let state = *ready.expect("the sender is there");
        if state.length <= offset {
            return None;
        }
        let bytes = locked(&self.bytes);
        let end = bytes.len().min(offset.saturating_add(most));
        Some(bytes[offset..end].to_vec())
    }
}

impl Exec {
    /// Follows a program; `late` is how long after its end the last of its output comes.
    pub(super) fn of(program: Program, events: mpsc::Receiver<Event>, late: Option<Duration>) -> Arc<Self> {
        let exec = Arc::new(Self {
            program,
            out: Kept::default(),
            err: Kept::default(),
            input: tokio::sync::Mutex::default(),
            end: watch::Sender::new(None),
        });
        tokio::spawn(Arc::clone(&exec).keep(events, late));
        exec
    }

    async fn keep(self: Arc<Self>, mut events: mpsc::Receiver<Event>, late: Option<Duration>) {
        let mut held = None;
        while let Some(event) = events.recv().await {
            match event {
                Event::Output(stream, bytes) => {
                    // The last one is only known when another one comes.
                    let next =
                        if late.is_some() { held.replace((stream, bytes)) } else { Some((stream, bytes)) };
                    if let Some((stream, bytes)) = next {
                        self.of_stream(stream).add(&bytes);
                    }
                }
                Event::End(status) => {
                    self.end.send_replace(Some(match status & 0x7f {
                        0 => ExitStatus::Code((status >> 8) & 0xff),
                        signal => ExitStatus::Signal(signal),
                    }));
                }
            }
        }
        if let Some(late) = late {
            tokio::time::sleep(late).await;
        }
        if let Some((stream, bytes)) = held {
            self.of_stream(stream).add(&bytes);
        }
        self.out.close();
        self.err.close();
    }

    const fn of_stream(&self, stream: Stream) -> &Kept {
        match stream {
            Stream::Tty | Stream::Out => &self.out,
            Stream::Err => &self.err,
        }
    }

    pub(super) fn ended(&self) -> Option<ExitStatus> {
        *self.end.borrow()
    }

    pub(super) async fn end(&self) -> ExitStatus {
        let mut ends = self.end.subscribe();
        let ended = ends.wait_for(Option::is_some).await.expect("the sender is there");
        ended.expect("it was waited for")
    }

    /// Types what was not typed before, and no other call at the same time.
    pub(super) async fn write(&self, offset: u64, data: &[u8], eof: bool) -> Result<(), Status> {
        let mut input = self.input.lock().await;
        if offset > input.written {
            let message = format!("offset {offset} is beyond the {} bytes that were written", input.written);
            return Err(Status::failed_precondition(message));
        }
        let known = usize::try_from(input.written - offset).unwrap_or(usize::MAX).min(data.len());
        let new = &data[known..];
        if !new.is_empty() {
            if input.closed {
                return Err(Status::failed_precondition("the input was closed"));
            }
            self.program.write(new).await.map_err(|error| of_io(&error))?;
            input.written += new.len() as u64;
        }
        if eof && !input.closed {
            input.closed = true;
            self.program.close_input().await;
        }
        Ok(())
    }

    pub(super) async fn input(&self) -> TaskExecStdinStatusResponse {
        let input = self.input.lock().await;
        TaskExecStdinStatusResponse { num_bytes_written: input.written, closed: input.closed }
    }
}

fn of_io(error: &io::Error) -> Status {
    Status::failed_precondition(format!("the program does not take it: {error}"))
}
