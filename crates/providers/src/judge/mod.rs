//! From what a terminal printed to what its agent is doing.
//!
//! A [`Judge`] is told of signals and of changed frames, and says what each source says, once that has held for long
//! enough. It knows nothing of writes: a turn machine weighs the sources against each other. [`Watch`] is a whole of
//! its own, for recordings: it decides by itself, and takes an Enter for a message.

mod composer;
mod ledger;
mod reading;
mod steady;
mod submitted;
mod watch;

use std::sync::Arc;

use ptyard_core::Moment;
use ptyard_core::turn::{Evidence, Keys, Position, Rule, Source, Status};
use ptyard_screen::{Signal, View};

pub use composer::Composer;
pub use watch::{Change, Watch};

pub(crate) use ledger::Ledger;
use reading::outweighs;
pub(crate) use reading::{BLANK, Finding, Reading};
use steady::{Asked, Steady};

use crate::manifest::{About, Provider};

/// What is known at one moment, source by source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What each source says, at most one each, the most trusted first.
    pub evidence: Vec<Evidence>,
    /// What stands where input is composed in the last frame. What is said of the screen may be of an earlier one: its
    /// position tells.
    pub composer: Composer,
    /// The dialog that is shown in the last frame, when the manifest knows it.
    pub dialog: Option<Dialog>,
    /// When time alone will change the verdict.
    pub until: Option<Moment>,
}

/// A dialog that came up by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    /// The rule that saw it.
    pub rule: Rule,
    /// What it is about.
    pub about: About,
    /// The keys that say yes; empty when a person has to.
    pub keys: Vec<String>,
}

/// Judges one terminal for a turn machine, which weighs the sources against each other and knows what was written.
#[derive(Debug)]
pub struct Judge {
    reading: Reading,
    native: Option<Steady>,
    title: Option<Evidence>,
    screen: Steady,
    /// It was ready and then worked: from then on ready means that something is completed.
    has_worked: bool,
}

impl Judge {
    /// Judges a terminal that printed nothing yet.
    #[must_use]
    pub fn new(provider: Arc<Provider>) -> Self {
        let start =
            Evidence::new(Source::Screen, Position::Offset(0), Status::Starting, Rule::named("started"));
        let screen = Steady::new(provider.ready(), start);
        Self { reading: Reading::new(provider), native: None, title: None, screen, has_worked: false }
    }

    /// The edition of the manifest that it goes by.
    #[must_use]
    pub fn provider(&self) -> &Arc<Provider> {
        self.reading.provider()
    }

    /// Goes on with another edition of the manifest. The screen has to be looked at before the next verdict.
    pub fn replace(&mut self, provider: Arc<Provider>) {
        for steady in self.native.iter_mut().chain([&mut self.screen]) {
            steady.retime(provider.ready());
        }
        self.reading.replace(provider);
    }

    /// Output ended at log offset `end`.
    pub fn output(&mut self, end: u64, now: Moment) {
        self.reading.output(end, now);
    }

    /// A sequence was seen in the output. Returns whether it may change the verdict.
    pub fn signal(&mut self, signal: &Signal, now: Moment) -> bool {
        self.reading.signal(signal, now)
    }

    /// Keys were typed, by whomever. Who removes a draft with them did not submit it; without being told, a text that left the
    /// composer is taken for one that is on its way.
    pub fn typed(&mut self, keys: Keys) {
        self.reading.typed(keys);
    }

    /// The screen showed `view` when the output was `offset` bytes long.
    pub fn look(&mut self, view: &View, offset: u64, now: Moment) {
        self.reading.look(view, offset, now);
    }

    /// What is known at `now`.
    pub fn verdict(&mut self, now: Moment) -> Verdict {
        let mut until = Vec::new();
        let mut evidence = Vec::with_capacity(3);
        // Before the reports: what was ready on the screen has come up, and its first report need not hold any more.
        let (said, quiet_until) = self.reading.shown(now);
        until.extend(quiet_until);
        let asked = expected(&self.screen);
        self.screen.observe(said, asked, self.reading.stands_since(now), now);
        until.extend(self.screen.deadline(asked));
        if let Some(said) = self.reading.native() {
            let ready = self.reading.provider().ready().clone();
            let start = || {
                let start = Rule::named("started");
                Steady::new(
                    &ready,
                    Evidence::new(Source::Native, Position::Offset(0), Status::Starting, start),
                )
            };
            let native = self.native.get_or_insert_with(start);
            if self.screen.was_ready() {
                native.came_up();
            }
            let asked = expected(native);
            native.observe(said, asked, now, now);
            until.extend(native.deadline(asked));
            evidence.push(native.held().clone());
        }
        let (said, title_until) = self.reading.title(now);
        until.extend(title_until);
        let mut said = said.filter(|said| outweighs(said, Some(self.screen.held().status)));
        // That something is asked is told first; what it is, where it is drawn.
        if let Some(said) = said.as_mut().filter(|said| said.status == Status::WaitingUserAnswer)
            && let Some(drawn) = &self.screen.held().blocked_on
        {
            said.blocked_on = Some(drawn.clone());
        }
        self.title = match (said, self.title.take()) {
            (Some(said), _) => Some(said),
            (None, Some(before)) => {
                let rule = Rule::named("title");
                Some(Evidence::new(Source::Title, before.position, Status::Unknown, rule))
            }
            (None, None) => None,
        };
        evidence.extend(self.title.clone());
        evidence.push(self.screen.held().clone());
        self.name(&mut evidence);
        Verdict {
            dialog: self.reading.dialog(),
            evidence,
            composer: self.reading.composer().clone(),
            until: until.into_iter().min(),
        }
    }

    /// Ready after work is completed, where the program does not tell the two apart itself.
    fn name(&mut self, evidence: &mut [Evidence]) {
        let was_ready = self.screen.was_ready() || self.native.as_ref().is_some_and(Steady::was_ready);
        self.has_worked |= was_ready && evidence.iter().any(|said| said.status == Status::Processing);
        if self.has_worked {
            for said in evidence.iter_mut().filter(|said| said.source == Source::Screen) {
                if said.status == Status::Idle {
                    said.status = Status::Completed;
                }
            }
        }
    }
}

/// A program that came up and then works does so at once: a turn may be over within a blip, and whoever handed its text
/// over needs to see it. What programs show before they came up may be a blink.
fn expected(steady: &Steady) -> Asked {
    if steady.was_ready() { Asked::Yes } else { Asked::No }
}

#[cfg(test)]
mod tests;
