//! The scenarios: each lets one kind of trouble happen, with everything that belongs to it, and is tried to its end.

use ptyard_core::turn::{Sight, Status};

use crate::agent::{Frame, Manners};
use crate::chances::{Chances, Enter};
use crate::published::Design;

/// One world to be tried to its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) messages: usize,
    pub(crate) manners: Manners,
    /// What the agent had printed before the first message, and nobody had read.
    pub(crate) older: &'static [Frame],
    pub(crate) chances: Chances,
}

const NONE: Chances = Chances::NONE;

/// Shows its composer and what was submitted; reports nothing.
const PLAIN: Manners = Manners {
    reports: false,
    transcript: true,
    queues: false,
    swallows: 0,
    draws_first: false,
    repeats: 0,
    dialogs: 0,
};
/// Shows its composer; what was submitted is gone from the screen at once.
const BARE: Manners = Manners { transcript: false, ..PLAIN };
/// Reports its state, and shows its composer.
const REPORTS: Manners = Manners { reports: true, ..PLAIN };

/// A flicker of work and a completion about older output.
const FLICKER: &[Frame] =
    &[Frame::Screen(Status::Processing, Sight::Empty), Frame::Screen(Status::Completed, Sight::Empty)];
/// A completion about older output.
const COMPLETED: &[Frame] = &[Frame::Screen(Status::Completed, Sight::Empty)];
/// The same, and the report of it.
const REPORTED: &[Frame] =
    &[Frame::Report(Status::Completed), Frame::Screen(Status::Completed, Sight::Empty)];

const fn scenario(
    name: &'static str,
    messages: usize,
    manners: Manners,
    older: &'static [Frame],
    chances: Chances,
) -> Scenario {
    Scenario { name, messages, manners, older, chances }
}

pub(crate) fn evidence() -> Vec<Scenario> {
    let callers = Chances { callers: 3, ..NONE };
    let one = Chances { callers: 1, ..NONE };
    let blind = Chances { enter: Enter::WhenQuiet, ..one };
    let hasty = Chances { enter: Enter::AnyTime, ..one };
    let silent = Chances { silences: 2, ..one };
    let swallows = Manners { swallows: 2, ..BARE };
    let late = Chances { debounces: 3, ..one };
    vec![
        scenario("screen", 4, PLAIN, FLICKER, callers),
        scenario("screen, Enter before the text was seen", 3, PLAIN, FLICKER, blind),
        scenario("screen without a transcript", 4, BARE, FLICKER, callers),
        scenario("the same, Enter before the text was seen", 3, BARE, FLICKER, blind),
        scenario("the same, Enter at any moment", 3, BARE, FLICKER, hasty),
        scenario("reports, Enter at any moment", 2, REPORTS, REPORTED, hasty),
        scenario("reports", 3, REPORTS, REPORTED, callers),
        scenario("reports behind their frames", 3, Manners { draws_first: true, ..REPORTS }, REPORTED, one),
        scenario("repeated reports", 2, Manners { repeats: 1, ..REPORTS }, REPORTED, one),
        scenario("reports that fall silent", 3, REPORTS, REPORTED, silent),
        scenario("Enters that are swallowed", 3, swallows, FLICKER, one),
        scenario("statuses behind their composers", 3, PLAIN, FLICKER, late),
        scenario("the same without a transcript", 3, BARE, FLICKER, late),
    ]
}

pub(crate) fn failures() -> Vec<Scenario> {
    let fails = Chances { callers: 2, fail_before: 2, fail_after: 1, ..NONE };
    vec![
        scenario("writes fail", 3, PLAIN, FLICKER, fails),
        scenario("writes fail, reports", 3, REPORTS, REPORTED, fails),
        scenario("writes fail while it works", 3, Manners { queues: true, ..PLAIN }, COMPLETED, fails),
    ]
}

pub(crate) fn crashes() -> Vec<Scenario> {
    let one = Chances { crashes: 1, callers: 1, ..NONE };
    let two = Chances { crashes: 2, ..NONE };
    let fails = Chances { fail_before: 1, fail_after: 1, ..one };
    vec![
        scenario("crash", 3, PLAIN, FLICKER, one),
        scenario("crash without a transcript", 3, BARE, FLICKER, one),
        scenario("crash, reports", 3, REPORTS, REPORTED, one),
        scenario("two crashes", 3, PLAIN, COMPLETED, two),
        scenario("two crashes, reports", 2, REPORTS, REPORTED, two),
        scenario("crash while it works", 2, Manners { queues: true, ..PLAIN }, COMPLETED, one),
        scenario("crash after a failed write", 2, PLAIN, COMPLETED, fails),
        scenario("crash, Enter swallowed", 2, Manners { swallows: 1, ..BARE }, COMPLETED, one),
    ]
}

