//! Typing into a program of a sandbox.

use std::future::Future;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_terminal::backend::{ControlError, Io};
use serde_json::json;

use super::connect::{CALL_LIMIT, Daemon};
use crate::remote::http::{Again, CallError};
use crate::remote::input;

/// Who types into one program.
#[derive(Debug, Clone)]
pub(super) struct Typist {
    pub(super) daemon: Daemon,
    pub(super) pid: u32,
    pub(super) io: Io,
}

impl input::Typist for Typist {
    const PIECE: usize = 16 << 10;

    fn send(&self, bytes: Vec<u8>) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let name = if matches!(self.io, Io::Tty(_)) { "pty" } else { "stdin" };
        let order = json!({ "process": Daemon::of(self.pid), "input": { name: STANDARD.encode(bytes) } });
        let daemon = self.daemon.clone();
        async move { daemon.order("SendInput", &order, Again::IfNothingHappened, None).await }
    }

    fn close(&self) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let (daemon, order) = (self.daemon.clone(), json!({ "process": Daemon::of(self.pid) }));
        async move { daemon.order("CloseStdin", &order, Again::Always, Some(CALL_LIMIT)).await }
    }

    fn of_close(error: &CallError) -> ControlError {
        match error {
            CallError::Refused { code: Some(code), .. } if code == "unimplemented" => {
                ControlError::Unsupported {
                    backend: super::settings::NAME,
                    action: "close the input: the daemon of this sandbox is too old",
                }
            }
            error => ControlError::Os { action: "close the input", message: error.to_string() },
        }
    }
}
