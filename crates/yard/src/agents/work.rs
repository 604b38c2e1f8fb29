//! Handoffs of the yard: real workers, and what they answered.

use std::pin::Pin;
use std::sync::Weak;
use std::time::Duration;

use ptyard_core::plain;
use ptyard_core::turn::{Source, Status};
use ptyard_core::typed;
use ptyard_core::{HandoffId, MessageId, Moment, TerminalId};
use ptyard_providers::answer::Reader;
use ptyard_store::HandoffRow;
use ptyard_terminal::{Clock, Terminal};

use super::framing::Purpose;
use super::handoff::{Afterwards, Handoffs, TurnOver, Workers};
use super::launch::{LaunchSpec, Launched};
use super::mail::{abandoned_by_nobody, check_first_words};
use crate::error::YardError;
use crate::inbox::{self, Message, MessageState, SendSpec, Turn};
use crate::spec::TerminalRef;
use crate::yard::{Inner, Yard};

/// How much of a log an answer is looked for in: an answer that began before is marked as partial by its reader.
const ANSWER_LOG_BYTES: u64 = 8 << 20;

/// Longest answer that is kept where a provider has no rules for answers, in bytes.
const PLAIN_ANSWER_BYTES: usize = 64 << 10;

/// How long an answer may still be drawn after its agent has said that it is done.
const DRAWN_LIMIT: Duration = Duration::from_secs(3);

/// When the screen is looked at again that did not change: it is judged a little after it has come to rest.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A handoff that was begun.
#[derive(Debug, Clone)]
pub struct HandedOff {
    /// Its id.
    pub id: HandoffId,
    /// The worker.
    pub worker: Launched,
    /// As it stood when the caller's patience was over, or it was settled.
    pub row: HandoffRow,
}

impl Yard {
    /// Starts a worker, gives it work and waits for what it answers, at most `patience`. The handoff goes on without the
    /// caller; [`handoff_result`](Self::handoff_result) asks again.
    pub async fn hand_off(
        &self,
        spec: LaunchSpec,
        text: &str,
        patience: Duration,
        afterwards: Afterwards,
    ) -> Result<HandedOff, YardError> {
        let (work, _removed) = self.put(&spec.creator, text, Purpose::Handoff);
        self.begin_handoff(spec, text, work, patience, afterwards).await
    }

    /// The same with the words as they are: for a caller that has put lines of its own around them.
    pub async fn hand_off_verbatim(
        &self,
        spec: LaunchSpec,
        text: &str,
        patience: Duration,
        afterwards: Afterwards,
    ) -> Result<HandedOff, YardError> {
        let work = SendSpec {
            from: spec.creator.terminal.map(TerminalRef::Id),
            origin: spec.creator.origin.clone(),
            purpose: inbox::Purpose::Handoff,
            ..SendSpec::new(typed::clean(text).text)
        };
        self.begin_handoff(spec, text, work, patience, afterwards).await
    }

    async fn begin_handoff(
        &self,
        spec: LaunchSpec,
        text: &str,
        work: SendSpec,
        patience: Duration,
        afterwards: Afterwards,
    ) -> Result<HandedOff, YardError> {
        check_first_words(text)?;
        let yard = self.clone();
        let (id, worker) = abandoned_by_nobody(async move {
            let caller = spec.creator.terminal;
            let worker = yard.launch(spec).await?;
            let work = yard.addressed(&TerminalRef::Id(worker.id), work)?;
            let (id, posted) = yard.handoffs().open(work.clone(), caller, afterwards).await?;
            yard.accepted(work, posted).await?;
            Ok((id, worker))
        })
        .await?;
        let row = self.handoffs().result(id, patience).await?;
        Ok(HandedOff { id, worker, row })
    }

    /// A handoff as it stands when it is settled, or when `patience` is over.
    pub async fn handoff_result(&self, id: HandoffId, patience: Duration) -> Result<HandoffRow, YardError> {
        Ok(self.handoffs().result(id, patience).await?)
    }

    /// Up to `most` handoffs that a terminal, or a person, began; newest first.
    pub async fn handoffs_of(
        &self,
        caller: Option<TerminalId>,
        most: u32,
    ) -> Result<Vec<HandoffRow>, YardError> {
        Ok(self.inner.store.handoffs_of(caller, most).await?)
    }

