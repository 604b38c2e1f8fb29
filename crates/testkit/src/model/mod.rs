//! A model that says what a test wants, on loopback: real agent CLIs ask it as they would ask their vendor's.
//!
//! It speaks the streams of OpenAI's Responses and Chat Completions, of Anthropic's Messages and of Google's
//! `generateContent`, as far as coding CLIs need them. A test says beforehand what becomes of a prompt, and sees
//! afterwards which prompts came, in order: the truth about what was delivered.

mod chat;
mod gemini;
mod messages;
mod responses;
mod script;
mod serve;
mod tool;
mod wire;

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use script::Script;
pub use script::Turn;

/// How long a test waits for a CLI to ask: they start for seconds on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A prompt that came, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The last message of the user in the request.
    pub prompt: String,
    /// The result of the tool call that was made for it, when that came back.
    pub result: Option<String>,
    /// Whether the CLI went away before it had the whole answer.
    pub given_up: bool,
}

/// A model on loopback, until it is dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    runtime: Option<tokio::runtime::Runtime>,
}

/// Opens on demand, and when it is dropped: then the model says the rest.
#[derive(Debug)]
pub struct Gate(watch::Sender<bool>);

impl Gate {
    /// Lets the model say the rest.
    pub fn open(self) {}
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    script: Script,
    asked: Vec<Asked>,
    /// Bodies of requests that no rule understood, for the failure message.
    strange: Vec<String>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let result = change(&mut self.state());
        self.changed.notify_all();
        result
    }
}

impl Model {
    /// One that answers every prompt with "Understood."
    ///
    /// # Panics
    /// When it cannot listen on loopback.
    #[must_use]
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let shared = Arc::new(Shared::default());
        let listener = runtime.block_on(tokio::net::TcpListener::bind(("127.0.0.1", 0)));
        let listener = listener.expect("a port of loopback");
        let address = listener.local_addr().expect("the port");
        runtime.spawn(serve::serve(listener, Arc::clone(&shared)));
        Self { address, shared, runtime: Some(runtime) }
    }

    /// `http://ADDRESS`, to which CLIs add the path of their API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What becomes of prompts that hold `needle`, instead of what was said of it before.
    pub fn on(&self, needle: &str, turn: Turn) {
        self.shared.change(|state| state.script.on(needle, turn));
    }

    /// Says the first word of `text` to prompts that hold `needle`, and the rest once the gate opens.
    #[must_use]
    pub fn hold(&self, needle: &str, text: &str) -> Gate {
        let (gate, open) = watch::channel(false);
        self.on(needle, Turn::Holds(text.to_owned(), open));
        Gate(gate)
    }

    /// Every prompt that came, in order. Requests that CLIs make for themselves (titles, suggestions) are none.
    #[must_use]
    pub fn prompts(&self) -> Vec<String> {
        self.shared.state().asked.iter().map(|asked| asked.prompt.clone()).collect()
    }

    /// How often a prompt with `needle` came.
    #[must_use]
    pub fn count(&self, needle: &str) -> usize {
        self.shared.state().asked.iter().filter(|asked| asked.prompt.contains(needle)).count()
    }

    /// Waits until a prompt with `needle` came of which `holds` is true.
    ///
    /// # Panics
    /// When none comes, with everything that did.
    pub fn wait(&self, needle: &str, holds: impl Fn(&Asked) -> bool) -> Asked {
        let limit = Instant::now() + PATIENCE;
        let mut state = self.shared.state();
        loop {
            let found = state.asked.iter().find(|asked| asked.prompt.contains(needle) && holds(asked));
            if let Some(found) = found {
                return found.clone();
            }
            let left = limit.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no such prompt {needle:?}; {:?}; {:?}", state.asked, state.strange);
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until a prompt with `needle` came.
    ///
    /// # Panics
    /// When none comes.
    pub fn wait_asked(&self, needle: &str) -> Asked {
        self.wait(needle, |_| true)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
