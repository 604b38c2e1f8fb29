//! A backend that is played by a test.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ptyard_core::turn::Evidence;
use ptyard_core::{ErrorCode, Exit, Size, TerminalId};
use ptyard_terminal::backend::{
    Backend, BoxFuture, Control, ControlError, KillReport, Questions, Signal, Sink, Source, StartError,
    StartSpec, Started, Target, TtyState,
};
use tokio::sync::Notify;

/// The state of one scripted program.
#[derive(Default)]
struct State {
    output: VecDeque<Vec<u8>>,
    output_closed: bool,
    exit: Option<Exit>,
    input: Vec<u8>,
    room: Option<usize>,
    input_closed: bool,
    sizes: Vec<Size>,
    signals: Vec<(Signal, Target)>,
    kills: usize,
    descendants: u32,
    tty: Option<TtyState>,
    foreground: Option<String>,
    said: VecDeque<Evidence>,
    dropped: bool,
    wakers: Vec<Waker>,
}

/// One scripted program: the test's side of it. Clones share it.
#[derive(Clone, Default)]
pub struct Script {
    state: Arc<Mutex<State>>,
    killed: Arc<Notify>,
    kill_gate: Arc<Mutex<Option<Arc<Notify>>>>,
}

impl Script {
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let out = change(&mut state);
        for waker in state.wakers.drain(..) {
            waker.wake();
        }
        out
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program prints; the bytes arrive as one chunk.
    pub fn print(&self, bytes: impl AsRef<[u8]>) {
        self.change(|state| state.output.push_back(bytes.as_ref().to_vec()));
    }

    /// The last holder of the program's output closes it.
    pub fn close_output(&self) {
        self.change(|state| state.output_closed = true);
    }

    /// The program is reaped with this end.
    pub fn exit(&self, exit: Exit) {
        self.change(|state| state.exit = Some(exit));
    }

    /// The program reads at most this many bytes of input from now on; `None` is as many as come.
    pub fn take_at_most(&self, bytes: Option<usize>) {
        self.change(|state| state.room = bytes);
    }

    /// What the program got as input so far.
    #[must_use]
    pub fn input(&self) -> Vec<u8> {
        self.lock().input.clone()
    }

    /// Whether its input was closed.
    #[must_use]
    pub fn input_closed(&self) -> bool {
        self.lock().input_closed
    }

    /// The sizes it was given.
    #[must_use]
    pub fn sizes(&self) -> Vec<Size> {
        self.lock().sizes.clone()
    }

    /// The signals it was sent.
    #[must_use]
    pub fn signals(&self) -> Vec<(Signal, Target)> {
        self.lock().signals.clone()
    }

    /// How often its tree was killed.
    #[must_use]
    pub fn kills(&self) -> usize {
        self.lock().kills
    }

    /// Whether every end of it was dropped: nothing is left of it.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.lock().dropped
    }

    /// How many descendants live.
    pub fn set_descendants(&self, count: u32) {
        self.change(|state| state.descendants = count);
    }

    /// The line discipline.
    pub fn set_tty(&self, tty: TtyState) {
        self.change(|state| state.tty = Some(tty));
    }

    /// The name of the program in the foreground.
    pub fn set_foreground(&self, name: &str) {
        self.change(|state| state.foreground = Some(name.to_owned()));
    }

    /// Its place says this of the agent.
    pub fn place_says(&self, evidence: Evidence) {
        self.change(|state| state.said.push_back(evidence));
    }

    /// Kills wait for `gate` before they do anything.
    pub fn hold_kills(&self, gate: Arc<Notify>) {
        *self.kill_gate.lock().unwrap_or_else(PoisonError::into_inner) = Some(gate);
    }

    /// Waits until a kill has done its work.
    pub async fn killed(&self) {
        self.killed.notified().await;
    }
}

/// A backend whose programs are scripts, found by the id of their terminal.
#[derive(Clone, Default)]
pub struct ScriptedBackend {
    next: Arc<Mutex<VecDeque<Script>>>,
    running: Arc<Mutex<BTreeMap<TerminalId, Script>>>,
}

