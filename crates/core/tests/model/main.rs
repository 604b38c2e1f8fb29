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
    let found = explore(World::new(machine(eager), messages, manners, older, chances));
    println!("{name}: {} states in {:?}, at rest {:?}", found.states, started.elapsed(), found.rests);
    for (broken, way) in &found.broken {
        println!("  {broken}");
        for step in way {
            println!("    {step:?}");
        }
    }
    found
}

#[test]
fn plain() {
    let found = run("plain", 3, PLAIN, OLDER, Chances { callers: 2, ..Chances::default() });
    assert!(found.broken.is_empty());
}
