//! The server's side of the connection, once everything was handed over.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ptyard_core::{Exit, TerminalId};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::AbortHandle;

use super::holdings::{Facts, Holdings};
use super::packet::{self, Packet, Received};
use super::protocol::{ToKeeper, ToServer};
use super::reaper::KeptReaper;
use crate::backend::{BoxFuture, StartError};
use crate::local::errors;
use crate::local::launcher::{Ends, Launched, Launcher, Order};
use crate::local::tree::procfs::Process;
use crate::local::tree::walk::Root;
use crate::sys::watched::WatchedFd;

/// How long after its connection broke a keeper may take to be gone. Its programs fall to somebody else then.
const GONE_LIMIT: Duration = Duration::from_millis(500);

/// A connection to a keeper. Its tasks end when [`Connection`] is dropped.
#[derive(Debug)]
pub(super) struct Link {
    socket: WatchedFd,
    state: Mutex<State>,
    /// Something waits to be sent.
    behind: Notify,
    /// Whether the keeper is gone, and its programs have another parent.
    gone: watch::Sender<bool>,
}

/// What is under way.
#[derive(Debug, Default)]
struct State {
    /// Starts that were not answered yet.
    starts: HashMap<TerminalId, oneshot::Sender<Result<Handed, StartError>>>,
    /// Programs whose end was not told yet.
    ends: HashMap<TerminalId, oneshot::Sender<Exit>>,
    /// What the socket did not take, with its descriptors. For each program at most an adoption, a start, a closed
    /// input, a reaping and a forgetting.
    outgoing: VecDeque<(Packet, Vec<OwnedFd>)>,
    lost: bool,
}

