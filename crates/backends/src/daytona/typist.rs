//! Typing into a terminal.

use std::future::Future;

use bytes::Bytes;
use ptyard_terminal::backend::Io;
use tokio::sync::watch;

use crate::remote::http::CallError;
use crate::remote::input;
use crate::remote::socket::{Mouth, Word};
use crate::shared::greeting::piped;

/// The connection to a terminal, while there is one.
pub(super) type MouthWatch = watch::Receiver<Option<Mouth>>;

/// Who types into one program. Between two connections it waits; what a broken one had taken is not typed again.
#[derive(Clone)]
pub(super) struct Typist {
    pub(super) mouth: MouthWatch,
    pub(super) io: Io,
}

impl Typist {
    fn say(&self, bytes: Bytes) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let mut mouth = self.mouth.clone();
        async move {
            let gone = || CallError::Broken("the connection is gone".to_owned());
            let mouth = mouth.wait_for(Option::is_some).await.map_err(|_| gone())?.clone();
            mouth.ok_or_else(gone)?.say(Word::Bytes(bytes)).await
        }
    }
}

impl input::Typist for Typist {
    /// As lines it becomes up to five times as much, and the daemon takes 64 KiB at once.
    const PIECE: usize = 8 << 10;

    fn send(&self, bytes: Vec<u8>) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        self.say(match self.io {
            Io::Tty(_) => bytes.into(),
            Io::Pipes(_) => bytes.chunks(piped::PIECE).flat_map(piped::line).collect(),
        })
    }

    fn close(&self) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        self.say(Bytes::from_static(piped::CLOSE))
    }
}
