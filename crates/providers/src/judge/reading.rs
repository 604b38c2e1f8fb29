//! Everything read so far, and what follows from it at once.
//!
//! [`Reading::finding`] lets one source decide at a time:
//!
//! 1. a question that is to be seen, unless the program reported something since it came up;
//! 2. the program's own report, while it is not contradicted;
//! 3. a title that says busy or waiting;
//! 4. the rules of the screen;
//! 5. for programs of no known kind, quiet.

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::Moment;
use ptyard_core::turn::{BlockedOn, Evidence, Keys, Position, Question, Rule, Source, Status};
use ptyard_screen::scan::{Event, PromptMark};
use ptyard_screen::{Signal, View};

use super::Dialog;
use super::composer::{self, Composer};
use super::submitted::Submitted;
use crate::manifest::{DialogRule, Provider, RuleStatus};
use crate::rules::{self, rows::Rows};
use crate::signals::{Records, Titles};

/// How long a question that is still drawn is disbelieved after the program reported that it goes on: frames lag
/// behind reports by a few milliseconds.
const REPORT_LEADS: Duration = Duration::from_millis(500);

/// How long a screen has to contradict the last report before the program counts as silent.
const SILENT: Duration = Duration::from_secs(10);

/// Most characters of what is asked: a row.
const MAX_ASKED: usize = 200;

/// The rule of an empty screen.
pub(crate) const BLANK: Rule = Rule::named("blank");

/// Whether a title counts beside what the screen shows. That work is over it says only against a screen that shows it
/// still, for its frames lag behind: whatever else stands there is newer, or more.
pub(crate) fn outweighs(title: &Evidence, shown: Option<Status>) -> bool {
    title.status != Status::Completed || shown == Some(Status::Processing)
}

/// What was read of one terminal.
#[derive(Debug)]
pub(crate) struct Reading {
    provider: Arc<Provider>,
    records: Records,
    titles: Titles,
    rows: Rows,
    seen: Option<Seen>,
    composer: Composer,
    submitted: Submitted,
    last_output: Option<Moment>,
    /// The end of the output.
    end: u64,
    /// The end of the output that the last frame showed.
    shown: u64,
}

/// What the rules said of the last frame.
#[derive(Debug, Clone)]
struct Seen {
    /// The rule that held, by its place in the manifest.
    rule: Option<usize>,
    /// The offset of the first frame in which it held without a break.
    since_offset: u64,
    since: Moment,
}

/// What is known at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The conclusion.
    pub(crate) evidence: Evidence,
    /// What stands where input is composed.
    pub(crate) composer: Composer,
    /// The dialog that is shown, when the manifest knows it.
    pub(crate) dialog: Option<Dialog>,
    /// When time alone changes the finding.
    pub(crate) until: Option<Moment>,
}

impl Reading {
    /// Nothing is read of a terminal yet.
    pub(crate) fn new(provider: Arc<Provider>) -> Self {
        Self {
            provider,
            records: Records::default(),
            titles: Titles::default(),
            rows: Rows::default(),
            seen: None,
            composer: Composer::Unseen,
            submitted: Submitted::default(),
            last_output: None,
            end: 0,
            shown: 0,
        }
    }

    /// The kind of program it takes the terminal for.
    pub(crate) fn provider(&self) -> &Arc<Provider> {
        &self.provider
    }

    /// Goes on with another edition of the manifest; what was reported is kept, the screen has to be looked at again.
    pub(crate) fn replace(&mut self, provider: Arc<Provider>) {
        self.provider = provider;
        self.rows = Rows::default();
        self.seen = None;
    }

    /// Output ended at log offset `end`.
    pub(crate) fn output(&mut self, end: u64, now: Moment) {
        self.last_output = Some(now);
        self.end = self.end.max(end);
    }

    /// Takes a signal of the [`Scanner`](ptyard_screen::Scanner). Returns whether it may change the finding.
    pub(crate) fn signal(&mut self, signal: &Signal, now: Moment) -> bool {
        match &signal.event {
            Event::ProgramStatus(report) => {
                self.records.report(report, signal.at, now);
                true
            }
            Event::Title(title) => self.titles.set(title, &self.provider.titles, signal.at, now),
            Event::Prompt(PromptMark::PromptStart) if !self.provider.native.prompt_marks_are_messages => {
                self.records.at_prompt();
                true
            }
            _ => false,
        }
    }

