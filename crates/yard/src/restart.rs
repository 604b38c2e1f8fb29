//! The terminals of an earlier server.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::backend::Earlier;
use ptyard_terminal::log::{LogWriter, recover};
use ptyard_terminal::{Resumed, Surroundings, Terminal};

use crate::entry::Entry;
use crate::error::YardError;
use crate::observe::EventObserver;
use crate::position::Position;
use crate::record::{Record, Stage};
use crate::yard::Yard;

/// Whether a log cannot be written now, but could be later.
fn is_of_the_disk(error: &YardError) -> bool {
    matches!(error.code(), ErrorCode::DiskFull | ErrorCode::StateUnwritable)
}

impl Yard {
    /// Finds every terminal there was, with its ids. Those whose programs are still there go on; the others are past.
    pub(crate) fn find_earlier_terminals(&self) -> Result<(), YardError> {
        let _in_a_lane = self.inner.lanes.enter();
        let backends = self.inner.backends.values();
        let mut running: HashMap<TerminalId, Earlier> =
            backends.flat_map(|backend| backend.earlier()).map(|earlier| (earlier.id, earlier)).collect();
        for id in self.inner.state.terminals()? {
            let directory = self.inner.state.terminal(id);
            match self.find_earlier_terminal(&directory, id, running.remove(&id)) {
                Ok(Some(entry)) => {
                    let mut registry = self.registry();
                    registry.short_ids.keep(entry.record.session_id);
                    registry.insert(Arc::new(entry));
                }
                Ok(None) => {}
                // Whoever cannot go on with a program leaves it, and all others, to a server that can.
                Err(error) if is_of_the_disk(&error) => {
                    std::mem::forget(running);
                    return Err(error);
                }
                Err(error) => tracing::warn!(%id, %error, "a terminal of an earlier server cannot be read"),
            }
        }
        for id in running.into_keys() {
            // Dropped, it is ended.
            tracing::warn!(%id, "a program is ended: its terminal was removed while the server died");
        }
        Ok(())
    }

    /// `None` when no program was ever started there; then nothing is left of it.
    fn find_earlier_terminal(
        &self,
        directory: &Path,
        id: TerminalId,
        running: Option<Earlier>,
    ) -> Result<Option<Entry>, YardError> {
        let record = Record::read(directory).map_err(|error| YardError::State {
            code: ErrorCode::Internal,
            message: format!("{}: {error}", directory.display()),
        })?;
        let position = Position::read(directory);
        let resumed = Resumed { io: record.io(), directory, position: position.offset };
        let terminal = match running {
            Some(running) => {
                let surroundings = Surroundings {
                    clock: self.inner.clock,
                    log: self.inner.config.log,
                    observer: Arc::new(EventObserver { id, events: self.inner.events.clone() }),
                    pauses: self.inner.config.pauses.clone(),
                };
                match LogWriter::reopen(directory, self.inner.config.log).map_err(YardError::from) {
                    Ok(log) => Ok(Terminal::resume(running, log, resumed, surroundings)),
                    Err(error) => {
                        if is_of_the_disk(&error) {
                            // Dropped, it would be ended.
                            std::mem::forget(running);
                        }
                        // Of a program that has ended the log can be read without a place on the disk.
                        let has_ended = recover(directory).is_ok_and(|log| log.seal.is_some());
                        if !has_ended {
                            return Err(error);
                        }
                        Terminal::past(id, resumed, self.inner.clock)
                    }
                }
            }
            None => {
                if let Some(process) = record.process.as_ref().filter(|process| process.is_there()) {
                    tracing::warn!(%id, pid = process.pid, "a program runs that nobody can reach any more");
                }
                Terminal::past(id, resumed, self.inner.clock)
            }
        };
        let terminal = terminal?;
        let is_there = record.stage == Stage::Started || terminal.pid().is_some();
        if !is_there && terminal.log().bounds().end == 0 {
            drop(terminal);
            ptyard_terminal::log::remove(directory)?;
            return Ok(None);
        }
        Ok(Some(Entry::earlier(terminal, record, position, self.inner.clock.now())))
    }
}
