//! The terminals of an earlier server.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_store::wait;
use ptyard_terminal::backend::{Earlier, Orphan};
use ptyard_terminal::log::{LogWriter, Recovered, recover};
use ptyard_terminal::{Resumed, Surroundings, Terminal, on_every_core};

use crate::entry::Entry;
use crate::error::YardError;
use crate::exec::LOCAL;
use crate::position::Position;
use crate::record::{Record, Stage};
use crate::yard::Yard;

/// Where an earlier version wrote a terminal down: beside its log.
const RECORD_FILE: &str = "terminal.json";

/// Whether a log cannot be had now, but could be later: the disk is in the way, or whoever holds it.
fn is_for_now(error: &YardError) -> bool {
    matches!(error.code(), ErrorCode::DiskFull | ErrorCode::StateUnwritable | ErrorCode::StateLocked)
}

/// The last bytes of a log, at most as many as these; fewer when they cannot be read.
fn last_of(log: &Recovered, most: usize) -> Vec<u8> {
    let mut last = Vec::new();
    if most > 0 {
        let from = log.end.saturating_sub(most as u64);
        if let Err(error) = log.reader.read(from, most, &mut last) {
            tracing::warn!(%error, "the end of a log cannot be read");
        }
    }
    last
}

impl Yard {
    /// Finds every terminal there was, with its ids. Those whose programs are still there go on; the others are past.
    pub(crate) fn find_earlier_terminals(&self) -> Result<(), YardError> {
        if let Err(error) = self.inner.state.sweep() {
            tracing::warn!(%error, "what removals left is not removed");
        }
        let backends = self.inner.backends.values();
        let mut running: HashMap<TerminalId, Earlier> =
            backends.flat_map(|backend| backend.earlier()).map(|earlier| (earlier.id, earlier)).collect();
        if let Err(error) = self.find_among(&mut running) {
            // Whoever cannot go on with a program leaves it, and all others, to a server that can.
            std::mem::forget(running);
            return Err(error);
        }
        for id in running.into_keys() {
            // Dropped, it is ended.
            tracing::warn!(%id, "a program is ended: its terminal was removed while the server died");
        }
        Ok(())
    }

    fn find_among(&self, running: &mut HashMap<TerminalId, Earlier>) -> Result<(), YardError> {
        let mut unknown: BTreeSet<TerminalId> = self.inner.state.terminals()?.into_iter().collect();
        let known = wait(self.inner.store.terminals())?.into_iter().map(|row| {
            let id = row.id;
            let record = Record::of_row(&row).map_err(|error| YardError::Internal(error.to_string()));
            let has_log = unknown.remove(&id);
            let running = if record.is_ok() { running.remove(&id) } else { None };
            (id, record, has_log, running)
        });
        // All of them, whatever becomes of one: what runs is handed over, and must not be dropped.
        let found = on_every_core(known.collect(), |(id, record, has_log, running)| {
            let _in_a_lane = self.inner.lanes.enter();
            let found = match record {
                Ok(record) if has_log => {
                    let taken_up = self.take_up(&record, running);
                    self.find_earlier_terminal(record, taken_up)
                }
                // Its removal came as far as its log.
                Ok(record) => {
                    drop(self.take_up(&record, running));
                    Ok(None)
                }
                Err(error) => Err(error),
            };
            (id, found)
        });
        let mut all_kept = Ok(());
        for (id, found) in found {
            all_kept = all_kept.and(self.keep_or_forget(id, found));
        }
        all_kept?;
        let _in_a_lane = self.inner.lanes.enter();
        // Terminals that only their logs tell of: of an earlier version, or of a database that somebody took away.
        for id in unknown {
            let record = self.unknown_record(id)?;
            let row = record.row().map_err(|error| YardError::Internal(error.to_string()))?;
            wait(self.inner.store.put_terminal(row))?;
            let found = self.find_earlier_terminal(record, running.remove(&id));
            self.keep_or_forget(id, found)?;
            let _none = fs::remove_file(self.inner.state.terminal(id).join(RECORD_FILE));
        }
        Ok(())
    }

    /// What outlived the server before of a program, at the place where it was started. One whose start was not finished
    /// elsewhere is ended: nobody was told that it is there.
    fn take_up(&self, record: &Record, kept: Option<Earlier>) -> Option<Earlier> {
        let backend = match self.backend(&record.backend) {
            Ok(backend) => backend,
            Err(error) => {
                tracing::warn!(id = %record.id, backend = record.backend, %error, "a place is not there any more");
                return kept;
            }
        };
        // The ends of this machine's own programs are the keeper's to tell.
        let (has_ended, logged, last) = match record.backend.as_str() {
            LOCAL => (false, 0, Vec::new()),
            _ => recover(&self.inner.state.terminal(record.id)).map_or((false, 0, Vec::new()), |log| {
                let last = last_of(&log, backend.remembered_bytes());
                (log.seal.is_some(), log.end, last)
            }),
        };
        let orphan = Orphan { id: record.id, io: record.io(), logged, last, has_ended, kept };
        let taken_up = backend.take_up(orphan)?;
        if record.stage == Stage::Starting && record.backend != LOCAL {
            // Dropped, it is ended.
            tracing::info!(id = %record.id, "a start that was not finished is undone");
            return None;
        }
        Some(taken_up)
    }

    fn keep_or_forget(
        &self,
        id: TerminalId,
        found: Result<Option<Entry>, YardError>,
    ) -> Result<(), YardError> {
        match found {
            Ok(Some(entry)) => {
                let entry = Arc::new(entry);
                {
                    let mut registry = self.registry();
                    registry.short_ids.keep(entry.record.session_id);
                    registry.insert(Arc::clone(&entry));
                }
                self.find_earlier_member(&self.inner.state.terminal(id));
            }
            Ok(None) => wait(self.inner.store.remove_terminal(id))?,
            Err(error) if is_for_now(&error) => return Err(error),
            Err(error) => tracing::warn!(%id, %error, "a terminal of an earlier server cannot be read"),
        }
        Ok(())
    }

    fn unknown_record(&self, id: TerminalId) -> Result<Record, YardError> {
        let file = self.inner.state.terminal(id).join(RECORD_FILE);
        let written = fs::read(&file).ok().and_then(|json| serde_json::from_slice(&json).ok());
        if let Some(record) = written {
            return Ok(record);
        }
        let short = self.registry().short_ids.give().ok_or(YardError::IdsExhausted)?;
        Ok(Record::unknown(id, short))
    }

    /// `None` when no program was ever started there; then nothing is left of it.
    fn find_earlier_terminal(
        &self,
        record: Record,
        running: Option<Earlier>,
    ) -> Result<Option<Entry>, YardError> {
        let id = record.id;
        let directory: &Path = &self.inner.state.terminal(id);
        let position = Position::read(directory);
        let resumed = Resumed { io: record.io(), directory, position: position.offset };
        let terminal = match running {
            Some(running) => {
                let surroundings = Surroundings {
                    clock: self.inner.clock,
                    log: record.limits.log(self.inner.config.log),
                    observer: Arc::new(self.observer(id)),
                    limits: record.limits.in_time(self.inner.clock),
                    pauses: self.inner.config.pauses.clone(),
                };
                match LogWriter::reopen(directory, surroundings.log).map_err(YardError::from) {
                    Ok(log) => Ok(Terminal::resume(running, log, resumed, surroundings)),
                    Err(error) => {
                        if is_for_now(&error) {
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
