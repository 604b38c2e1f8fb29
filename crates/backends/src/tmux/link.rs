//! The one client of a tmux server: commands go in, answers and the bytes of panes come out, in one order.
//!
//! # Invariants
//! 1. Answers come in the order of the commands, so the oldest waiting command is the one that is answered.
//! 2. Output of a pane that is followed is handed on or waited with, never dropped: while a follower does not take what
//!    its queue cannot hold, nothing more is read, and then the server stops reading its panes.
//! 3. Output of a pane that is gone ends. The server does not say when one goes; when a window is closed or changed, it
//!    is asked for all there are.
//! 4. Nothing is asked of a client before the server has attached it: one that asks earlier is refused, and a server
//!    (3.3a) may fall over one that leaves that early.
//! 5. A client is gone as soon as its process is: the server (3.3a) keeps the streams of one that was killed open.

mod reader;

use std::collections::{HashMap, VecDeque};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptyard_core::Size;
use ptyard_terminal::backend::Signal;
use ptyard_terminal::local::OtherProcess;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, oneshot, watch};

use self::reader::Reader;
use super::protocol::Pane;

/// SIGCHLD.
const CHILD: Signal = Signal(rustix::process::Signal::CHILD.as_raw());

/// Commands that may wait to be written; further callers wait outside.
const COMMANDS: usize = 64;

/// Output of a pane, piece by piece.
pub(super) type Pieces = mpsc::Receiver<Vec<u8>>;

/// What to do with the panes that an answer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// It is not looked for.
    Nothing,
    /// Its output is followed from now on: the answer's first word is the pane.
    Named,
    /// How much this pane has printed by the time of the answer is told.
    Printed(Pane),
    /// The answer names all panes there are, with their sizes: output of the others has ended.
    All,
}

/// What to ask for that.
const ALL: &str = "list-panes -a -F '#{pane_id} #{pane_width} #{pane_height} #{window_linked}'";

/// A pane that is followed.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) pieces: Pieces,
    /// Its size whenever that may have changed.
    pub(super) size: watch::Receiver<Option<Size>>,
    /// Where its window is.
    pub(super) shown: watch::Receiver<Shown>,
}

/// Where a window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// In one session.
    Once,
    /// In several, as far as is known.
    InSeveral,
}

/// The other ends of it.
#[derive(Debug)]
struct Follower {
    pieces: mpsc::Sender<Vec<u8>>,
    size: watch::Sender<Option<Size>>,
    shown: watch::Sender<Shown>,
    /// Bytes that were printed since it is followed; `None` when they come by another way.
    printed: Option<u64>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its lines.
    pub(super) text: String,
    /// The pane that is followed from now on.
    pub(super) followed: Option<Followed>,
    /// Bytes that the pane in question has printed since it is followed.
    pub(super) printed: Option<u64>,
}

type Reply = oneshot::Sender<Result<Answer, TmuxError>>;

/// Commands that are carried out in one step: nothing is printed in between. The first that fails is the last.
struct Asked {
    line: String,
    replies: Vec<(Follow, Reply)>,
}

/// Why tmux did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum TmuxError {
    /// The server refused.
    #[error("tmux: {0}")]
    Refused(String),
    /// The client is gone: the server ended, or let us go.
    #[error("the tmux server is gone ({0})")]
    Gone(String),
}

type Panes = Arc<Mutex<HashMap<Pane, Follower>>>;

/// A server's process.
#[derive(Debug)]
pub(super) struct ServerProcess {
    pid: u32,
    process: OtherProcess,
}

impl ServerProcess {
    /// Waits until it has ended.
    pub(super) async fn ended(&self) {
        self.process.ended().await;
    }

    /// Has it look for children that have ended. A server (3.3a) sometimes misses one, which stays a zombie then, and nobody
    /// learns how it ended.
    pub(super) fn look_for_children(&self) {
        // Fails when it is gone.
        let _gone = self.process.signal(CHILD);
    }
}

/// A client that is connected.
#[derive(Debug, Clone)]
pub(super) struct Link {
    /// No other client has it.
    pub(super) number: u64,
    /// Whose client it is, as soon as that was asked.
    pub(super) server: Option<Arc<ServerProcess>>,
    commands: mpsc::Sender<Asked>,
    panes: Panes,
    gone: watch::Receiver<Option<String>>,
}

impl Link {
    /// Starts a client by this command, which must be one of `tmux -C`.
    pub(super) fn start(mut command: Command) -> std::io::Result<Self> {
        let mut client =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (Some(input), Some(output)) = (client.stdin.take(), client.stdout.take()) else {
            return Err(std::io::Error::other("the client has no streams"));
        };
        let (commands, asked) = mpsc::channel(COMMANDS);
        let (say_gone, gone) = watch::channel(None);
        static CLIENTS: AtomicU64 = AtomicU64::new(0);
        let number = CLIENTS.fetch_add(1, Ordering::Relaxed);
        let panes = Panes::default();
        let waiting = Arc::default();
        let (closed, closes) = watch::channel(());
        let (attach, attached) = oneshot::channel();
        let mut reader = Reader {
            client,
            output: BufReader::with_capacity(64 << 10, output),
            waiting: Arc::clone(&waiting),
            panes: Arc::clone(&panes),
            closed,
            attach: Some(attach),
        };
        let followed = Arc::clone(&panes);
        let looking = tokio::spawn(look_for_panes(commands.downgrade(), closes));
        tokio::spawn(async move {
            let writing = tokio::spawn(write(input, attached, asked, Arc::clone(&waiting)));
            let why = reader.read().await;
            writing.abort();
            looking.abort();
            say_gone.send_replace(Some(why.clone()));
            end(reader.client, &waiting, &followed, &why);
        });
        Ok(Self { number, server: None, commands, panes, gone })
    }

