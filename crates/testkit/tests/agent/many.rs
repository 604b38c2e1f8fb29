//! A hundred at once.

use ptyard_terminal::local::LocalBackend;
use ptyard_testkit::agent::Event;

use crate::stage::Agent;

const AGENTS: usize = 100;

/// How often a process gave up the processor to wait for something.
fn waits(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

#[tokio::test]
async fn a_hundred_work_at_once_and_none_spins() {
    let backend = LocalBackend::new().unwrap();
    let mut agents = Vec::new();
    for n in 0..AGENTS {
        let busy = 20 + n % 7 * 10;
        agents.push(Agent::start(&backend, &format!("turn = {{ busy_ms = {busy}, show = 'still' }}")).await);
    }
    for agent in &mut agents {
        agent.until_shown("? for help").await;
    }
    for (n, agent) in agents.iter_mut().enumerate() {
        agent.submit(&format!("message {n}")).await;
    }
    for (n, agent) in agents.iter_mut().enumerate() {
        agent.until_shown(&format!("You said: message {n}")).await;
        assert_eq!(agent.record.submitted(), [format!("message {n}")]);
        let ended = Event::TurnEnded { turn: 1, how: "answer".to_owned() };
        assert!(agent.record.events().contains(&ended));
    }
    // A start, about ten reads and one deadline each: a loop that spins would wait thousands of times.
    let most = agents.iter().map(|agent| waits(agent.pid)).max().unwrap();
    assert!(most < 200, "one agent woke {most} times");
}
