//! Why the status is what it is: who decided, and what the others say.

use super::event::Hold;
use super::evidence::{Position, Rule, Sight, Source};
use super::machine::TurnMachine;
use super::report::StatusReport;
use super::status::Status;
use crate::Moment;

/// A status with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What is told.
    pub report: StatusReport,
    /// Why mail would wait now; `None` when it would be handed over.
    pub hold: Option<Hold>,
    /// What each source that has spoken says, the most trusted first.
    pub sources: Vec<Said>,
}

/// What one source says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who.
    pub source: Source,
    /// What the agent is doing.
    pub status: Status,
    /// By which rule.
    pub rule: Rule,
    /// From where in the order of the source.
    pub position: Position,
    /// What it tells of the composer.
    pub sight: Sight,
    /// Since when it says this status.
    pub since: Moment,
    /// How it counts.
    pub standing: Standing,
}

/// How much a source counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It is believed.
    Believed,
    /// A more trusted one is believed.
    Outranked,
    /// All it said may be from before the last write.
    FromBeforeTheWrite,
    /// It kept silent while others went on.
    Silent,
}

impl TurnMachine {
    /// The status at `now`, with its reasons.
    #[must_use]
    pub fn explain(&self, now: Moment) -> Explanation {
        let report = self.report(now);
        let sources = self.observers().filter_map(|(source, track)| {
            let latest = track.latest.as_ref()?;
            let is_older = self.write.is_some_and(|write| track.cover(source, write).is_none());
            let standing = match () {
                () if track.is_silent => Standing::Silent,
                () if report.source == Some(source) => Standing::Believed,
                () if is_older => Standing::FromBeforeTheWrite,
                () => Standing::Outranked,
            };
            Some(Said {
                source,
                status: latest.status,
                rule: latest.rule.clone(),
                position: latest.position,
                sight: latest.sight,
                since: track.since,
                standing,
            })
        });
        Explanation { hold: self.hold(), sources: sources.collect(), report }
    }
}
