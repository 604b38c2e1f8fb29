//! What agents do, and the few keys that are pressed for a person: answers and resets.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use ptyard_core::TerminalId;
use ptyard_core::turn::{Explanation, Status, StatusReport};
use ptyard_core::typed::{self, Removed};
use ptyard_screen::keys as key_names;
use ptyard_terminal::Typed;

use crate::error::YardError;
use crate::spec::TerminalRef;
use crate::write::ended;
use crate::yard::Yard;

/// How long after the text of an answer its Enter comes, if the very same question is still asked then.
const BEFORE_ENTER: Duration = Duration::from_millis(250);

/// Longest answer, in bytes.
const ANSWER_BYTES: usize = 4_096;

/// A status, and since when by the clock of the wall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStatus {
    /// The terminal.
    pub id: TerminalId,
    /// The report.
    pub report: StatusReport,
    /// Since when it holds, for people to read.
    pub since: SystemTime,
}

/// An answer to what an agent asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Words or a choice. They are typed as text, never taken for names of keys.
    Text(String),
    /// Keys by name.
    Keys(String),
}

impl Yard {
    /// What an agent does; `None` when no agent runs in the terminal.
    pub fn status(&self, at: &TerminalRef) -> Result<Option<AgentStatus>, YardError> {
        let entry = self.find(at)?;
        let report = entry.terminal.status().borrow().clone();
        Ok(report.map(|report| self.agent_status(entry.id(), report)))
    }

    /// Waits until an agent does what `wanted` says, and tells it; `None` when it did not within `patience`, its
    /// terminal is gone, or no agent came to it.
    pub async fn status_until(
        &self,
        at: &TerminalRef,
        wanted: impl Fn(&StatusReport) -> bool,
        patience: Duration,
    ) -> Result<Option<AgentStatus>, YardError> {
        let entry = self.find(at)?;
        let mut status = entry.terminal.status();
        let come = status.wait_for(|report| report.as_ref().is_some_and(&wanted));
        let Ok(Ok(report)) = tokio::time::timeout(patience, come).await else { return Ok(None) };
        let report = report.clone();
        Ok(report.map(|report| self.agent_status(entry.id(), report)))
    }

    fn agent_status(&self, id: TerminalId, report: StatusReport) -> AgentStatus {
        AgentStatus { id, since: self.inner.clock.wall(report.since), report }
    }

    /// Why it is taken to do that.
    pub async fn explain(&self, at: &TerminalRef) -> Result<Option<Explanation>, YardError> {
        let entry = self.find(at)?;
        entry.terminal.explain().await.map_err(|error| ended(at, error))
    }

    /// A person says that nothing is under way in a terminal: what was not confirmed is uncertain from now on.
    pub async fn reset(&self, at: &TerminalRef) -> Result<TerminalId, YardError> {
        let entry = self.find(at)?;
        asked(entry.terminal.status().borrow().as_ref(), at)?;
        entry.terminal.reset_turns().await.map_err(|error| ended(at, error))?;
        Ok(entry.id())
    }

    /// Answers the question that an agent asks, and nothing else: an agent that asks nothing is typed nothing.
    ///
    /// The Enter after a text is pressed only if the same question still stands: a dialog that takes a digit at once
    /// may be followed by another one, whose default nobody chose.
    ///
    /// # Errors
    /// [`YardError::NotAsking`] when it asks nothing.
    pub async fn answer(&self, at: &TerminalRef, answer: &Answer) -> Result<Removed, YardError> {
        let entry = self.find(at)?;
        let mut status = entry.terminal.status();
        let asked = asked(status.borrow_and_update().as_ref(), at)?;
        if asked.status != Status::WaitingUserAnswer {
            return Err(YardError::NotAsking { at: at.clone(), status: asked.status });
        }
        let (bytes, removed, has_enter) = match answer {
            Answer::Keys(names) => {
                let modes = entry.terminal.modes().await.map_err(|error| ended(at, error))?;
                let keys = key_names::parse(names)?;
                let bytes: Vec<u8> = keys.iter().flat_map(|key| key_names::encode(key, &modes)).collect();
                (bytes, Removed::default(), false)
            }
            Answer::Text(text) => {
                let cleaned = typed::clean(text);
                let line = cleaned.text.replace(['\n', '\t'], " ");
                (line.trim().to_owned().into_bytes(), cleaned.removed, true)
            }
        };
        if bytes.is_empty() || bytes.len() > ANSWER_BYTES {
            return Err(YardError::InvalidArgument(format!(
                "an answer has 1 to {ANSWER_BYTES} bytes, this one has {}",
                bytes.len()
            )));
        }
        let is_another =
            |report: &Option<StatusReport>| report.as_ref().is_none_or(|now| !is_same(&asked, now));
        let takes_keys = asked.since + self.answer_after(entry.id());
        let wait = takes_keys.since(self.inner.clock.now());
        if !wait.is_zero() && tokio::time::timeout(wait, status.wait_for(is_another)).await.is_ok() {
            let status = status.borrow().as_ref().map_or(Status::Unknown, |report| report.status);
            return Err(YardError::NotAsking { at: at.clone(), status });
        }
        entry.terminal.type_in(Typed::raw(Bytes::from(bytes))).await.map_err(|error| ended(at, error))?;
        if !has_enter {
            return Ok(removed);
        }
        let still_stands = tokio::time::timeout(BEFORE_ENTER, status.wait_for(is_another)).await.is_err();
        if still_stands {
            entry.terminal.type_in(Typed::raw(&b"\r"[..])).await.map_err(|error| ended(at, error))?;
        }
        Ok(removed)
    }
}

impl Yard {
    /// How long a question has to stand before the agent takes a key for an answer.
    fn answer_after(&self, id: TerminalId) -> Duration {
        let provider = self.inner.team.roster().member(id).map(|member| member.provider.clone());
        let known = self.providers();
        let provider = provider.and_then(|provider| known.library.get(&provider));
        provider.map_or(Duration::ZERO, |provider| Duration::from_millis(provider.input().answer_after_ms))
    }
}

fn asked(report: Option<&StatusReport>, at: &TerminalRef) -> Result<StatusReport, YardError> {
    report.cloned().ok_or_else(|| YardError::NoAgent(at.clone()))
}

/// Whether two reports tell of one question.
fn is_same(asked: &StatusReport, now: &StatusReport) -> bool {
    now.status == Status::WaitingUserAnswer && now.since == asked.since && now.blocked_on == asked.blocked_on
}
