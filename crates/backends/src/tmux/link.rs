//! The one client of a tmux server: commands go in, answers and the bytes of panes come out, in one order.
//!
//! # Invariants
//! 1. Answers come in the order of the commands, so the oldest waiting command is the one that is answered.
//! 2. Output of a pane that is followed is handed on or waited with, never dropped: while a follower does not take what
//!    its queue cannot hold, nothing more is read, and then the server stops reading its panes.
//! 3. Output of a pane that is gone ends. The server does not say when one goes; when a window is closed or changed, it
//!    is asked for all there are.

use std::collections::{HashMap, HashSet, VecDeque};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot, watch};

use super::protocol::{Line, Pane, Within, unescaped};

/// Commands that may wait to be written; further callers wait outside.
const COMMANDS: usize = 64;

/// Pieces of output that may wait for one follower, of at most some kilobytes each.
const PIECES: usize = 256;

/// Output of a pane, piece by piece.
pub(super) type Pieces = mpsc::Receiver<Vec<u8>>;

/// What to do with the pane that an answer names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// It is not looked for.
    Nothing,
    /// Its output is followed from now on: the answer's first word is the pane.
    Named,
    /// The answer names all panes there are: output of the others has ended.
    All,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its lines.
    pub(super) text: String,
    /// Output of the pane that is followed from now on.
    pub(super) pieces: Option<Pieces>,
}

struct Asked {
    text: String,
    follow: Follow,
    reply: oneshot::Sender<Result<Answer, TmuxError>>,
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

type Panes = Arc<Mutex<HashMap<Pane, mpsc::Sender<Vec<u8>>>>>;

/// A client that is connected.
#[derive(Debug, Clone)]
pub(super) struct Link {
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
        let panes = Panes::default();
        let waiting = Arc::default();
        let (closed, closes) = watch::channel(());
        let reader = Reader {
            output: BufReader::with_capacity(64 << 10, output),
            waiting: Arc::clone(&waiting),
            panes: Arc::clone(&panes),
            closed,
        };
        let followed = Arc::clone(&panes);
        let looking = tokio::spawn(look_for_panes(commands.downgrade(), closes));
        tokio::spawn(async move {
            let writing = tokio::spawn(write(input, asked, Arc::clone(&waiting)));
            let why = reader.read().await;
            writing.abort();
            looking.abort();
            say_gone.send_replace(Some(why.clone()));
            end(client, &waiting, &followed, &why);
        });
        Ok(Self { commands, panes, gone })
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.borrow().is_some()
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
        debug_assert!(!text.contains('\n'), "a command is one line");
        let (reply, answer) = oneshot::channel();
        let gone = || TmuxError::Gone(self.gone.borrow().clone().unwrap_or_default());
        self.commands.send(Asked { text, follow, reply }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Stops following a pane: its output ends.
    pub(super) fn forget(&self, pane: Pane) {
        self.panes.lock().unwrap_or_else(PoisonError::into_inner).remove(&pane);
    }
}

type Waiting = Arc<Mutex<VecDeque<(Follow, oneshot::Sender<Result<Answer, TmuxError>>)>>>;

async fn write(mut input: ChildStdin, mut asked: mpsc::Receiver<Asked>, waiting: Waiting) {
    while let Some(Asked { mut text, follow, reply }) = asked.recv().await {
        text.push('\n');
        waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back((follow, reply));
        if input.write_all(text.as_bytes()).await.is_err() {
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
        let text = "list-panes -a -F '#{pane_id}'".to_owned();
        if commands.send(Asked { text, follow: Follow::All, reply }).await.is_err() {
            return;
        }
        drop(commands);
        let _dealt_with_in_its_order = answer.await;
    }
}

struct Reader {
    output: BufReader<ChildStdout>,
    waiting: Waiting,
    panes: Panes,
    closed: watch::Sender<()>,
}

impl Reader {
    /// Reads until the client is gone, and says why it is.
    async fn read(mut self) -> String {
        let (mut line, mut within, mut answer) = (Vec::new(), Within::Nothing, String::new());
        let (mut why, mut is_ours) = ("it closed the connection".to_owned(), false);
        loop {
            line.clear();
            match self.output.read_until(b'\n', &mut line).await {
                Ok(0) => return why,
                Err(error) => return error.to_string(),
                Ok(_) => {}
            }
            if line.pop_if(|last| *last == b'\n').is_none() {
                return why;
            }
            match Line::parse(&line, within) {
                Line::Begin { ours } => (within, is_ours) = (Within::Answer, ours),
                ended @ (Line::End | Line::Error) => {
                    within = Within::Nothing;
                    let text = std::mem::take(&mut answer);
                    if is_ours {
                        self.answered(text, ended == Line::End);
                    } else if ended == Line::Error {
                        why = text.trim_end().to_owned();
                    }
                }
                Line::Output { pane, data } => self.printed(pane, unescaped(data)).await,
                Line::Pause(pane) => {
                    tracing::warn!(%pane, "tmux left output out: it was not taken for too long");
                }
                Line::Closed => {
                    self.closed.send_replace(());
                }
                Line::Exit(b"") => "it let us go".clone_into(&mut why),
                Line::Exit(reason) => why = String::from_utf8_lossy(reason).into_owned(),
                Line::Other(text) if within == Within::Answer => {
                    answer += &String::from_utf8_lossy(text);
                    answer.push('\n');
                }
                Line::Other(_) => {}
            }
        }
    }

    fn answered(&self, text: String, done: bool) {
        let asked = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((follow, reply)) = asked else { return };
        if !done {
            let _nobody = reply.send(Err(TmuxError::Refused(text.trim_end().to_owned())));
            return;
        }
        let mut named = text.split_whitespace().filter_map(|word| Pane::parse(word.as_bytes()));
        let mut panes = self.panes.lock().unwrap_or_else(PoisonError::into_inner);
        let pieces = match follow {
            Follow::Nothing => None,
            Follow::Named => named.next().map(|pane| {
                let (sender, pieces) = mpsc::channel(PIECES);
                panes.insert(pane, sender);
                pieces
            }),
            Follow::All => {
                let all: HashSet<Pane> = named.collect();
                panes.retain(|pane, _| all.contains(pane));
                None
            }
        };
        drop(panes);
        // A caller that is gone leaves a pane that it asked for to itself: see `Window`.
        let _nobody = reply.send(Ok(Answer { text, pieces }));
    }

    async fn printed(&self, pane: Pane, bytes: Vec<u8>) {
        let follower = self.panes.lock().unwrap_or_else(PoisonError::into_inner).get(&pane).cloned();
        if let Some(follower) = follower {
            // Fails when nobody follows any more.
            let _left = follower.send(bytes).await;
        }
    }
}

/// Ends what waits on a client that is gone.
fn end(mut client: Child, waiting: &Waiting, panes: &Panes, why: &str) {
    for (_, reply) in waiting.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _nobody = reply.send(Err(TmuxError::Gone(why.to_owned())));
    }
    panes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let _gone = client.start_kill();
    tokio::spawn(async move { client.wait().await });
}
