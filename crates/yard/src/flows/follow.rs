//! What becomes of a run: its agent works, waits for a person, is done, or ends.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ptyard_core::TerminalId;
use ptyard_core::turn::{Status, StatusReport};
use ptyard_store::{FlowRunRow, FlowRunState, StoreError};
use ptyard_terminal::Progress;
use tokio::sync::watch;

use super::spec::{FlowAgent, WhenDone};
use crate::error::YardError;
use crate::inbox::{Message, MessageState, Turn};
use crate::spec::TerminalRef;
use crate::yard::{Inner, Yard};

/// After this time it is tried again what the store refused, as a full disk does.
const AGAIN: Duration = Duration::from_secs(1);

/// Where a run stands, and what is told of it.
type Standing = (FlowRunState, Option<String>);

impl Yard {
    /// Goes on with the runs that an earlier server left open.
    pub(crate) fn resume_flow_runs(&self) {
        let yard = Arc::downgrade(&self.inner);
        tokio::spawn(async move {
            let Some(yard) = yard.upgrade().map(|inner| Yard { inner }) else { return };
            let open = yard.inner.store.open_flow_runs().await;
            for run in open.unwrap_or_else(|error| {
                tracing::error!(%error, "runs of flows of an earlier server are not looked at");
                Vec::new()
            }) {
                if run.state == FlowRunState::Starting {
                    let why = "the server ended while its agent was started; `ptyard list` shows whether it came to be";
                    yard.end_run(&run, FlowRunState::Failed, Some(why.to_owned())).await;
                    continue;
                }
                let flow = yard.inner.store.flow(run.flow.clone()).await.ok().flatten();
                let agent = flow.and_then(|flow| serde_json::from_str::<FlowAgent>(&flow.agent).ok());
                yard.follow_run(run, agent.map_or(WhenDone::Keep, |agent| agent.when_done));
            }
        });
    }

    /// Writes down where a run stands until it is over.
    pub(super) fn follow_run(&self, run: FlowRunRow, when_done: WhenDone) {
        tokio::spawn(follow(Arc::downgrade(&self.inner), run, when_done));
    }

    /// Writes down how a run ended, as soon as the store takes it.
    pub(super) async fn end_run(&self, run: &FlowRunRow, state: FlowRunState, note: Option<String>) {
        while let Err(error) = self.note_run(run, state, note.clone()).await {
            tracing::warn!(run = %run.id, %error, "the end of a run waits for the store");
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Writes down where a run stands. One whose flow was removed is not told of any more.
    async fn note_run(
        &self,
        run: &FlowRunRow,
        state: FlowRunState,
        note: Option<String>,
    ) -> Result<(), StoreError> {
        let now = self.inner.flows.calendar.now();
        match self.inner.store.note_flow_run(run.id, state, note, now).await {
            Ok(run) => self.tell_run(&run),
            Err(StoreError::UnknownFlowRun(_) | StoreError::FlowRunOver(_) | StoreError::Closed) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn standing(&self, run: &FlowRunRow) -> Result<Standing, YardError> {
        let failed = |why: &str| Ok((FlowRunState::Failed, Some(why.to_owned())));
        let (Some(terminal), Some(message)) = (run.terminal, run.message) else {
            return failed("nothing is known of its work any more");
        };
        let at = TerminalRef::Id(terminal);
        let message = self.message(message).await?;
        let Ok(entry) = self.find(&at) else { return failed("its terminal was removed") };
        let status = self.status(&at)?;
        if message.state == MessageState::Delivered && message.turn == Some(Turn::Completed) {
            if status.is_some_and(|status| status.report.status == Status::Error) {
                return failed("its agent reported an error");
            }
            return Ok((FlowRunState::Completed, self.last_answer(&at, message.offset).await?));
        }
        if entry.has_exited() {
            return failed("its program ended before it was done");
        }
        if let Some(why) = undelivered(&message) {
            return Ok(why);
        }
        let asks = status.filter(|status| status.report.status == Status::WaitingUserAnswer);
        Ok(match asks {
            Some(status) => {
                let asked = status.report.blocked_on.and_then(|blocked| blocked.message);
                let asked = asked.map_or_else(String::new, |asked| format!(": {asked}"));
                (FlowRunState::Held, Some(format!("it asks something{asked}")))
            }
            None => (FlowRunState::Running, None),
        })
    }
}

/// What it means that the work did not arrive, or that nobody knows.
fn undelivered(message: &Message) -> Option<Standing> {
    let why = || message.reason.as_deref().unwrap_or(message.state.as_str());
    match message.state {
        MessageState::Failed | MessageState::Cancelled => {
            Some((FlowRunState::Failed, Some(format!("the work did not reach it: {}", why()))))
        }
        MessageState::Uncertain => Some((
            FlowRunState::Held,
            Some(format!("nobody knows whether the work reached it ({}); look at {}", why(), message.id)),
        )),
        MessageState::Pending | MessageState::Dispatching | MessageState::Delivered => None,
    }
}

async fn follow(yard: Weak<Inner>, run: FlowRunRow, when_done: WhenDone) {
    let mut told: Standing = (run.state, run.note.clone());
    loop {
        let Some(yard) = yard.upgrade().map(|inner| Yard { inner }) else { return };
        // What changes from here on is looked at again.
        let changes = run.terminal.and_then(|id| Changes::of(&yard, id));
        let standing = match yard.standing(&run).await {
            Ok(standing) => Ok(standing),
            Err(YardError::Store(error)) => Err(error),
            Err(error) => Ok((FlowRunState::Failed, Some(error.to_string()))),
        };
        let noted = match standing {
            Ok((state, note)) if !state.is_open() => {
                yard.end_run(&run, state, note).await;
                if let Some(id) = run.terminal
                    && state == FlowRunState::Completed
                    && when_done == WhenDone::End
                {
                    let _gone_meanwhile = yard.kill(&TerminalRef::Id(id), None).await;
                }
                return;
            }
            Ok(standing) if standing == told => Ok(()),
            Ok((state, note)) => {
                yard.note_run(&run, state, note.clone()).await.map(|()| told = (state, note))
            }
            Err(error) => Err(error),
        };
        drop(yard);
        match (noted, changes) {
            (Ok(()), Some(changes)) => changes.next().await,
            (Ok(()), None) => {}
            (Err(error), _) => {
                tracing::warn!(run = %run.id, %error, "where a run stands waits for the store");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// What may change where a run stands.
struct Changes {
    mail: watch::Receiver<u64>,
    status: watch::Receiver<Option<StatusReport>>,
    progress: watch::Receiver<Progress>,
}

impl Changes {
    fn of(yard: &Yard, id: TerminalId) -> Option<Self> {
        let entry = yard.find(&TerminalRef::Id(id)).ok()?;
        Some(Self {
            mail: entry.mail.subscribe(),
            status: entry.terminal.status(),
            progress: entry.terminal.progress(),
        })
    }

    async fn next(mut self) {
        let status = async {
            if self.status.changed().await.is_err() {
                // Its end is told otherwise.
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            _changed_or_removed = self.mail.changed() => {}
            () = status => {}
            _ended = self.progress.wait_for(|progress| progress.sealed.is_some()) => {}
        }
    }
}
