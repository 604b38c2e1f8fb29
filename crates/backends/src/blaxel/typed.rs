//! What was typed and may not have been taken, as lines, and who waits for it.

use tokio::sync::oneshot;

use super::lines;
use crate::shared::typed;

/// Input on its way.
#[derive(Debug, Default)]
pub(super) struct Typed {
    bytes: typed::Typed,
    /// Where the piece that is waited for ends, and who waits. One piece is typed after the other.
    waiting: Option<(u64, oneshot::Sender<()>)>,
    /// Whether the offset at which it goes on is still to be learned.
    is_later: bool,
}

impl Typed {
    /// Input of a program that somebody else has typed into.
    pub(super) fn later() -> Self {
        Self { is_later: true, ..Self::default() }
    }

    /// So much of the input came, whoever typed it.
    pub(super) fn came(&mut self, offset: u64) {
        if std::mem::take(&mut self.is_later) {
            self.bytes.begin_at(offset);
        }
    }

    /// The line that types this.
    pub(super) fn add(&mut self, bytes: &[u8], taken: oneshot::Sender<()>) -> String {
        let at = self.bytes.add(bytes);
        self.waiting = Some((self.bytes.end(), taken));
        lines::input(at, bytes)
    }

    /// The line that closes the input.
    pub(super) fn close(&mut self) -> String {
        lines::end(self.bytes.close())
    }

    /// So much was taken.
    pub(super) fn taken(&mut self, offset: u64) {
        if self.bytes.taken(offset)
            && self.waiting.as_ref().is_some_and(|(end, _)| *end <= offset)
            && let Some((_, taken)) = self.waiting.take()
        {
            let _nobody_waits = taken.send(());
        }
    }

    /// The lines that type again what may not have arrived.
    pub(super) fn again(&self) -> String {
        let (at, bytes) = self.bytes.again();
        lines::input(at, bytes) + &self.bytes.closed_at().map(lines::end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_taken_is_typed_again_at_its_offset() {
        let mut typed = Typed::default();
        assert_eq!(typed.again(), "");
        let (taken, mut is_taken) = oneshot::channel();
        assert_eq!(typed.add(b"abcd", taken), " : i 0 YWJjZA==\n");
        typed.taken(3);
        assert_eq!(typed.again(), " : i 3 ZA==\n");
        assert!(is_taken.try_recv().is_err(), "not all of it was taken");
        typed.taken(2);
        assert_eq!(typed.again(), " : i 3 ZA==\n", "what is late says nothing");
        typed.taken(4);
        assert_eq!((typed.again().as_str(), is_taken.try_recv()), ("", Ok(())));
        assert_eq!(typed.close(), " : e 4\n");
        assert_eq!(typed.again(), " : e 4\n");
        typed.came(9);
        assert_eq!(typed.again(), " : e 4\n", "its own input is known");
        let mut later = Typed::later();
        later.came(9);
        assert_eq!(later.add(b"a", oneshot::channel().0), " : i 9 YQ==\n");
    }
}