    /// Somebody typed this.
    pub(crate) fn typed(&mut self, keys: Keys) {
        self.submitted.typed(keys);
    }

    /// Takes a frame that shows the output up to log offset `offset`.
    pub(crate) fn look(&mut self, view: &View, offset: u64, now: Moment) {
        self.shown = self.shown.max(offset);
        let provider = &self.provider;
        let changed = self.rows.update(view, &provider.anchors);
        let rule = rules::first(&provider.rules, &self.rows);
        let rule = rule.and_then(|rule| provider.rules.iter().position(|other| other.name == rule.name));
        if changed || self.seen.is_none() {
            // A menu is drawn with the sign of a composer, and nothing that stands in it was typed.
            let is_asking = rule.is_some_and(|at| provider.rules[at].status == RuleStatus::Waiting);
            self.composer =
                if is_asking { Composer::Unseen } else { composer::read(provider, &self.rows, view) };
            self.submitted.frame(&self.composer, &self.rows, now);
        }
        let goes_on = |at: usize| {
            matches!(
                provider.rules[at].status,
                RuleStatus::Processing | RuleStatus::Waiting | RuleStatus::Error
            )
        };
        if rule.is_some_and(goes_on) {
            self.submitted.taken_up();
        }
        match &mut self.seen {
            Some(seen) if seen.rule == rule => {}
            // A viewer lies over the screen: nothing new is known of what is behind it.
            Some(_) if rule.is_some_and(|at| provider.rules[at].status == RuleStatus::Keep) => {}
            seen => *seen = Some(Seen { rule, since_offset: offset, since: now }),
        }
    }

    /// What follows from everything seen so far.
    pub(crate) fn finding(&self, now: Moment) -> Finding {
        let (evidence, until) = self.conclude(now);
        let dialog = self.dialog().filter(|_| evidence.status == Status::WaitingUserAnswer);
        Finding { evidence, composer: self.composer.clone(), dialog, until }
    }

    /// The dialog that is shown, when the manifest knows it.
    pub(crate) fn dialog(&self) -> Option<Dialog> {
        let rule = &self.provider.rules[self.seen.as_ref()?.rule?].name;
        let of = |dialog: &&DialogRule| dialog.rule == *rule;
        self.provider.dialogs.iter().find(of).map(|dialog| Dialog {
            rule: dialog.rule.clone(),
            about: dialog.about,
            keys: dialog.keys.clone(),
        })
    }

    /// Since when what the last frame shows stands there: it was printed before it was looked at.
    pub(crate) fn stands_since(&self, now: Moment) -> Moment {
        self.last_output.map_or(now, |printed| printed.min(now))
    }

    /// What stands where input is composed.
    pub(crate) fn composer(&self) -> &Composer {
        &self.composer
    }

    /// What the program reports; `None` when it has not reported anything.
    pub(crate) fn native(&self) -> Option<Evidence> {
        let Some(report) = self.records.foremost() else {
            let at = Position::Offset(self.records.withdrawn_at()?);
            return Some(Evidence::new(Source::Native, at, Status::Unknown, Rule::named("osc7501.clear")));
        };
        let position = Position::Offset(report.at);
        let mut evidence = Evidence::new(Source::Native, position, report.status(), report.rule());
        evidence.blocked_on.clone_from(&report.blocked_on);
        Some(evidence)
    }

    /// What the title says, and until when.
    pub(crate) fn title(&self, now: Moment) -> (Option<Evidence>, Option<Moment>) {
        let until = self.titles.deadline(now);
        let Some(said) = self.titles.said(now) else { return (None, until) };
        let position = Position::Offset(said.at);
        let mut evidence = Evidence::new(Source::Title, position, said.status, said.rule.clone());
        if said.status == Status::WaitingUserAnswer {
            evidence.blocked_on = Some(BlockedOn { kind: Question::Dialog, message: None });
        }
        (Some(evidence), until)
    }

    /// What the last frame says, or quiet, and until when.
    pub(crate) fn shown(&self, now: Moment) -> (Evidence, Option<Moment>) {
        let Some((mut evidence, _)) = self.screen() else { return self.quiet(now) };
        match self.submitted.until(&self.provider.ready) {
            Some(until) if now < until && evidence.status.is_ready() => {
                evidence.status = Status::Processing;
                evidence.rule = Rule::named("submitted");
                (evidence, Some(until))
            }
            _ => (evidence, None),
        }
    }

