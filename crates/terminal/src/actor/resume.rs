//! Going on where an earlier server's actor stopped, from what the log says.

use ptyard_core::Exit;
use ptyard_core::end::EndRule;
use ptyard_screen::Scanner;

use super::Actor;
use super::output::News;
use crate::backend::{Io, Removal};
use crate::intent::Intent;
use crate::progress::Sealed;

/// Most bytes read again for modes, title and prompt: a few milliseconds. What was set before that and not since is
/// forgotten.
const READ_AGAIN_BYTES: u64 = 8 << 20;

/// Bytes read at a time.
const PIECE_BYTES: usize = 64 << 10;

impl Actor {
    /// Takes the log as it is. Questions and reports before `unseen_from` were answered and told by the actor before,
    /// those behind it by nobody yet.
    pub(super) fn resume(&mut self, unseen_from: Option<u64>) {
        let (now, bounds) = (self.clock.now(), self.reader.bounds());
        self.now.end = bounds.end;
        // When it came is not known; the latest it can have been is now.
        self.now.last_output = (bounds.end > 0).then_some(now);
        // The size may have been about to be set when the server died. That of somebody else's tty is theirs to set.
        if matches!(self.io, Io::Tty(_)) && self.control.removal() == Removal::Ends {
            let _program_is_gone = self.control.resize(self.now.size);
        }
        match Intent::of(self.reader.dir()) {
            Some(Intent::Kill(by)) => self.killed_by = Some(by),
            Some(Intent::Signal(signal)) => self.signalled = Some(signal),
            None => {}
        }
        if let Some(seal) = self.reader.seal() {
            let exit: Exit = serde_json::from_str(&seal.note).unwrap_or_else(|_| Exit::lost());
            self.end = EndRule::reported(exit.clone(), now);
            self.now.sealed = Some(Sealed { exit, end: seal.at, at: now });
            self.sink = None;
        }
        if matches!(self.io, Io::Tty(_))
            && let Err(error) = self.scan_again(News::After(unseen_from.unwrap_or(bounds.end)))
        {
            tracing::warn!(%error, "modes and title are not known: the log cannot be read");
        }
        self.publish();
    }

    fn scan_again(&mut self, news: News) -> Result<(), crate::log::LogError> {
        let bounds = self.reader.bounds();
        let mut at = bounds.start.max(bounds.end.saturating_sub(READ_AGAIN_BYTES));
        if at > 0 {
            self.scanner = Scanner::starting_at(at);
        }
        let mut piece = Vec::new();
        while at < bounds.end {
            piece.clear();
            let read = self.reader.read(at, PIECE_BYTES, &mut piece)?;
            if piece.is_empty() {
                break;
            }
            let signals = &mut self.signals;
            self.scanner.scan(read.from, &piece, &mut |signal| signals.push(signal));
            at = read.from + piece.len() as u64;
            self.take_signals(news);
        }
        Ok(())
    }
}
