//! Following a terminal's whole output with a cursor of one's own.

use std::sync::Arc;

use ptyard_core::{Exit, Size, TerminalId};
use ptyard_terminal::Progress;
use tokio::sync::watch;

use crate::entry::Entry;
use crate::error::YardError;
use crate::spec::TerminalRef;
use crate::write::check_offset;
use crate::yard::Yard;

/// Most bytes of one item.
const ITEM_BYTES: usize = 64 * 1024;

/// A reader of a terminal's whole output from an offset on. It lags as far as it likes: output waits in the log, and
/// what the quota evicted before it came is told as a gap.
pub struct Follow {
    entry: Arc<Entry>,
    progress: watch::Receiver<Progress>,
    at: u64,
    sizes_given: usize,
    done: bool,
}

/// What a [`Follow`] gives next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowItem {
    /// Bytes at an offset.
    Bytes {
        /// First offset.
        at: u64,
        /// The bytes, at most 64 KiB.
        data: Vec<u8>,
    },
    /// Bytes gone for good.
    Gap {
        /// First offset missing.
        from: u64,
        /// First offset after.
        to: u64,
    },
    /// The size changed, at this place of the output.
    Resized(Size),
    /// The program ended and everything up to its end was given; nothing follows.
    Exit {
        /// How.
        exit: Exit,
        /// End of the log then.
        offset: u64,
    },
}

impl Yard {
    /// Follows a terminal's output; `None` begins at the end of the log now.
    pub fn follow(&self, at: &TerminalRef, since: Option<u64>) -> Result<Follow, YardError> {
        let entry = self.find(at)?;
        if let Some(since) = since {
            check_offset(&entry, since)?;
        }
        let at = since.unwrap_or_else(|| entry.terminal.log().bounds().end);
        let progress = entry.terminal.progress();
        let sizes_given =
            entry.terminal.observed().lock().sizes.iter().filter(|(from, _)| *from <= at).count();
        Ok(Follow { entry, progress, at, sizes_given, done: false })
    }
}

impl Follow {
    /// The terminal, the first offset, and the size there.
    #[must_use]
    pub fn hello(&self) -> (TerminalId, u64, Size) {
        let observed = self.entry.terminal.observed().lock();
        let size =
            observed.sizes.get(self.sizes_given.saturating_sub(1)).map_or(Size::DEFAULT, |(_, size)| *size);
        (self.entry.id(), self.at, size)
    }

    /// The next item; `None` after [`FollowItem::Exit`], or when the log can no longer be read. Cancel-safe: an item
    /// is taken in the same step that gives it.
    pub async fn next(&mut self) -> Option<FollowItem> {
        loop {
            if self.done {
                return None;
            }
            let seen = self.progress.borrow_and_update().clone();
            if let Some(item) = self.take(&seen) {
                return Some(item);
            }
            if self.progress.changed().await.is_err() {
                let last = self.progress.borrow().clone();
                return self.take(&last);
            }
        }
    }

    fn take(&mut self, seen: &Progress) -> Option<FollowItem> {
        let next_size = self.entry.terminal.observed().lock().sizes.get(self.sizes_given).copied();
        if let Some((from, size)) = next_size
            && from <= self.at
        {
            self.sizes_given += 1;
            return Some(FollowItem::Resized(size));
        }
        let until = next_size.map_or(seen.end, |(from, _)| from.min(seen.end));
        if self.at < until {
            let want = usize::try_from(until - self.at).unwrap_or(usize::MAX).min(ITEM_BYTES);
            let mut data = Vec::new();
            let Ok(read) = self.entry.terminal.log().read(self.at, want, &mut data) else {
                self.done = true;
                return None;
            };
            if read.evicted > 0 {
                let from = std::mem::replace(&mut self.at, read.from);
                return Some(FollowItem::Gap { from, to: read.from });
            }
            let at = self.at;
            self.at += data.len() as u64;
            return Some(FollowItem::Bytes { at, data });
        }
        let sealed = seen.sealed.as_ref().filter(|sealed| self.at >= sealed.end)?;
        self.done = true;
        Some(FollowItem::Exit { exit: sealed.exit.clone(), offset: sealed.end })
    }
}
