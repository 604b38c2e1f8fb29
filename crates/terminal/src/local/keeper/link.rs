//! The server's side of the connection, once everything was handed over.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ptyard_core::{Exit, TerminalId};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use super::packet::{self, Packet, Received};
use super::protocol::{ToKeeper, ToServer};
use super::reaper::KeptReaper;
use crate::backend::{BoxFuture, StartError};
use crate::local::errors;
use crate::local::launcher::{Copies, Ends, Launched, Launcher, Order};
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
}

/// What is under way.
#[derive(Debug, Default)]
struct State {
    /// Starts that were not answered yet.
    starts: HashMap<TerminalId, oneshot::Sender<Result<Handed, StartError>>>,
    /// Programs whose end was not told yet.
    ends: HashMap<TerminalId, oneshot::Sender<Exit>>,
    /// What the socket did not take. For each program at most a start, a closed input, a reaping and a forgetting.
    outgoing: VecDeque<Packet>,
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

    /// Sends a message, or keeps it until the socket takes it. To a keeper that is gone it sends nothing.
    pub(super) fn say(&self, message: &ToKeeper) -> io::Result<()> {
        let packet = Packet::new(message)?;
        let mut state = self.state();
        if state.lost {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if state.outgoing.is_empty() {
            match packet.send(self.socket.get_ref().as_fd(), &[]) {
                Err(Errno::AGAIN) => {}
                sent => return Ok(sent?),
            }
        }
        state.outgoing.push_back(packet);
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

    async fn start(self: Arc<Self>, order: Order) -> Result<Launched, StartError> {
        let gone = || errors::spawn_failed("cannot start", &io::Error::other("the keeper is gone"));
        let id = order.spec.id;
        let (tell, told) = oneshot::channel();
        self.state().starts.insert(id, tell);
        let end = self.expect_end(id);
        if let Err(error) = self.say(&ToKeeper::Start(Box::new(order.into()))) {
            let mut state = self.state();
            state.starts.remove(&id);
            state.ends.remove(&id);
            return Err(errors::spawn_failed("cannot speak to the keeper", &error));
        }
        match told.await {
            Ok(Ok(handed)) => self.launched(id, handed, end, None),
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
        handed: Handed,
        end: oneshot::Receiver<Exit>,
        reaped_before: Option<Exit>,
    ) -> Result<Launched, StartError> {
        // Given up if anything below fails, and the program with it.
        let copies = Arc::new(KeptCopies { id, link: Arc::clone(self) });
        let mut unfinished = Unfinished(Some(Arc::clone(&copies)));
        let incomplete = || errors::spawn_failed("cannot start", &io::ErrorKind::UnexpectedEof.into());
        let cannot_watch = |error| errors::spawn_failed("cannot watch the new process", &error);
        let mut descriptors = handed.descriptors.into_iter();
        let pidfd = descriptors.next().ok_or_else(incomplete)?;
        let output = descriptors.next().ok_or_else(incomplete)?;
        let input = descriptors.next();
        let ends =
            if rustix::termios::isatty(&output) { Ends::Tty(output) } else { Ends::Pipes { output, input } };
        let watched = pidfd.try_clone().map_err(cannot_watch)?;
        let reaper = KeptReaper::new(id, handed.pid, Arc::clone(self), watched, end, reaped_before)
            .map_err(cannot_watch)?;
        unfinished.0 = None;
        Ok(Launched { ends, pid: handed.pid, pidfd, reaper: Box::new(reaper), copies: Some(copies) })
    }

    /// Sends what the socket did not take at once.
    async fn send_late(self: Arc<Self>) {
        loop {
            self.behind.notified().await;
            while !self.state().outgoing.is_empty() {
                let Ok(mut ready) = self.socket.writable().await else { return };
                let mut state = self.state();
                while let Some(packet) = state.outgoing.front() {
                    match packet.send(self.socket.get_ref().as_fd(), &[]) {
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
            ToServer::Kept(_) | ToServer::Attached { .. } => {
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
}

impl Launcher for KeptLauncher {
    fn launch(&self, order: Order) -> BoxFuture<'static, Result<Launched, StartError>> {
        Box::pin(Arc::clone(&self.link).start(order))
    }

    fn adopt_orphans(&self) -> io::Result<u32> {
        // It always does.
        Ok(self.keeper)
    }
}

/// What the keeper holds of a program.
#[derive(Debug)]
struct KeptCopies {
    id: TerminalId,
    link: Arc<Link>,
}

impl Copies for KeptCopies {
    fn close_input(&self) {
        // Of a keeper that is gone the copies are as well.
        let _ = self.link.say(&ToKeeper::CloseInput(self.id));
    }
}

/// A program that could not be taken; dropped, it is ended.
struct Unfinished(Option<Arc<KeptCopies>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(copies) = &self.0 {
            let _ = copies.link.say(&ToKeeper::Kill(copies.id));
        }
    }
}

impl Drop for KeptCopies {
    fn drop(&mut self) {
        let _ = self.link.say(&ToKeeper::Forget(self.id));
    }
}