    /// Goes on with the handoffs that an earlier server left open.
    pub(crate) fn resume_handoffs(&self) {
        let handoffs = self.handoffs().clone();
        tokio::spawn(async move {
            match handoffs.resume().await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "handoffs of an earlier server go on"),
                Err(error) => tracing::error!(%error, "handoffs of an earlier server are not looked at"),
            }
        });
    }

    pub(crate) fn handoffs(&self) -> &Handoffs {
        self.inner.team.handoffs.get_or_init(|| {
            let workers = RealWorkers(std::sync::Arc::downgrade(&self.inner));
            Handoffs::new(std::sync::Arc::clone(&self.inner.store), std::sync::Arc::new(workers))
        })
    }

    /// What an agent answered last; where its provider has no rules for answers, what was printed from `since` on.
    pub async fn last_answer(
        &self,
        at: &TerminalRef,
        since: Option<u64>,
    ) -> Result<Option<String>, YardError> {
        let entry = self.find(at)?;
        let provider = self.inner.team.roster().member(entry.id()).map(|member| member.provider.clone());
        let provider = provider.and_then(|id| self.providers().library.get(&id).cloned());
        let rest = provider.as_ref().map_or(Duration::ZERO, |provider| provider.answer_rest());
        drawn(&entry.terminal, &self.inner.clock, rest).await;
        let bounds = entry.terminal.log().bounds();
        let from = bounds.start.max(bounds.end.saturating_sub(ANSWER_LOG_BYTES));
        let log = self.read(at, Some(from), ANSWER_LOG_BYTES as usize).await?;
        if let Some(provider) = provider {
            let size = entry.terminal.progress().borrow().size;
            let mut reader = Reader::new(provider, size);
            reader.feed(&log.data, Moment::EPOCH);
            if let Some(answer) = reader.answer(Moment::EPOCH) {
                return Ok(Some(answer.text));
            }
        }
        let begin = since.map_or(0, |since| since.saturating_sub(log.from)) as usize;
        let printed = log.data.get(begin..).unwrap_or_default();
        let text = plain::strip(&String::from_utf8_lossy(printed)).replace('\r', "");
        let text = text.trim();
        let cut = text.len().saturating_sub(PLAIN_ANSWER_BYTES);
        let cut = (cut..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        Ok(Some(text[cut..].to_owned()).filter(|text| !text.is_empty()))
    }

    /// How the turn that a message began is over; `None` while it is not.
    async fn over(&self, worker: TerminalId, message: &Message) -> Result<Option<TurnOver>, YardError> {
        let reason = || message.reason.clone().unwrap_or_else(|| message.state.as_str().to_owned());
        let at = TerminalRef::Id(worker);
        match message.state {
            MessageState::Delivered if message.turn == Some(Turn::Completed) => {
                let status = self.status(&at)?.map(|status| status.report.status);
                if status == Some(Status::Error) {
                    return Ok(Some(TurnOver::Failed("the agent reported an error".to_owned())));
                }
                let answer = self.last_answer(&at, message.offset).await?;
                Ok(Some(answer.map_or_else(
                    || TurnOver::Failed("it ended its turn without an answer that could be read".to_owned()),
                    TurnOver::Answered,
                )))
            }
            MessageState::Failed | MessageState::Cancelled | MessageState::Uncertain => {
                Ok(Some(TurnOver::Failed(format!("the work did not reach it: {}", reason()))))
            }
            _ if self.find(&at)?.has_exited() => Ok(Some(TurnOver::Failed("its program ended".to_owned()))),
            _ => Ok(None),
        }
    }
}

/// Waits until the screen does not show work any more and nothing was printed for as long as `rest`: an agent may say that
/// it is done, and look like it, before it has drawn all of its answer. One that never rests is waited for
/// [`DRAWN_LIMIT`].
async fn drawn(terminal: &Terminal, clock: &Clock, rest: Duration) {
    let mut progress = terminal.progress();
    let seen = async {
        loop {
            let printed = progress.borrow_and_update().last_output;
            let told = terminal.explain().await.ok().flatten().filter(|told| told.report.status.is_ready());
            let screen =
                told.and_then(|told| told.sources.into_iter().find(|said| said.source == Source::Screen));
            let works = screen.is_some_and(|said| said.status == Status::Processing);
            let left = printed.map_or(Duration::ZERO, |at| rest.saturating_sub(clock.now().since(at)));
            if !works && left.is_zero() {
                return;
            }
            let wait = if works { LOOK_AGAIN } else { left };
            let rested = tokio::time::timeout(wait, progress.changed()).await;
            if matches!(rested, Ok(Err(_))) {
                return;
            }
        }
    };
    let _late = tokio::time::timeout(DRAWN_LIMIT, seen).await;
}

/// The workers of a yard. They do not keep it: a yard that is dropped leaves its handoffs to the next.
struct RealWorkers(Weak<Inner>);

impl RealWorkers {
    fn yard(&self) -> Option<Yard> {
        self.0.upgrade().map(|inner| Yard { inner })
    }

    async fn wait(&self, worker: TerminalId, message: MessageId) -> TurnOver {
        let gone = || TurnOver::Failed("its terminal was removed".to_owned());
        let Some(yard) = self.yard() else { return std::future::pending().await };
        let Ok(entry) = yard.find(&TerminalRef::Id(worker)) else { return gone() };
        let (mut mail, mut progress) = (entry.mail.subscribe(), entry.terminal.progress());
        drop((yard, entry));
        loop {
            mail.borrow_and_update();
            progress.borrow_and_update();
            let Some(yard) = self.yard() else { return std::future::pending().await };
            let over = match yard.message(message).await {
                Ok(message) => yard.over(worker, &message).await,
                Err(error) => Err(error),
            };
            drop(yard);
            match over {
                Ok(Some(over)) => return over,
                Ok(None) => {}
                Err(error) => return TurnOver::Failed(error.to_string()),
            }
            let ended = progress.wait_for(|progress| progress.sealed.is_some());
            tokio::select! {
                changed = mail.changed() => if changed.is_err() {
                    return gone();
                },
                _ = ended => {}
            }
        }
    }
}

impl Workers for RealWorkers {
    fn turn_over(
        &self,
        worker: TerminalId,
        message: Option<MessageId>,
    ) -> Pin<Box<dyn Future<Output = TurnOver> + Send + '_>> {
        Box::pin(async move {
            match message {
                Some(message) => self.wait(worker, message).await,
                None => TurnOver::Failed("nothing was sent to it".to_owned()),
            }
        })
    }

    fn dismiss(&self, worker: TerminalId) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            let Some(yard) = self.yard() else { return };
            let at = TerminalRef::Id(worker);
            let ended = yard.kill(&at, None).await;
            if let Err(error) = ended.map(drop).and(yard.remove(&at).await.map(drop)) {
                tracing::warn!(%error, %worker, "a worker that is done was not removed");
            }
        })
    }
}