pub(crate) fn lives() -> Vec<Scenario> {
    let one = Chances { callers: 1, ..NONE };
    vec![
        scenario("reset", 3, PLAIN, FLICKER, Chances { resets: 1, ..one }),
        scenario("reset, reports", 3, REPORTS, REPORTED, Chances { resets: 1, ..one }),
        scenario("restart", 3, PLAIN, COMPLETED, Chances { restarts: 1, ..one }),
        scenario("restart, reports", 3, REPORTS, REPORTED, Chances { restarts: 1, ..one }),
        scenario("removal", 3, PLAIN, FLICKER, Chances { removals: 1, ..one }),
        scenario("a bare shell", 3, PLAIN, FLICKER, Chances { shells: 1, ..one }),
        scenario(
            "a bare shell, then a restart",
            2,
            PLAIN,
            FLICKER,
            Chances { shells: 1, restarts: 1, ..NONE },
        ),
    ]
}

pub(crate) fn people() -> Vec<Scenario> {
    let people = Chances { people: 1, ..NONE };
    vec![
        scenario("a person", 2, PLAIN, FLICKER, people),
        scenario("a person, no transcript", 2, BARE, FLICKER, people),
        scenario("a person, reports", 2, REPORTS, REPORTED, people),
        scenario("a person and a queue", 2, Manners { queues: true, ..PLAIN }, COMPLETED, people),
        scenario("a person and a crash", 1, PLAIN, COMPLETED, Chances { crashes: 1, ..people }),
    ]
}

pub(crate) fn dialogs() -> Vec<Scenario> {
    let one = Chances { callers: 1, ..NONE };
    let silent = Chances { silences: 1, ..one };
    vec![
        scenario("dialogs", 3, Manners { dialogs: 2, ..PLAIN }, FLICKER, one),
        scenario("dialogs, no transcript", 2, Manners { dialogs: 1, ..BARE }, FLICKER, one),
        scenario("dialogs, reports that fall silent", 2, Manners { dialogs: 1, ..REPORTS }, REPORTED, silent),
    ]
}

pub(crate) fn urgent() -> Vec<Scenario> {
    let urgent = Chances { hurries: 1, ..NONE };
    let dialogs = |manners| Manners { dialogs: 1, ..manners };
    vec![
        scenario("urgent mail", 2, PLAIN, FLICKER, Chances { hurries: 2, callers: 1, ..NONE }),
        scenario("urgent mail, no transcript", 2, BARE, FLICKER, urgent),
        scenario("urgent mail and dialogs", 2, dialogs(PLAIN), FLICKER, urgent),
        scenario("urgent mail and dialogs, reports", 2, dialogs(REPORTS), REPORTED, urgent),
        scenario("urgent mail and a person", 2, PLAIN, COMPLETED, Chances { people: 1, ..urgent }),
        scenario("urgent mail and a crash", 2, PLAIN, COMPLETED, Chances { crashes: 1, hurries: 2, ..NONE }),
        scenario(
            "urgent mail and a crash, reports",
            2,
            REPORTS,
            REPORTED,
            Chances { crashes: 1, hurries: 2, ..NONE },
        ),
        scenario("urgent mail and a bare shell", 2, PLAIN, COMPLETED, Chances { shells: 1, ..urgent }),
    ]
}

pub(crate) fn eager() -> Vec<Scenario> {
    let one = Chances { callers: 2, ..NONE };
    vec![
        scenario("eager", 4, Manners { queues: true, ..PLAIN }, FLICKER, one),
        scenario("eager, no transcript", 3, Manners { queues: true, ..BARE }, FLICKER, one),
        scenario("eager, reports", 3, Manners { queues: true, ..REPORTS }, REPORTED, one),
        scenario(
            "eager, repeated reports",
            2,
            Manners { queues: true, repeats: 1, ..REPORTS },
            REPORTED,
            one,
        ),
    ]
}

/// Where a design is tried: with the one older transition that it was published against.
pub(crate) fn for_design(design: Design) -> Scenario {
    let callers = Chances { callers: 2, enter: Enter::AnyTime, ..NONE };
    match design {
        Design::R3Expiry => {
            scenario("screen with an expiry", 2, PLAIN, COMPLETED, Chances { silences: 1, ..callers })
        }
        Design::R11OwnReports => scenario("own reports", 2, REPORTS, &[], callers),
        _ => scenario("screen", 2, PLAIN, COMPLETED, callers),
    }
}

/// What a design is known to break.
pub(crate) fn known_to_break(design: Design) -> &'static [&'static str] {
    const TWICE: &str = "I1 ";
    const MIXED: &str = "I2 ";
    const OPEN: &str = "I3 ";
    const STRANDED: &str = "I6 ";
    match design {
        Design::Base => &[TWICE, MIXED, OPEN],
        Design::R1AtomicClaim => &[MIXED, OPEN],
        Design::R2Lock => &[OPEN],
        _ => &[OPEN, STRANDED],
    }
}
