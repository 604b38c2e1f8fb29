//! The user's own terminal, lent to a program.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use ptyard_core::ErrorCode;
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::io::AsyncWriteExt;

use super::passthrough::Passthrough;
use crate::failure::Failure;

/// The terminal in raw mode. Dropped, it is as it was: the drop runs on return, on error and on a panic, and signals
/// are turned into a return.
pub(super) struct Outer {
    terminal: OwnedFd,
    before: Termios,
    passthrough: Passthrough,
    out: tokio::io::Stdout,
}

impl Outer {
    /// Takes over the terminal that stdin and stdout are.
    pub(super) fn take() -> Result<Self, Failure> {
        let not_a_terminal = |_| {
            Failure::new(ErrorCode::NotATty, "attach needs a terminal on stdin and stdout")
                .with_hint("`ptyard screen` and `ptyard read` print without one")
        };
        tcgetattr(io::stdout()).map_err(not_a_terminal)?;
        let before = tcgetattr(io::stdin()).map_err(not_a_terminal)?;
        let failed = |error: io::Error| Failure::new(ErrorCode::Internal, format!("terminal: {error}"));
        let terminal = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &raw).map_err(|error| failed(error.into()))?;
        Ok(Self { terminal, before, passthrough: Passthrough::new(), out: tokio::io::stdout() })
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> Option<(u32, u32)> {
        let size = tcgetwinsize(&self.terminal).ok()?;
        (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col.into(), size.ws_row.into()))
    }

    /// Gives up output that the terminal did not take yet: one that was stopped would hold up the resets.
    pub(super) fn abandon_output(&self) {
        // Then the resets wait until the terminal goes on.
        let _ = tcflush(&self.terminal, QueueSelector::OFlush);
    }

    /// Shows output of the program.
    pub(super) async fn show(&mut self, output: &[u8]) -> io::Result<()> {
        let passed = self.passthrough.feed(output);
        self.out.write_all(&passed).await?;
        self.out.flush().await
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        let mut resets = self.passthrough.resets();
        resets.extend_from_slice(b"\r\n");
        let mut out = io::stdout().lock();
        let _ = out.write_all(&resets).and_then(|()| out.flush());
        // Key and mouse reports still on their way are not for the shell.
        let _ = tcflush(&self.terminal, QueueSelector::IFlush);
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
