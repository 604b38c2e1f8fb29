//! The conditions of one window while it is collected.

use std::time::Duration;

use super::matcher::Matcher;
use super::{Condition, EndedBy};

/// Whether output came before the mark of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    /// Before: it is shown and answers nothing.
    Old,
    /// At or after it.
    New,
}

/// What is watched for.
#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    quiet: Option<Duration>,
    matchers: Vec<Matcher>,
    prompt: Prompt,
    statuses: Vec<&'static str>,
    status: Status,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Prompt {
    #[default]
    NotAsked,
    Awaited,
    /// The first one ends at this offset.
    EndsAt(u64),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Status {
    #[default]
    Awaited,
    Reached,
}

impl Watch {
    pub(super) fn new(conditions: Vec<Condition>) -> Self {
        let mut watch = Self::default();
        for condition in conditions {
            match condition {
                Condition::Exit => {}
                Condition::Quiet(quiet) => {
                    watch.quiet = Some(watch.quiet.map_or(quiet, |other| other.min(quiet)));
                }
                Condition::Regex(pattern) => watch.matchers.push(Matcher::new(pattern)),
                Condition::Prompt => watch.prompt = Prompt::Awaited,
                Condition::Status(name) => watch.statuses.push(name),
            }
        }
        watch
    }

    pub(super) fn text(&mut self, text: &str, age: Age) {
        for matcher in &mut self.matchers {
            match age {
                Age::Old => matcher.skip(text),
                Age::New => matcher.push(text),
            }
        }
    }

    pub(super) fn gap(&mut self) {
        self.matchers.iter_mut().for_each(Matcher::gap);
    }

    /// A new prompt ends at offset `end`.
    pub(super) fn prompt_at(&mut self, end: u64) {
        self.prompt = match self.prompt {
            Prompt::NotAsked => Prompt::NotAsked,
            Prompt::Awaited => Prompt::EndsAt(end),
            Prompt::EndsAt(earlier) => Prompt::EndsAt(earlier.min(end)),
        };
    }

    pub(super) fn status(&mut self, name: &str) {
        if self.statuses.contains(&name) {
            self.status = Status::Reached;
        }
    }

    /// The condition that the output before `position` meets.
    pub(super) fn met_by_output(&mut self, position: u64) -> Option<EndedBy> {
        if self.matchers.iter_mut().any(Matcher::has_matched) {
            return Some(EndedBy::Regex);
        }
        matches!(self.prompt, Prompt::EndsAt(end) if end <= position).then_some(EndedBy::Prompt)
    }

    pub(super) fn has_status(&self) -> bool {
        self.status == Status::Reached
    }

    /// The shortest quiet asked for.
    pub(super) const fn quiet(&self) -> Option<Duration> {
        self.quiet
    }

    /// What the first pattern that matched has matched.
    pub(super) fn into_matched(self) -> Option<String> {
        self.matchers.into_iter().find_map(Matcher::into_matched)
    }
}