    fn conclude(&self, now: Moment) -> (Evidence, Option<Moment>) {
        let screen = self.screen();
        let report = self.records.foremost();
        let question = screen.as_ref().filter(|(evidence, _)| evidence.status == Status::WaitingUserAnswer);
        if let Some((evidence, seen)) = question {
            let leads = report.is_some_and(|report| {
                report.status() != Status::WaitingUserAnswer
                    && report.at > seen.since_offset
                    && now.since(report.when) < REPORT_LEADS
            });
            if !leads {
                let mut evidence = evidence.clone();
                if let Some(named) = report.and_then(|report| report.blocked_on.clone()) {
                    evidence.source = Source::Native;
                    evidence.blocked_on = Some(named);
                }
                return (evidence, None);
            }
            return self.reported(now, screen.as_ref(), Some(REPORT_LEADS));
        }
        if report.is_some() {
            return self.reported(now, screen.as_ref(), None);
        }
        let (title, until) = self.title(now);
        let shown = screen.map(|(evidence, _)| evidence);
        if let Some(title) = title.filter(|title| outweighs(title, shown.as_ref().map(|shown| shown.status)))
        {
            return (title, until);
        }
        let (evidence, quiet_until) = shown.map_or_else(|| self.quiet(now), |evidence| (evidence, None));
        (evidence, [until, quiet_until].into_iter().flatten().min())
    }

    /// What the program itself says, unless the screen has contradicted it for long.
    fn reported(
        &self,
        now: Moment,
        screen: Option<&(Evidence, Seen)>,
        leads: Option<Duration>,
    ) -> (Evidence, Option<Moment>) {
        let (Some(report), Some(evidence)) = (self.records.foremost(), self.native()) else {
            return self.quiet(now);
        };
        let mut until = leads.map(|leads| report.when + leads);
        if let Some((seen, since)) = screen {
            let is_contrary = match report.status() {
                Status::Processing | Status::WaitingUserAnswer => seen.status.is_ready(),
                _ => seen.status == Status::Processing,
            };
            if is_contrary && since.since_offset > report.at {
                let silent_from = since.since.max(report.when) + SILENT;
                if now >= silent_from {
                    return (seen.clone(), None);
                }
                until = Some(until.map_or(silent_from, |until| until.min(silent_from)));
            }
        }
        (evidence, until)
    }

    /// What the rules say of the last frame.
    fn screen(&self) -> Option<(Evidence, Seen)> {
        let seen = self.seen.as_ref()?;
        let rule = &self.provider.rules[seen.rule?];
        let status = match rule.status {
            RuleStatus::Starting => Status::Starting,
            RuleStatus::Ready => Status::Idle,
            RuleStatus::Completed => Status::Completed,
            RuleStatus::Processing => Status::Processing,
            RuleStatus::Waiting => Status::WaitingUserAnswer,
            RuleStatus::Error => Status::Error,
            RuleStatus::Keep => return None,
        };
        let mut evidence =
            Evidence::new(Source::Screen, Position::Offset(self.shown), status, rule.name.clone());
        if status == Status::WaitingUserAnswer {
            let kind = rule.kind.unwrap_or(Question::Question);
            let row = rule.asks.and_then(|asks| self.rows.last(asks));
            let message = row.map(|at| self.rows.text(at).trim().chars().take(MAX_ASKED).collect());
            evidence.blocked_on = Some(BlockedOn { kind, message });
        }
        Some((evidence, seen.clone()))
    }

    /// Nothing else is known: quiet says ready, if the manifest says how long.
    fn quiet(&self, now: Moment) -> (Evidence, Option<Moment>) {
        let position = Position::Offset(self.end);
        let rule = if self.rows.is_blank() { BLANK } else { Rule::named("no_rule") };
        let unknown = Evidence::new(Source::Screen, position, Status::Unknown, rule);
        let Some(quiet) = self.provider.ready.quiet_ms.filter(|_| self.seen.is_some()) else {
            return (unknown, None);
        };
        let from = self.last_output.unwrap_or(Moment::EPOCH) + Duration::from_millis(quiet);
        if now < from {
            let rule = Rule::named("output");
            return (Evidence::new(Source::Screen, position, Status::Processing, rule), Some(from));
        }
        (Evidence::new(Source::Screen, position, Status::Idle, Rule::named("quiet")), None)
    }
}
