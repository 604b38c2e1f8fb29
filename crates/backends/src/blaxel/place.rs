//! A sandbox in which a program runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::{Size, TerminalId};
use ptyard_terminal::backend::{Signal, Target};
use tokio::sync::{mpsc, oneshot, watch};

use super::api::{Api, Sandbox};
use super::follow::Link;
use super::terminal::carrier_mark;
use crate::remote::http::{Again, CallError, call, refused};
use crate::remote::lodging::{Lodger, Lodging, Ran, Whose};
use crate::remote::socket::{Ear, Mouth};
use crate::shared::look_after;

/// How long a script that does one thing may take.
const SCRIPT_LIMIT: Duration = Duration::from_secs(20);

/// How long a carrier may take to leave.
const LEAVE_LIMIT: Duration = Duration::from_secs(5);

/// What is asked of whoever follows a program.
pub(super) enum Order {
    /// To type this, and to say when the program has taken it.
    Type(Vec<u8>, oneshot::Sender<()>),
    /// To close the input behind what was typed.
    Close(oneshot::Sender<()>),
    /// To give the tty this size.
    Size(Size),
    /// To let the carrier leave.
    Leave(oneshot::Sender<()>),
}

/// Orders that wait; whoever has more waits before them.
pub(super) const ORDERS: usize = 16;

/// Whoever looks for a sandbox says here that it was found; dropped, that it was not.
pub(super) type Finder = watch::Sender<Option<Arc<Sandbox>>>;

/// A sandbox with a program, which may still be looked for.
#[derive(Debug, Clone)]
pub(super) struct Place {
    api: Api,
    found: watch::Receiver<Option<Arc<Sandbox>>>,
    /// Its name.
    sandbox: Arc<str>,
    whose: Whose,
    /// From when the program runs.
    pub(super) orders: Option<mpsc::Sender<Order>>,
}

impl Place {
    /// A sandbox that is made or looked for.
    pub(super) fn awaited(api: &Api, sandbox: &str, whose: Whose) -> (Finder, Self) {
        let (finder, found) = watch::channel(None);
        (finder, Self { api: api.clone(), found, sandbox: sandbox.into(), whose, orders: None })
    }

    async fn found(&self) -> Result<Arc<Sandbox>, CallError> {
        match self.found.clone().wait_for(Option::is_some).await.as_deref() {
            Ok(Some(sandbox)) => Ok(Arc::clone(sandbox)),
            Ok(None) | Err(_) => Err(refused(404, b"the sandbox was not found", None)),
        }
    }

    /// Connects to the terminal of a program.
    pub(super) async fn connect(&self, id: TerminalId, size: Size) -> Result<(Mouth, Ear), CallError> {
        self.api.terminal(self.found().await?.as_ref(), id, size).await
    }

    /// Runs the script that looks after processes.
    async fn tell(&self, mark: &str, words: &[&str]) -> Result<Ran, CallError> {
        let words: Vec<&str> = [mark].into_iter().chain(words.iter().copied()).collect();
        self.run(look_after::SCRIPT, &words, &BTreeMap::new(), SCRIPT_LIMIT).await
    }
}

impl Lodging for Place {
    /// It is awake while somebody is connected.
    const RENEW_EVERY: Option<Duration> = None;

    fn whose(&self) -> Whose {
        self.whose
    }

    fn name(&self) -> &str {
        &self.sandbox
    }

    async fn run(
        &self,
        script: &str,
        arguments: &[&str],
        env: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Ran, CallError> {
        let running = async {
            let sandbox = self.found().await?;
            self.api.run(&sandbox, (script, arguments), env, limit).await
        };
        tokio::time::timeout(limit, running).await.map_err(|_| CallError::too_late("no report", limit))?
    }

    async fn resize(&self, _lodger: Lodger, size: Size) -> Result<(), CallError> {
        let gone = || CallError::NotSent("the terminal is gone".to_owned());
        let Some(orders) = &self.orders else { return Ok(()) };
        orders.send(Order::Size(size)).await.map_err(|_| gone())
    }

    /// By the variable that the program was born with: who goes on with another server's program knows no process id.
    async fn signal(&self, lodger: Lodger, signal: Signal, target: Target) -> Result<(), CallError> {
        let mark = look_after::mark(lodger.id);
        let ran = self.tell(&mark, &["signal", &signal.0.to_string(), look_after::whom(target)]).await?;
        match ran.code {
            Some(0) => Ok(()),
            _ => Err(CallError::garbled(ran.output.trim())),
        }
    }

    async fn renew(&self) -> Result<(), CallError> {
        Ok(())
    }

    async fn remove(&self) -> Result<(), CallError> {
        self.api.remove(&self.sandbox).await
    }

    /// Lets the carrier leave, or a shell that did not become one yet. That it was told so is not certain, whatever came of the
    /// connection, so what has become one is ended by its mark.
    async fn forget(&self, id: TerminalId) -> Result<(), CallError> {
        let asking = async {
            match &self.orders {
                Some(orders) => {
                    let (left, has_left) = oneshot::channel();
                    orders.send(Order::Leave(left)).await.ok()?;
                    has_left.await.ok()
                }
                None => {
                    let connected = self.connect(id, Size::DEFAULT).await;
                    connected.and_then(Link::new).ok()?.leave().await.ok()
                }
            }
        };
        let _in_time = tokio::time::timeout(LEAVE_LIMIT, asking).await;
        let (variable, value) = carrier_mark(id);
        let mark = format!("{variable}={value}");
        call(Again::Always, || self.tell(&mark, &["kill", "0"])).await.map(drop)
    }
}
