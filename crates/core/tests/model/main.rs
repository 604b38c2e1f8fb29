//! Every interleaving of the turn machine with a store, competing callers, an agent, people and a server that crashes.
//!
//! The machine is the product's own code. The world around it ([`world`]) lets everything happen at every moment: what
//! the agent prints is read as late as it may be, frames are judged or passed over, bookkeeping lags behind the bytes. A
//! safety property is checked at every step, and every state in which nothing more has to happen has to be one in which
//! all mail was delivered or it is told why it waits. `docs/INVARIANTS.md` says which property is checked where.
//!
//! What the world takes for granted:
//! * an agent prints what it shows and reports in the order in which it happens; a flicker of the screen may show work that
//!   is none, a report does not;
//! * an agent that is ready does not begin a turn by itself;
//! * a look that comes [`SETTLED_AFTER`](ptyard_core::turn::SETTLED_AFTER) after the last input finds that input read.

#![expect(clippy::expect_used, reason = "a test stops at what it did not expect")]

mod agent;
mod chances;
mod deliverer;
mod explore;
mod published;
mod scenarios;
mod world;

use std::time::Instant;

use ptyard_core::Moment;
use ptyard_core::turn::{Eager, TurnMachine};

use explore::{Found, explore};
use published::{Design, Published};
use scenarios::Scenario;
use world::{Action, World};

/// States that are tried of a published design. What they break is found within the first few thousand.
const ENOUGH: usize = 100_000;

fn run_the_machine(scenario: &Scenario) -> Found<Action> {
    let eager = if scenario.manners.queues { Eager::WhileBusy } else { Eager::Off };
    let started = Instant::now();
    let found = explore(World::new(TurnMachine::new(eager, Moment::EPOCH), scenario), usize::MAX);
    let name = scenario.name;
    println!("{name}: {} states in {:.1?}, at rest: {:?}", found.states, started.elapsed(), found.rests);
    found
}

fn holds(scenarios: &[Scenario]) {
    let mut states = 0;
    for scenario in scenarios {
        let found = run_the_machine(scenario);
        if let Some((broken, way)) = found.broken.first_key_value() {
            let steps: Vec<String> = way.iter().map(|step| format!("{step:?}")).collect();
            panic!("{}: {broken}:\n  {}", scenario.name, steps.join("\n  "));
        }
        states += found.states;
    }
    println!("{states} states in all");
}

#[test]
fn laws_08_and_09_hold_however_late_evidence_comes() {
    holds(&scenarios::evidence());
}

#[test]
fn law_10_failed_writes_touch_their_own_attempt() {
    holds(&scenarios::failures());
}

#[test]
fn law_13_crashes_between_any_two_durable_steps() {
    holds(&scenarios::crashes());
}

#[test]
fn law_12_resets_restarts_removals_and_shells() {
    holds(&scenarios::lives());
}

#[test]
fn i19_people_at_the_same_terminal() {
    holds(&scenarios::people());
}

#[test]
fn i21_questions_in_the_midst_of_a_turn() {
    holds(&scenarios::dialogs());
}

#[test]
fn i21_turns_that_are_stopped_for_urgent_mail() {
    holds(&scenarios::urgent());
}

#[test]
fn i27_agents_that_take_mail_while_they_work() {
    holds(&scenarios::eager());
}

/// What each published design breaks: at least one of these, in the smallest scenario that shows it.
#[test]
fn every_published_design_is_caught() {
    for design in Design::ALL {
        let scenario = scenarios::for_design(design);
        let found = explore(World::new(Published::new(design), &scenario), ENOUGH);
        let broken: Vec<&str> = found.broken.keys().copied().collect();
        println!("{design:?} ({}): {} states, breaks {broken:?}", scenario.name, found.states);
        for (broken, way) in &found.broken {
            let steps: Vec<String> = way.iter().map(|step| format!("{step:?}")).collect();
            println!("    {broken}: {}", steps.join(", "));
        }
        let wanted = scenarios::known_to_break(design);
        assert!(
            wanted.iter().all(|wanted| broken.iter().any(|broken| broken.starts_with(wanted))),
            "{design:?} is known to break {wanted:?} and was found to break {broken:?}"
        );
    }
}
