//! Typing into a program of a sandbox.

use std::future::Future;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_core::TerminalId;
use ptyard_terminal::backend::{ControlError, Io};
use serde_json::json;

use super::connect::{CALL_LIMIT, Daemon};
use super::place::Place;
use crate::remote::http::{Again, CallError};
use crate::remote::input;
use crate::remote::sought::Sought;

/// Who types into one program.
#[derive(Debug, Clone)]
pub(super) struct Typist {
    pub(super) place: Sought<Place>,
    pub(super) id: TerminalId,
    pub(super) io: Io,
}

impl input::Typist for Typist {
    const PIECE: usize = 16 << 10;

    fn send(&self, bytes: Vec<u8>) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let name = if matches!(self.io, Io::Tty(_)) { "pty" } else { "stdin" };
        let order = json!({ "process": Daemon::of(self.id), "input": { name: STANDARD.encode(bytes) } });
        let place = self.place.clone();
        async move { place.found().await?.daemon.order("SendInput", &order, Again::IfNothingHappened, None).await }
    }

    fn close(&self) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let (place, order) = (self.place.clone(), json!({ "process": Daemon::of(self.id) }));
        async move {
            place.found().await?.daemon.order("CloseStdin", &order, Again::Always, Some(CALL_LIMIT)).await
        }
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