impl ScriptedBackend {
    /// The next program started is played by `script`.
    pub fn play(&self, script: Script) {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).push_back(script);
    }

    /// The script of a terminal.
    #[must_use]
    pub fn script(&self, id: TerminalId) -> Option<Script> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }
}

impl Backend for ScriptedBackend {
    fn name(&self) -> &'static str {
        "local"
    }

    fn at(self: Arc<Self>, place: &str) -> Result<Arc<dyn Backend>, StartError> {
        if place.is_empty() { Ok(self) } else { Err(StartError::no_places("local", place)) }
    }

    fn start(&self, spec: StartSpec) -> BoxFuture<'_, Result<Started, StartError>> {
        Box::pin(async move {
            if spec.argv[0] == "missing" {
                return Err(StartError {
                    code: ErrorCode::ProgramNotFound,
                    message: "missing: not found".to_owned(),
                });
            }
            let (_, unheld) = spec.ceilings.split(|_| Some("scripts have no limits".to_owned()))?;
            let script =
                self.next.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default();
            self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(spec.id, script.clone());
            Ok(Started {
                source: Box::new(End(script.clone())),
                sink: Some(Box::new(End(script.clone()))),
                control: Box::new(Controls(script)),
                questions: Questions::Ours,
                pid: None,
                unheld,
            })
        })
    }
}

struct End(Script);

impl Source for End {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        if let Some(mut chunk) = state.output.pop_front() {
            let n = chunk.len().min(into.len());
            into[..n].copy_from_slice(&chunk[..n]);
            if n < chunk.len() {
                state.output.push_front(chunk.split_off(n));
            }
            return Poll::Ready(Ok(n));
        }
        if state.output_closed {
            return Poll::Ready(Ok(0));
        }
        state.wakers.push(cx.waker().clone());
        Poll::Pending
    }
}

impl Sink for End {
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        let n = bytes.len().min(state.room.unwrap_or(usize::MAX));
        if n == 0 {
            state.wakers.push(cx.waker().clone());
            return Poll::Pending;
        }
        state.input.extend_from_slice(&bytes[..n]);
        if let Some(room) = &mut state.room {
            *room -= n;
        }
        Poll::Ready(Ok(n))
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        self.0.lock().input_closed = true;
        Poll::Ready(Ok(()))
    }
}

struct Controls(Script);

impl Drop for Controls {
    fn drop(&mut self) {
        self.0.lock().dropped = true;
    }
}

impl Control for Controls {
    fn poll_exit(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        let mut state = self.0.lock();
        match &state.exit {
            Some(exit) => Poll::Ready(exit.clone()),
            None => {
                state.wakers.push(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn resize(&mut self, size: Size) -> Result<(), ControlError> {
        self.0.lock().sizes.push(size);
        Ok(())
    }

    fn signal(&mut self, signal: Signal, target: Target) -> Result<(), ControlError> {
        self.0.lock().signals.push((signal, target));
        Ok(())
    }

    fn kill(&mut self, _grace: Duration) -> BoxFuture<'static, KillReport> {
        let script = self.0.clone();
        script.lock().kills += 1;
        let gate = script.kill_gate.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let work = tokio::spawn(async move {
            if let Some(gate) = gate {
                gate.notified().await;
            }
            let found = script.change(|state| {
                let found = u32::from(state.exit.is_none()) + state.descendants;
                state.exit.get_or_insert(Exit::signaled(9));
                state.output_closed = true;
                state.descendants = 0;
                found
            });
            script.killed.notify_waiters();
            KillReport { found, last_signal: (found > 0).then_some(9), survivors: Vec::new() }
        });
        Box::pin(async move { work.await.unwrap_or_default() })
    }

    fn descendants(&mut self) -> u32 {
        self.0.lock().descendants
    }

    fn poll_evidence(&mut self, cx: &mut Context<'_>) -> Poll<Evidence> {
        let mut state = self.0.lock();
        if let Some(evidence) = state.said.pop_front() {
            return Poll::Ready(evidence);
        }
        state.wakers.push(cx.waker().clone());
        Poll::Pending
    }

    fn tty_state(&mut self) -> Option<TtyState> {
        self.0.lock().tty
    }

    fn foreground_command(&mut self) -> Option<String> {
        self.0.lock().foreground.clone()
    }
}
