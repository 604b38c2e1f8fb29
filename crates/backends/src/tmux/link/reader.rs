//! Reads what a client of tmux says: answers go to whoever waits, the bytes of panes to whoever follows them.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::time::Duration;

use ptyard_core::Size;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};

use super::super::joined::size;
use super::super::protocol::{Line, Pane, Within, unescaped};
use super::{Answer, Follow, Followed, Follower, Panes, Shown, TmuxError, Waiting};

/// Pieces of output that may wait for one follower, of at most some kilobytes each.
const PIECES: usize = 256;

/// How long nothing comes of a client whose process has ended, until nothing more will. The server has heard of its end
/// by then: it writes nothing more, and what it wrote before can be read at once.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The output of a client.
pub(super) struct Reader {
    pub(super) client: Child,
    pub(super) output: BufReader<ChildStdout>,
    pub(super) waiting: Waiting,
    pub(super) panes: Panes,
    pub(super) closed: watch::Sender<()>,
    /// Whoever waits until the client is attached.
    pub(super) attach: Option<oneshot::Sender<()>>,
}

impl Reader {
    /// Reads until the client is gone, and says why it is.
    pub(super) async fn read(&mut self) -> String {
        let (mut line, mut within, mut answer) = (Vec::new(), Within::Nothing, String::new());
        let (mut why, mut is_ours) = ("it closed the connection".to_owned(), false);
        let mut has_ended = false;
        loop {
            line.clear();
            while !line.ends_with(b"\n") {
                let reading = self.output.read_until(b'\n', &mut line);
                let read = if has_ended {
                    match tokio::time::timeout(LAST_WORDS, reading).await {
                        Ok(read) => read,
                        Err(_) => return "its client was killed".to_owned(),
                    }
                } else {
                    tokio::select! {
                        biased;
                        read = reading => read,
                        // What was read of a line by then is kept.
                        _ended = self.client.wait() => {
                            has_ended = true;
                            continue;
                        }
                    }
                };
                match read {
                    Ok(0) => return why,
                    Err(error) => return error.to_string(),
                    Ok(_) => {}
                }
            }
            line.pop();
            match Line::parse(&line, within) {
                Line::Begin { ours } => (within, is_ours) = (Within::Answer, ours),
                ended @ (Line::End | Line::Error) => {
                    within = Within::Nothing;
                    let text = std::mem::take(&mut answer);
                    // The first answer is to the command that the client was started with.
                    if let Some(attach) = self.attach.take() {
                        let _gone = attach.send(());
                    }
                    if is_ours {
                        self.answered(text, ended == Line::End);
                    } else if ended == Line::Error {
                        why = text.trim_end().to_owned();
                    }
                }
                Line::Output { pane, data } => self.printed(pane, unescaped(data)).await,
                Line::Pause(pane) if self.is_told_by_pipe(pane) => {}
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
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((follow, reply, behind)) = waiting.pop_front() else { return };
        if !done {
            let error = TmuxError::Refused(text.trim_end().to_owned());
            // What stood behind it in the same step is not carried out, and not answered.
            for (_, reply, _) in waiting.drain(..behind) {
                let _nobody = reply.send(Err(error.clone()));
            }
            let _nobody = reply.send(Err(error));
            return;
        }
        drop(waiting);
        let mut panes = self.panes.lock().unwrap_or_else(PoisonError::into_inner);
        let printed = match follow {
            Follow::Printed(pane) => panes.get(&pane).and_then(|follower| follower.printed),
            _ => None,
        };
        let followed = match follow {
            Follow::Nothing | Follow::Printed(_) => None,
            Follow::Named => {
                let word = text.split_whitespace().next().unwrap_or_default();
                Pane::parse(word.as_bytes()).map(|pane| {
                    let (sender, pieces) = mpsc::channel(PIECES);
                    let (say_size, size) = watch::channel(None);
                    let (say_shown, shown) = watch::channel(Shown::InSeveral);
                    panes.insert(
                        pane,
                        Follower { pieces: sender, size: say_size, shown: say_shown, printed: Some(0) },
                    );
                    Followed { pieces, size, shown }
                })
            }
            Follow::All => {
                let all: HashMap<Pane, (Option<Size>, Shown)> = text.lines().filter_map(listed).collect();
                panes.retain(|pane, follower| {
                    let known = all.get(pane);
                    if let Some(&(size, shown)) = known {
                        follower.size.send_if_modified(|before| std::mem::replace(before, size) != size);
                        follower.shown.send_if_modified(|before| std::mem::replace(before, shown) != shown);
                    }
                    known.is_some()
                });
                None
            }
        };
        drop(panes);
        // A caller that is gone leaves a pane that it asked for to itself: see `Window`.
        let _nobody = reply.send(Ok(Answer { text, followed, printed }));
    }

    fn is_told_by_pipe(&self, pane: Pane) -> bool {
        let panes = self.panes.lock().unwrap_or_else(PoisonError::into_inner);
        panes.get(&pane).is_some_and(|follower| follower.printed.is_none())
    }

    async fn printed(&self, pane: Pane, bytes: Vec<u8>) {
        let follower = {
            let mut panes = self.panes.lock().unwrap_or_else(PoisonError::into_inner);
            panes.get_mut(&pane).map(|follower| {
                if let Some(printed) = &mut follower.printed {
                    *printed += bytes.len() as u64;
                }
                follower.pieces.clone()
            })
        };
        if let Some(follower) = follower {
            // Fails when nobody follows any more.
            let _left = follower.send(bytes).await;
        }
    }
}

fn listed(line: &str) -> Option<(Pane, (Option<Size>, Shown))> {
    let mut words = line.split_whitespace();
    let pane = Pane::parse(words.next()?.as_bytes())?;
    let size = words.next().zip(words.next()).and_then(|(cols, rows)| size(cols, rows));
    let shown = if words.next() == Some("0") { Shown::Once } else { Shown::InSeveral };
    Some((pane, (size, shown)))
}
