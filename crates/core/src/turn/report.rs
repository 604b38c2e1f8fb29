//! What is told about a turn.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::attempt::{AttemptId, Epoch};
use super::evidence::{Position, Rule, Source};
use super::status::{BlockedOn, Status};
use crate::Moment;

/// The status of an agent with where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusReport {
    /// The status.
    pub status: Status,
    /// Since when it is this one.
    pub since: Moment,
    /// The turn.
    pub epoch: Epoch,
    /// Who decided; `None` while nobody has said anything.
    pub source: Option<Source>,
    /// By which rule.
    pub rule: Option<Rule>,
    /// From where in the order of that source.
    pub position: Option<Position>,
    /// What the agent asks, while it waits for an answer.
    pub blocked_on: Option<BlockedOn>,
    /// The dispatch that is not confirmed, or not finished, for longer than is usual.
    pub stalled: Option<Stalled>,
}

/// A dispatch that makes no progress. Only evidence, a reset, a restart or a person ends it: time alone never does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stalled {
    /// Which one.
    pub attempt: AttemptId,
    /// What is missing.
    pub reason: StallReason,
    /// For how long by now, in milliseconds.
    #[serde(rename = "age_ms", with = "millis")]
    pub age: Duration,
}

/// What a dispatch waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallReason {
    /// The program does not take its input.
    InputNotTaken,
    /// The text still stands in the composer.
    NotSubmitted,
    /// Nothing was seen from after the write.
    NoEvidence,
}

mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(age: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}
