//! The line to a terminal: a socket, and after that broke another one.
//!
//! # Invariants
//! 1. What a socket was given is given to no other one: nothing is typed twice.
//! 2. When a socket broke that had not read all it was given, whoever types next is told so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::http::CallError;
use super::socket::{Ear, Mouth, Word};

/// How long whoever says something waits for a line that broke.
const MEND_LIMIT: Duration = Duration::from_secs(90);

/// A socket.
#[derive(Clone)]
struct Socket {
    mouth: Mouth,
    /// Whether anything was typed over it. What was said before, its answer shows to have been read.
    is_typed_over: Arc<AtomicBool>,
}

impl Socket {
    fn new(mouth: Mouth) -> Self {
        Self { mouth, is_typed_over: Arc::default() }
    }
}

/// As it is.
#[derive(Clone)]
struct State {
    /// `None` while it is broken.
    socket: Option<Socket>,
    /// How often it broke with words under way.
    losses: u32,
}

/// Who keeps the line.
pub(crate) struct Keeper {
    state: watch::Sender<State>,
}

/// Who speaks over it.
#[derive(Clone)]
pub(crate) struct Line {
    state: watch::Receiver<State>,
}

impl Keeper {
    pub(crate) fn new(mouth: Mouth) -> (Self, Line) {
        let (sender, state) = watch::channel(State { socket: Some(Socket::new(mouth)), losses: 0 });
        (Self { state: sender }, Line { state })
    }

    /// A line that is made later.
    pub(crate) fn awaited() -> (Self, Line) {
        let (sender, state) = watch::channel(State { socket: None, losses: 0 });
        (Self { state: sender }, Line { state })
    }

    /// For one more who speaks over it.
    pub(crate) fn line(&self) -> Line {
        Line { state: self.state.subscribe() }
    }

    /// The socket broke to which this listened.
    pub(crate) fn broke(&self, ear: &Ear) {
        self.state.send_modify(|state| {
            let socket = state.socket.take();
            let is_typed_over = socket.is_some_and(|socket| socket.is_typed_over.load(Ordering::Acquire));
            state.losses += u32::from(is_typed_over && !ear.is_all_read());
        });
    }

    /// There is another one.
    pub(crate) fn mended(&self, mouth: Mouth) {
        self.state.send_modify(|state| state.socket = Some(Socket::new(mouth)));
    }
}

impl Line {
    /// How often it broke with words under way.
    pub(crate) fn losses(&self) -> u32 {
        self.state.borrow().losses
    }

    /// Says something once; waits for a line that is broken before.
    pub(crate) async fn say(&self, word: Word) -> Result<(), CallError> {
        let mut state = self.state.clone();
        let standing =
            state.wait_for(|state| state.socket.as_ref().is_some_and(|socket| socket.mouth.is_open()));
        let standing = tokio::time::timeout(MEND_LIMIT, standing).await;
        let socket = match standing.map_err(|_| CallError::too_late("no connection", MEND_LIMIT))? {
            Ok(state) => state.socket.clone(),
            Err(_) => None,
        };
        let gone = || CallError::NotSent("the terminal is gone".to_owned());
        let Socket { mouth, is_typed_over } = socket.ok_or_else(gone)?;
        if matches!(word, Word::Bytes(_)) {
            is_typed_over.store(true, Ordering::Release);
        }
        mouth.say(word).await
    }

    /// Says what is as good twice as once, until it was taken.
    #[cfg(feature = "cloudflare")]
    pub(crate) async fn insist(&self, word: Word) -> Result<(), CallError> {
        let saying = async {
            loop {
                match self.say(word.clone()).await {
                    Err(CallError::Broken(_)) => {}
                    said => return said,
                }
            }
        };
        tokio::time::timeout(MEND_LIMIT, saying)
            .await
            .unwrap_or_else(|_| Err(CallError::too_late("no connection", MEND_LIMIT)))
    }
}
