//! Every interleaving of the turn machine, up to a bound.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at what it did not expect")]

mod agent;
mod explore;
mod world;

use ptyard_core::Moment;
use ptyard_core::turn::{Eager, Sight, Status, TurnMachine};

use agent::{Frame, Manners};
use explore::{Found, explore};
use world::{Action, Chances, World};

const PLAIN: Manners = Manners { reports: false, transcript: true, queues: false, swallows: 0, dialogs: 0 };

const OLDER: &[Frame] =
    &[Frame::Screen(Status::Processing, Sight::Empty), Frame::Screen(Status::Completed, Sight::Empty)];

fn machine(eager: Eager) -> TurnMachine {
    TurnMachine::new(eager, Moment::EPOCH)
}

fn run(name: &str, messages: usize, manners: Manners, older: &[Frame], chances: Chances) -> Found<Action> {
    let eager = if manners.queues { Eager::WhileBusy } else { Eager::Off };
    let started = std::time::Instant::now();
    let found = explore(
        World::new(machine(eager), messages, manners, older, chances),
        std::env::var("LIMIT").map_or(60_000, |l| l.parse().unwrap()),
    );
    println!("{name}: {} states in {:?}, at rest {:?}", found.states, started.elapsed(), found.rests);
    for (broken, way) in &found.broken {
        println!("  {broken}");
        for step in way {
            println!("    {step:?}");
        }
    }
    found
}

const NATIVE: Manners = Manners { reports: true, ..PLAIN };
const OLDER_REPORT: &[Frame] =
    &[Frame::Report(Status::Completed), Frame::Screen(Status::Completed, Sight::Empty)];

fn all() -> Vec<(&'static str, usize, Manners, &'static [Frame], Chances)> {
    let none = Chances::default();
    let no_transcript = Manners { transcript: false, ..PLAIN };
    vec![
        ("plain", 3, PLAIN, OLDER, Chances { callers: 3, ..none }),
        ("plain blind", 2, PLAIN, OLDER, Chances { callers: 1, blind: true, ..none }),
        ("no transcript", 3, no_transcript, OLDER, Chances { callers: 1, ..none }),
        ("no transcript blind", 2, no_transcript, OLDER, Chances { callers: 1, blind: true, ..none }),
        ("native", 3, NATIVE, OLDER_REPORT, Chances { callers: 1, ..none }),
        ("native silent", 2, NATIVE, OLDER_REPORT, Chances { callers: 1, silences: 1, ..none }),
        ("swallowed", 2, Manners { swallows: 1, ..no_transcript }, OLDER, Chances { callers: 1, ..none }),
        ("dialogs", 2, Manners { dialogs: 1, ..PLAIN }, OLDER, Chances { callers: 1, ..none }),
        (
            "dialogs native",
            2,
            Manners { dialogs: 1, ..NATIVE },
            OLDER_REPORT,
            Chances { callers: 1, silences: 1, ..none },
        ),
        ("eager", 3, Manners { queues: true, ..PLAIN }, OLDER, Chances { callers: 1, ..none }),
        ("eager native", 2, Manners { queues: true, ..NATIVE }, OLDER_REPORT, Chances { callers: 1, ..none }),
        ("people", 2, PLAIN, OLDER, Chances { people: 1, ..none }),
        ("people no transcript", 2, no_transcript, OLDER, Chances { people: 1, ..none }),
        ("people native", 2, NATIVE, OLDER_REPORT, Chances { people: 1, ..none }),
        ("failures", 2, PLAIN, OLDER, Chances { callers: 1, fail_before: 1, fail_after: 1, ..none }),
        ("crash", 2, PLAIN, OLDER, Chances { crashes: 1, ..none }),
        ("crash no transcript", 2, no_transcript, OLDER, Chances { crashes: 1, ..none }),
        ("crash native", 2, NATIVE, OLDER_REPORT, Chances { crashes: 1, ..none }),
        ("crash twice", 2, PLAIN, &[], Chances { crashes: 2, ..none }),
        ("crash eager", 2, Manners { queues: true, ..PLAIN }, &[], Chances { crashes: 1, ..none }),
        ("reset", 2, PLAIN, OLDER, Chances { resets: 1, callers: 1, ..none }),
        ("reset native", 2, NATIVE, OLDER_REPORT, Chances { resets: 1, ..none }),
        ("restart", 2, PLAIN, &[], Chances { restarts: 1, callers: 1, ..none }),
        ("remove", 2, PLAIN, OLDER, Chances { removals: 1, callers: 1, ..none }),
        ("shell", 2, PLAIN, OLDER, Chances { shells: 1, callers: 1, ..none }),
    ]
}

#[test]
fn sketch() {
    let mut broken = 0;
    let mut states = 0;
    let only = std::env::var("ONLY").unwrap_or_default();
    for (name, messages, manners, older, chances) in all() {
        if !name.contains(&only) {
            continue;
        }
        let found = run(name, messages, manners, older, chances);
        broken += found.broken.len();
        states += found.states;
    }
    println!("{states} states");
    assert_eq!(broken, 0);
}
