//! A terminal: a shell, what it printed last, and who listens.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use tokio::sync::mpsc;

use super::locked;
use crate::vendors::program::{Event, Order, Program};

/// How much of its output a terminal replays.
pub(super) const REPLAY_BYTES: usize = 256 << 10;

/// Events that wait for one listener; the program waits beyond that.
const EVENTS: usize = 64;

/// What a terminal tells.
#[derive(Debug, Clone)]
pub(super) enum Told {
    Output(Vec<u8>),
    /// Its shell has ended, with this status of wait(2).
    Exit(i32),
}

/// A terminal.
#[derive(Debug)]
pub(super) struct Pty {
    /// Gone when it was destroyed.
    program: Mutex<Option<Arc<Program>>>,
    heard: Mutex<Heard>,
}

#[derive(Debug)]
struct Heard {
    replay: VecDeque<u8>,
    limit: usize,
    listeners: Vec<mpsc::Sender<Told>>,
}

impl Pty {
    pub(super) fn start(order: &Order, mark: &Path, replay_bytes: usize) -> io::Result<Arc<Self>> {
        let (program, events) = Program::start(order, mark)?;
        let heard = Heard { replay: VecDeque::new(), limit: replay_bytes, listeners: Vec::new() };
        let program = Mutex::new(Some(Arc::new(program)));
        let pty = Arc::new(Self { program, heard: Mutex::new(heard) });
        tokio::spawn(Arc::clone(&pty).tell(events));
        Ok(pty)
    }

    async fn tell(self: Arc<Self>, mut events: mpsc::Receiver<Event>) {
        while let Some(event) = events.recv().await {
            let told = match event {
                Event::Output(_, bytes) => Told::Output(bytes),
                Event::End(status) => Told::Exit(status),
            };
            let listeners = {
                let mut heard = locked(&self.heard);
                if let Told::Output(bytes) = &told {
                    heard.replay.extend(bytes);
                    let over = heard.replay.len().saturating_sub(heard.limit);
                    heard.replay.drain(..over);
                }
                heard.listeners.retain(|listener| !listener.is_closed());
                heard.listeners.clone()
            };
            for listener in listeners {
                let _gone = listener.send(told.clone()).await;
            }
        }
    }

    /// What it printed last, and what it will tell from then on.
    pub(super) fn listen(&self) -> (Vec<u8>, mpsc::Receiver<Told>) {
        let (listener, told) = mpsc::channel(EVENTS);
        let mut heard = locked(&self.heard);
        heard.listeners.push(listener);
        (heard.replay.iter().copied().collect(), told)
    }

    fn program(&self) -> io::Result<Arc<Program>> {
        locked(&self.program).clone().ok_or_else(|| io::Error::other("PTY is closed"))
    }

    pub(super) async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let program = self.program()?;
        program.write(bytes).await
    }

    pub(super) fn resize(&self, cols: u16, rows: u16) -> io::Result<()> {
        self.program()?.resize(cols, rows)
    }

    /// Closes the terminal under its shell, and asks that to leave. Who listens is told nothing, and goes on listening.
    pub(super) fn destroy(&self) {
        if let Some(program) = locked(&self.program).take() {
            program.end(Signal::TERM);
        }
    }
}
