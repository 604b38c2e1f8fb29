//! What the agents understood, against what the yard says became of each message.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use ptyard_server::api::{MessageInfo, Urgency};
use ptyard_testkit::agent::Event;

use super::cast::Player;
use super::storm::Scene;

/// The text of a message; of several lines, some of which look like the screen of an agent.
pub(super) fn text(sender: usize, number: usize, urgency: Urgency, lines: usize) -> String {
    let urgency = if urgency == Urgency::Now { "urgent" } else { "ordinary" };
    let more = "\n> ready\n  ? for help\n> ".lines().take(lines).collect::<Vec<_>>().join("\n");
    format!("{urgency} message {number} of sender {sender}.{more}")
}

/// Of which sender, how urgent, and which one.
fn origin(text: &str) -> Option<((String, String), u64)> {
    let words: Vec<&str> = text.lines().next()?.split([' ', '.']).collect();
    Some(((words.get(5)?.to_string(), words.first()?.to_string()), words.get(2)?.parse().ok()?))
}

/// What was found.
#[derive(Debug, Default)]
struct Findings {
    /// By state and reason.
    states: BTreeMap<String, usize>,
    faults: Vec<String>,
}

pub(super) async fn judge(scene: &Scene) {
    let mut findings = Findings::default();
    let mut client = scene.client().await;
    let mut kept = 0;
    for player in scene.cast.places().into_iter().flatten() {
        let messages = client.inbox(&player.id, true).await.unwrap();
        kept += messages.len();
        findings.of_player(&player, &messages);
    }
    let count = |count: &std::sync::atomic::AtomicUsize| count.load(Ordering::Relaxed);
    let tally = &scene.tally;
    let accepted = count(&tally.accepted);
    if kept < accepted {
        findings.faults.push(format!("{} accepted messages are not kept", accepted - kept));
    }
    println!(
        "{accepted} accepted ({} by a repeated call), {} refused; {} servers and {} agents killed; {} times a person helped",
        count(&tally.repeated),
        count(&tally.refused),
        count(&tally.server_deaths),
        count(&tally.agent_deaths),
        count(&tally.by_a_person),
    );
    for (state, count) in &findings.states {
        println!("{count:>8} {state}");
    }
    for fault in &findings.faults {
        println!("FAULT: {fault}");
    }
    assert!(findings.faults.is_empty(), "{} faults", findings.faults.len());
}

impl Findings {
    fn of_player(&mut self, player: &Player, messages: &[MessageInfo]) {
        let events = player.record().events();
        let mut understood: BTreeMap<String, usize> = BTreeMap::new();
        let mut last: BTreeMap<(String, String), u64> = BTreeMap::new();
        for event in &events {
            match event {
                Event::Submitted { text, .. } => {
                    // An agent may take an Enter for a line break, and another one follows.
                    let text = text.trim_end().to_owned();
                    let Some((origin, number)) = origin(&text) else {
                        self.faults.push(format!("{}: nobody sent {text:?}", player.id));
                        continue;
                    };
                    let before = last.insert(origin.clone(), number).unwrap_or(0);
                    if before >= number {
                        self.faults.push(format!("{}: {origin:?}: {number} after {before}", player.id));
                    }
                    *understood.entry(text).or_default() += 1;
                }
                Event::Queued { .. } | Event::Discarded { .. } => {
                    self.faults.push(format!("{}: typed into an open turn: {event:?}", player.id));
                }
                _ => {}
            }
        }
        let mut in_doubt_at_its_end = 0;
        for message in messages {
            let reason = message.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
            *self.states.entry(format!("{}{reason}", message.state)).or_default() += 1;
            let times = understood.remove(message.text.trim_end()).unwrap_or(0);
            let is_right = match message.state.as_str() {
                "delivered" => times == 1,
                "failed" => times == 0 && player.was_killed,
                // What it showed of it died with it, or it never took it: nobody could know.
                "uncertain" if player.was_killed => {
                    in_doubt_at_its_end += 1;
                    times <= 1
                }
                "uncertain" => times == 0,
                _ => false,
            };
            if !is_right {
                self.faults.push(format!("{}: understood {times} times: {message:?}", player.id));
            }
        }
        if in_doubt_at_its_end > 2 {
            self.faults.push(format!("{}: {in_doubt_at_its_end} messages are in doubt", player.id));
        }
        for text in understood.keys() {
            self.faults.push(format!("{}: understood what was not accepted: {text:?}", player.id));
        }
    }
}
