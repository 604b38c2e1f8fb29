//! A program's own reports (OSC 7501).

use std::collections::BTreeMap;

use ptyard_core::Moment;
use ptyard_core::turn::{BlockedOn, Question, Rule, Status};
use ptyard_screen::scan::{ProgramState, ProgramStatus};

/// Most records of one terminal; reports with further ids are dropped. A program has one, or one for each of its agents.
const MAX_RECORDS: usize = 32;

/// Longest message that is kept, in characters.
const MAX_MESSAGE: usize = 256;

/// The reports in force.
///
/// A report replaces the record of its id whole; `clear` removes the record, or without an id all of them.
///
/// # Invariants
///
/// 1. No record says `clear`, and there are at most [`MAX_RECORDS`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Records {
    records: BTreeMap<String, Record>,
    /// The log offset after the last report.
    last_at: Option<u64>,
}

/// One report.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) state: ProgramState,
    pub(crate) blocked_on: Option<BlockedOn>,
    /// The log offset after it.
    pub(crate) at: u64,
    pub(crate) when: Moment,
}

impl Records {
    /// Takes a report.
    pub(crate) fn report(&mut self, report: &ProgramStatus, at: u64, now: Moment) {
        self.last_at = Some(at);
        let id = report.id.clone().unwrap_or_default();
        if report.state == ProgramState::Clear {
            if id.is_empty() {
                self.records.clear();
            } else {
                self.records.remove(&id);
            }
            return;
        }
        if self.records.len() >= MAX_RECORDS && !self.records.contains_key(&id) {
            return;
        }
        let blocked_on = (report.state == ProgramState::Blocked).then(|| BlockedOn {
            kind: question(report.kind.as_deref()),
            message: report.message.as_ref().map(|text| text.chars().take(MAX_MESSAGE).collect()),
        });
        self.records.insert(id, Record { state: report.state, blocked_on, at, when: now });
        debug_assert!(self.records.len() <= MAX_RECORDS, "invariant 1");
    }

    /// A shell printed its prompt: whatever worked or waited is gone.
    pub(crate) fn at_prompt(&mut self) {
        self.records
            .retain(|_, record| !matches!(record.state, ProgramState::Working | ProgramState::Blocked));
    }

    /// Where everything that was reported had been withdrawn; `None` when nothing ever was.
    pub(crate) fn withdrawn_at(&self) -> Option<u64> {
        self.last_at
    }

    /// The most urgent report.
    pub(crate) fn foremost(&self) -> Option<&Record> {
        let urgency = |record: &&Record| match record.state {
            ProgramState::Blocked => 5,
            ProgramState::Working => 4,
            ProgramState::Error => 3,
            ProgramState::Done => 2,
            ProgramState::Idle => 1,
            ProgramState::Clear => 0,
        };
        self.records.values().max_by_key(urgency)
    }
}

impl Record {
    /// What it says, in our words.
    pub(crate) fn status(&self) -> Status {
        match self.state {
            ProgramState::Idle => Status::Idle,
            ProgramState::Working => Status::Processing,
            ProgramState::Blocked => Status::WaitingUserAnswer,
            ProgramState::Done => Status::Completed,
            ProgramState::Error => Status::Error,
            ProgramState::Clear => Status::Unknown,
        }
    }

    /// The name of the rule.
    pub(crate) fn rule(&self) -> Rule {
        match self.state {
            ProgramState::Idle => Rule::named("osc7501.idle"),
            ProgramState::Working => Rule::named("osc7501.working"),
            ProgramState::Blocked => Rule::named("osc7501.blocked"),
            ProgramState::Done => Rule::named("osc7501.done"),
            ProgramState::Error => Rule::named("osc7501.error"),
            ProgramState::Clear => Rule::named("osc7501.clear"),
        }
    }
}

fn question(kind: Option<&str>) -> Question {
    match kind {
        Some("permission") => Question::Permission,
        Some("question") => Question::Question,
        Some("auth") => Question::Auth,
        _ => Question::Dialog,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(state: ProgramState, id: Option<&str>) -> ProgramStatus {
        let id = id.map(str::to_owned);
        ProgramStatus { state, kind: None, app: None, message: None, id, progress: None }
    }

    #[test]
    fn a_report_replaces_its_record_and_clear_without_an_id_removes_all() {
        let mut records = Records::default();
        records.report(&report(ProgramState::Working, Some("a")), 10, Moment::EPOCH);
        records.report(&report(ProgramState::Idle, None), 20, Moment::EPOCH);
        assert_eq!(records.foremost().unwrap().status(), Status::Processing);
        records.report(&report(ProgramState::Done, Some("a")), 30, Moment::EPOCH);
        assert_eq!(records.foremost().unwrap().status(), Status::Completed);
        records.report(&report(ProgramState::Clear, None), 40, Moment::EPOCH);
        assert!(records.foremost().is_none());
    }

    #[test]
    fn a_flood_of_ids_is_bounded() {
        let mut records = Records::default();
        for id in 0..10_000 {
            records.report(&report(ProgramState::Working, Some(&id.to_string())), id, Moment::EPOCH);
        }
        assert_eq!(records.records.len(), MAX_RECORDS);
    }

    #[test]
    fn a_shell_prompt_drops_what_worked_and_keeps_what_was_done() {
        let mut records = Records::default();
        records.report(&report(ProgramState::Working, None), 1, Moment::EPOCH);
        records.at_prompt();
        assert!(records.foremost().is_none());
        records.report(&report(ProgramState::Done, None), 2, Moment::EPOCH);
        records.at_prompt();
        assert!(records.foremost().is_some());
    }
}
