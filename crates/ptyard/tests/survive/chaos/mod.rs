//! Mail in a storm: agents that work for random times and are killed, servers that are killed, senders that come back with
//! the same key; and the agents' own records of what they understood are the referee.
//!
//! The large one takes minutes: `cargo test -p ptyard --test survive -- --ignored --nocapture chaos`.

mod cast;
mod plight;
mod referee;
mod storm;

use std::time::Duration;

use storm::Storm;

#[test]
fn law_13_chaos_with_20_agents_and_1_000_messages() {
    storm::run(&Storm {
        agents: 20,
        messages: 1_000,
        agent_deaths: 4,
        server_deaths: 6,
        between_server_deaths: Duration::from_secs(2),
        most_pause_ms: 400,
        seed: std::env::var("CHAOS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_26),
        patience: Duration::from_secs(420),
    });
}

#[test]
#[ignore = "takes minutes: 100 agents, 10,000 messages"]
fn law_13_chaos_with_100_agents_and_10_000_messages() {
    let seed = std::env::var("CHAOS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    storm::run(&Storm {
        agents: 100,
        messages: 10_000,
        agent_deaths: 25,
        server_deaths: 30,
        between_server_deaths: Duration::from_secs(5),
        most_pause_ms: 1_000,
        seed,
        patience: Duration::from_secs(1_800),
    });
}
