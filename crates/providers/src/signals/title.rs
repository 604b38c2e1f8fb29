//! Titles that tell a state.

use std::time::Duration;

use ptyard_core::Moment;
use ptyard_core::turn::{Rule, Status};

use crate::manifest::TitleRule;

/// The last title, and what it says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Titles {
    text: String,
    said: Option<Said>,
}

#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) status: Status,
    pub(crate) rule: Rule,
    /// The log offset after it.
    pub(crate) at: u64,
    until: Option<Moment>,
}

impl Titles {
    /// Takes a title. Returns whether it says something else than the one before.
    pub(crate) fn set(&mut self, text: &str, rules: &[TitleRule], at: u64, now: Moment) -> bool {
        if self.text == text && self.said.as_ref().is_none_or(|said| said.until.is_none()) {
            return false;
        }
        text.clone_into(&mut self.text);
        let rule = rules.iter().find(|rule| rule.re.is_match(text));
        let before = self.said.take();
        self.said = rule.map(|rule| Said {
            status: rule.status,
            rule: rule.name.clone(),
            at,
            until: rule.fresh_ms.map(|ms| now + Duration::from_millis(ms)),
        });
        before.map(|said| said.rule) != self.said.as_ref().map(|said| said.rule.clone())
    }

    /// What the title says now.
    pub(crate) fn said(&self, now: Moment) -> Option<&Said> {
        self.said.as_ref().filter(|said| said.until.is_none_or(|until| now < until))
    }

    /// When it ceases to say that.
    pub(crate) fn deadline(&self, now: Moment) -> Option<Moment> {
        self.said(now).and_then(|said| said.until)
    }
}