    /// This, as the client of the server with this process.
    pub(super) fn of(self, pid: u32) -> std::io::Result<Self> {
        let process = OtherProcess::new(pid)?;
        Ok(Self { server: Some(Arc::new(ServerProcess { pid, process })), ..self })
    }

    /// Whether both are clients of the same server, which lives.
    pub(super) fn has_server_of(&self, other: &Self) -> bool {
        let pid = |link: &Self| link.server.as_ref().map(|server| server.pid);
        pid(self).is_some() && pid(self) == pid(other)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.borrow().is_some()
    }

    /// Why the client is gone.
    pub(super) fn is_gone_for(&self) -> TmuxError {
        TmuxError::Gone(self.gone.borrow().clone().unwrap_or_default())
    }

    /// Waits until the client is gone.
    pub(super) async fn gone(&self) -> String {
        let mut gone = self.gone.clone();
        match gone.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Gives a command, and waits for the answer.
    pub(super) async fn ask(&self, text: impl Into<String>) -> Result<String, TmuxError> {
        self.send(text.into(), Follow::Nothing).await.map(|answer| answer.text)
    }

    /// Gives a command whose answer begins with a pane, and follows that pane from the moment of the answer.
    pub(super) async fn ask_and_follow(&self, text: impl Into<String>) -> Result<Answer, TmuxError> {
        self.send(text.into(), Follow::Named).await
    }

    async fn send(&self, text: String, follow: Follow) -> Result<Answer, TmuxError> {
        let [answer] = self.ask_at_once([(text, follow)]).await;
        answer
    }

    /// Gives commands that are carried out in one step, and waits for the answers.
    pub(super) async fn ask_at_once<const N: usize>(
        &self,
        commands: [(String, Follow); N],
    ) -> [Result<Answer, TmuxError>; N] {
        debug_assert!(commands.iter().all(|(text, _)| !text.contains('\n')), "a command is one line");
        let gone = || self.is_gone_for();
        let line = commands.each_ref().map(|(text, _)| text.as_str()).join(" ; ") + "\n";
        let (mut replies, mut answers) = (Vec::with_capacity(N), Vec::with_capacity(N));
        for (_, follow) in commands {
            let (reply, answer) = oneshot::channel();
            replies.push((follow, reply));
            answers.push(answer);
        }
        // When it cannot be sent, the replies are dropped.
        let _gone = self.commands.send(Asked { line, replies }).await;
        let mut all = Vec::with_capacity(N);
        for answer in answers {
            all.push(answer.await.unwrap_or_else(|_| Err(gone())));
        }
        all.try_into().unwrap_or_else(|_| std::array::from_fn(|_| Err(gone())))
    }

    /// What takes a pane's output, for whoever brings it by another way from now on; `None` when nobody follows it.
    pub(super) fn told_by_pipe(&self, pane: Pane) -> Option<mpsc::Sender<Vec<u8>>> {
        let mut panes = self.panes.lock().unwrap_or_else(PoisonError::into_inner);
        let follower = panes.get_mut(&pane)?;
        follower.printed = None;
        Some(follower.pieces.clone())
    }

    /// Stops following a pane: its output ends.
    pub(super) fn forget(&self, pane: Pane) {
        self.panes.lock().unwrap_or_else(PoisonError::into_inner).remove(&pane);
    }
}

/// Who waits, and how many more of the same step do behind it.
type Waiting = Arc<Mutex<VecDeque<(Follow, Reply, usize)>>>;

async fn write(
    mut input: ChildStdin,
    attached: oneshot::Receiver<()>,
    mut asked: mpsc::Receiver<Asked>,
    waiting: Waiting,
) {
    if attached.await.is_err() {
        return;
    }
    while let Some(Asked { line, replies }) = asked.recv().await {
        {
            let (mut waiting, mut behind) =
                (waiting.lock().unwrap_or_else(PoisonError::into_inner), replies.len());
            for (follow, reply) in replies {
                behind -= 1;
                waiting.push_back((follow, reply, behind));
            }
        }
        if input.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
    // Nobody can ask any more: the end of the input lets the client go.
}

/// Asks for all panes whenever one may be gone, as long as anybody else can ask.
async fn look_for_panes(commands: mpsc::WeakSender<Asked>, mut closes: watch::Receiver<()>) {
    while closes.changed().await.is_ok() {
        let Some(commands) = commands.upgrade() else { return };
        let (reply, answer) = oneshot::channel();
        let asked = Asked { line: format!("{ALL}\n"), replies: vec![(Follow::All, reply)] };
        if commands.send(asked).await.is_err() {
            return;
        }
        drop(commands);
        let _dealt_with_in_its_order = answer.await;
    }
}

/// Ends what waits on a client that is gone.
fn end(mut client: Child, waiting: &Waiting, panes: &Panes, why: &str) {
    for (_, reply, _) in waiting.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _nobody = reply.send(Err(TmuxError::Gone(why.to_owned())));
    }
    panes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let _gone = client.start_kill();
    tokio::spawn(async move { client.wait().await });
}
