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
    from: Moment,
    until: Option<Moment>,
}

/// So long a title has to go on saying that work is over: between a tool and what follows on it a program may say so for
/// a moment.
const OVER: Duration = Duration::from_millis(100);

impl Titles {
    /// Takes a title. Returns whether it says something else than the one before.
    pub(crate) fn set(&mut self, text: &str, rules: &[TitleRule], at: u64, now: Moment) -> bool {
        if self.text == text && self.said.as_ref().is_none_or(|said| !said.is_for_now()) {
            return false;
        }
        text.clone_into(&mut self.text);
        let before = self.said.take();
        let worked = before.as_ref().is_some_and(|said| said.status == Status::Processing);
        let rule = rules.iter().find(|rule| rule.re.is_match(text));
        // The end is that of work: what a title says that never told of any is no news.
        let rule = rule.filter(|rule| rule.status != Status::Completed || worked);
        self.said = rule.map(|rule| Said {
            status: rule.status,
            rule: rule.name.clone(),
            at,
            from: if rule.status == Status::Completed { now + OVER } else { now },
            until: rule.fresh_ms.map(|ms| now + Duration::from_millis(ms)),
        });
        before.map(|said| said.rule) != self.said.as_ref().map(|said| said.rule.clone())
    }

    /// What the title says now.
    pub(crate) fn said(&self, now: Moment) -> Option<&Said> {
        let holds = |said: &&Said| said.from <= now && said.until.is_none_or(|until| now < until);
        self.said.as_ref().filter(holds)
    }

    /// When it begins to say something, or ceases to.
    pub(crate) fn deadline(&self, now: Moment) -> Option<Moment> {
        let said = self.said.as_ref()?;
        [Some(said.from), said.until].into_iter().flatten().find(|at| now < *at)
    }
}

impl Said {
    /// Whether it is repeated to be believed further: a spinner that stands still says nothing. The end of work is told once.
    fn is_for_now(&self) -> bool {
        self.until.is_some() && self.status != Status::Completed
    }
}