/// A program as it is handed over.
#[derive(Debug)]
pub(super) struct Handed {
    pub(super) pid: u32,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// A link with the tasks that serve it; dropped, they end, and the connection with the last program.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) link: Arc<Link>,
    tasks: [AbortHandle; 2],
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Connection {
    /// Hears from now on. Must be called in a runtime. `root` is told when the keeper is lost.
    pub(super) fn serve(link: Arc<Link>, keeper: OwnedFd, root: Root) -> io::Result<Self> {
        let keeper = WatchedFd::new(keeper, Interest::READABLE)?;
        let listening = tokio::spawn(Arc::clone(&link).listen(keeper, root));
        let sending = tokio::spawn(Arc::clone(&link).send_late());
        Ok(Self { link, tasks: [listening.abort_handle(), sending.abort_handle()] })
    }
}

impl Link {
    /// A connection that nobody hears yet. Must be called in a runtime.
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        crate::local::tty::set_nonblocking(&socket)?;
        Ok(Self {
            socket: WatchedFd::new(socket, Interest::READABLE | Interest::WRITABLE)?,
            state: Mutex::default(),
            behind: Notify::new(),
            gone: watch::Sender::new(false),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the keeper is gone.
    pub(super) fn is_lost(&self) -> bool {
        self.state().lost
    }

    /// Waits until the keeper is gone, and its programs have another parent. Cancel-safe.
    pub(super) async fn gone(&self) {
        // It cannot fail: `self` is a sender.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Sends a message, or keeps it until the socket takes it. To a keeper that is gone it sends nothing.
    pub(super) fn say(&self, message: &ToKeeper) -> io::Result<()> {
        self.say_with(message, &[])
    }

    /// The same with copies of descriptors.
    pub(super) fn say_with(&self, message: &ToKeeper, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let packet = Packet::new(message)?;
        let mut state = self.state();
        if state.lost {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if state.outgoing.is_empty() {
            match packet.send(self.socket.get_ref().as_fd(), descriptors) {
                Err(Errno::AGAIN) => {}
                sent => return Ok(sent?),
            }
        }
        let copies = descriptors.iter().map(BorrowedFd::try_clone_to_owned).collect::<io::Result<_>>()?;
        state.outgoing.push_back((packet, copies));
        self.behind.notify_one();
        Ok(())
    }

    /// What there is to hear of the end of a program.
    pub(super) fn expect_end(&self, id: TerminalId) -> oneshot::Receiver<Exit> {
        let (tell, told) = oneshot::channel();
        let mut state = self.state();
        if !state.lost {
            state.ends.insert(id, tell);
        }
        told
    }

    async fn start(self: Arc<Self>, order: Order, holdings: Arc<Holdings>) -> Result<Launched, StartError> {
        let gone = || errors::spawn_failed("cannot start", &io::Error::other("the keeper is gone"));
        let id = order.spec.id;
        let (tell, told) = oneshot::channel();
        self.state().starts.insert(id, tell);
        let end = self.expect_end(id);
        let (cgroup, timer_slack_ns) = (order.cgroup.clone(), order.timer_slack_ns);
        if let Err(error) = self.say(&ToKeeper::Start(Box::new(order.into()))) {
            let mut state = self.state();
            state.starts.remove(&id);
            state.ends.remove(&id);
            return Err(errors::spawn_failed("cannot speak to the keeper", &error));
        }
        match told.await {
            Ok(Ok(handed)) => {
                let facts = Facts {
                    pid: handed.pid,
                    started_ticks: Process::look(handed.pid).map(|process| process.started_ticks),
                    tty: handed.descriptors.get(1).is_some_and(rustix::termios::isatty),
                    cgroup,
                    timer_slack_ns,
                };
                self.launched(id, handed.descriptors, facts, &holdings, end, None)
            }
            Ok(Err(error)) => {
                self.state().ends.remove(&id);
                Err(error)
            }
            Err(_) => Err(gone()),
        }
    }

    /// Puts a program together from what was handed over.
    pub(super) fn launched(
        self: &Arc<Self>,
        id: TerminalId,
        descriptors: Vec<OwnedFd>,
        facts: Facts,
        holdings: &Arc<Holdings>,
        end: oneshot::Receiver<Exit>,
        reaped_before: Option<Exit>,
    ) -> Result<Launched, StartError> {
        let pid = facts.pid;
        // Given up if anything below fails, and the program with it.
        let copies = holdings.hold(id, facts);
        let mut unfinished = Unfinished { id, holdings: Some(holdings) };
        let incomplete = || errors::spawn_failed("cannot start", &io::ErrorKind::UnexpectedEof.into());
        let cannot_watch = |error| errors::spawn_failed("cannot watch the new process", &error);
        let mut descriptors = descriptors.into_iter();
        let pidfd = descriptors.next().ok_or_else(incomplete)?;
        let output = descriptors.next().ok_or_else(incomplete)?;
        let input = descriptors.next();
        let ends =
            if rustix::termios::isatty(&output) { Ends::Tty(output) } else { Ends::Pipes { output, input } };
        let watched = pidfd.try_clone().map_err(cannot_watch)?;
        let reaper =
            KeptReaper::new(id, pid, Arc::clone(self), watched, end, reaped_before).map_err(cannot_watch)?;
        unfinished.holdings = None;
        Ok(Launched { ends, pid, pidfd, reaper: Box::new(reaper), copies: Some(copies) })
    }

    /// Sends what the socket did not take at once.
    async fn send_late(self: Arc<Self>) {
        loop {
            self.behind.notified().await;
            while !self.state().outgoing.is_empty() {
                let Ok(mut ready) = self.socket.writable().await else { return };
                let mut state = self.state();
                while let Some((packet, copies)) = state.outgoing.front() {
                    let descriptors: Vec<_> = copies.iter().map(AsFd::as_fd).collect();
                    match packet.send(self.socket.get_ref().as_fd(), &descriptors) {
                        Ok(()) => {
                            state.outgoing.pop_front();
                        }
                        Err(Errno::AGAIN) => {
                            ready.clear_ready();
                            break;
                        }
                        // Whoever listens finds out as well.
                        Err(_) => return,
                    }
                }
            }
        }
    }

    /// Hears what the keeper says until it is gone.
    async fn listen(self: Arc<Self>, keeper: WatchedFd, root: Root) {
        if let Err(error) = self.hear().await {
            tracing::error!(%error, "the keeper cannot be understood");
        }
        let starts = {
            let mut state = self.state();
            state.lost = true;
            state.outgoing.clear();
            std::mem::take(&mut state.starts)
        };
        drop(starts);
        // Only when it is gone its programs have another parent, who may be asked for their ends.
        let gone = tokio::time::timeout(GONE_LIMIT, keeper.readable()).await;
        tracing::warn!(
            gone = gone.is_ok(),
            "the keeper is lost: running programs go on, and end without a code where nobody else knows it"
        );
        root.lost();
        self.state().ends.clear();
        self.gone.send_replace(true);
    }

    async fn hear(&self) -> io::Result<()> {
        loop {
            let mut ready = self.socket.readable().await?;
            match packet::receive(self.socket.get_ref().as_fd()) {
                Ok(Some(received)) => self.follow(received)?,
                Ok(None) | Err(Errno::CONNRESET) => return Ok(()),
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn follow(&self, received: Received) -> io::Result<()> {
        match received.message()? {
            ToServer::Started { id, pid } => {
                let start = self.state().starts.remove(&id);
                if let Some(start) = start {
                    let _unwanted = start.send(Ok(Handed { pid, descriptors: received.descriptors }));
                }
            }
            ToServer::NotStarted { id, code, message } => {
                let start = self.state().starts.remove(&id);
                if let Some(start) = start {
                    let _unwanted = start.send(Err(StartError { code, message }));
                }
            }
            ToServer::Ended { id, exit } => {
                let end = self.state().ends.remove(&id);
                if let Some(end) = end {
                    let _unwanted = end.send(exit);
                }
            }
            ToServer::Kept(_) | ToServer::Home { .. } | ToServer::Attached { .. } => {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(())
    }
}

/// Starts programs as children of a keeper.
#[derive(Debug)]
pub(super) struct KeptLauncher {
    pub(super) link: Arc<Link>,
    pub(super) keeper: u32,
    pub(super) holdings: Arc<Holdings>,
}

impl Launcher for KeptLauncher {
    fn launch(&self, order: Order) -> BoxFuture<'static, Result<Launched, StartError>> {
        Box::pin(Arc::clone(&self.link).start(order, Arc::clone(&self.holdings)))
    }

    fn adopt_orphans(&self) -> io::Result<u32> {
        // It always does.
        Ok(self.keeper)
    }
}

/// A program that is put together; dropped with `holdings`, it could not be, and is ended.
struct Unfinished<'a> {
    id: TerminalId,
    holdings: Option<&'a Holdings>,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(holdings) = self.holdings {
            holdings.kill(self.id);
        }
    }
}
