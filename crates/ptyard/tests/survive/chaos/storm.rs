//! What goes on at once, until everything is settled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ptyard::client::{Client, ClientError};
use ptyard_core::ErrorCode;
use ptyard_server::api::{Input, SendRequest, Urgency, WriteRequest};
use ptyard_testkit::agent::Event;

use super::cast::{self, Cast};
use super::{plight, referee};
use crate::stage::{Dice, Stage, kill, until};

/// How much happens.
pub(super) struct Storm {
    pub(super) agents: usize,
    pub(super) messages: usize,
    pub(super) agent_deaths: u32,
    pub(super) server_deaths: u32,
    /// At most, between two of them.
    pub(super) between_server_deaths: Duration,
    /// Longest pause of a sender between two messages.
    pub(super) most_pause_ms: u64,
    pub(super) seed: u64,
    /// Longer than it takes on a loaded machine.
    pub(super) patience: Duration,
}

/// How often it is looked whether all is settled, which nothing depends on.
const LOOK: Duration = Duration::from_millis(250);

/// How long a person waits for the yard to find out by itself.
const IMPATIENCE: Duration = Duration::from_secs(8);

/// One message in so many is urgent.
const URGENT_ONE_IN: u64 = 40;

/// What all share.
pub(super) struct Scene {
    pub(super) stage: Stage,
    pub(super) cast: Cast,
    storm: Numbers,
    pub(super) tally: Tally,
    is_calm: AtomicBool,
}

#[derive(Clone, Copy)]
struct Numbers {
    agents: usize,
    most_pause_ms: u64,
    seed: u64,
}

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) accepted: AtomicUsize,
    pub(super) refused: AtomicUsize,
    pub(super) repeated: AtomicUsize,
    pub(super) server_deaths: AtomicUsize,
    pub(super) agent_deaths: AtomicUsize,
    pub(super) by_a_person: AtomicUsize,
    slowest_start_ms: AtomicU64,
}

pub(super) fn run(storm: &Storm) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let scene = storm.scene();
        if tokio::time::timeout(storm.patience, storm.play(Arc::clone(&scene))).await.is_err() {
            plight::print(&scene).await;
            panic!("the storm did not settle");
        }
    });
}

impl Storm {
    fn scene(&self) -> Arc<Scene> {
        let Self { agents, most_pause_ms, seed, .. } = *self;
        Arc::new(Scene {
            stage: Stage::new(),
            cast: Cast::default(),
            storm: Numbers { agents, most_pause_ms, seed },
            tally: Tally::default(),
            is_calm: AtomicBool::new(false),
        })
    }

    async fn play(&self, scene: Arc<Scene>) {
        let Self { agents, seed, .. } = *self;
        cast::describe(&scene.stage);
        server(&scene.stage);
        let mut dice = Dice::new(seed);
        let mut client = scene.client().await;
        for place in 0..agents {
            scene.cast.start(&scene.stage, &mut client, place, &mut dice).await.unwrap();
        }
        drop(client);
        let began = Instant::now();
        let each = self.messages / agents;
        let senders: Vec<_> =
            (0..agents).map(|sender| tokio::spawn(send_all(Arc::clone(&scene), sender, each))).collect();
        let servers =
            tokio::spawn(kill_servers(Arc::clone(&scene), self.server_deaths, self.between_server_deaths));
        let players = tokio::spawn(kill_agents(Arc::clone(&scene), self.agent_deaths));
        let person = tokio::spawn(look_after(Arc::clone(&scene)));
        for sender in senders {
            sender.await.unwrap();
        }
        let sent_in = began.elapsed();
        servers.await.unwrap();
        players.await.unwrap();
        settled(&scene).await;
        scene.is_calm.store(true, Ordering::Release);
        person.await.unwrap();
        let slowest = scene.tally.slowest_start_ms.load(Ordering::Relaxed);
        println!("sent in {sent_in:.1?}, settled in {:.1?}; slowest start {slowest} ms", began.elapsed());
        referee::judge(&scene).await;
    }
}

impl Scene {
    /// A connection to the server that runs, as soon as one does.
    pub(super) async fn client(&self) -> Client {
        let socket = self.stage.state().join("ptyard.sock");
        loop {
            match Client::connect(&socket).await {
                Ok(client) => return client,
                // Many wait at the same door, and the next server has to come up behind it.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    }
}

/// Whether the call may be made again, because it is not known whether it was made.
fn is_broken(error: &ClientError) -> bool {
    !matches!(error, ClientError::Refused(_)) || error.code() == ErrorCode::Stopping
}

/// Sends one message after the other: the next when the one before is accepted or refused.
async fn send_all(scene: Arc<Scene>, sender: usize, count: usize) {
    let mut dice = Dice::new(scene.storm.seed * 1_000 + sender as u64);
    let mut client = scene.client().await;
    let mut number = 0;
    let mut sent = 0;
    while sent < count {
        tokio::time::sleep(Duration::from_millis(dice.roll(scene.storm.most_pause_ms))).await;
        number += 1;
        let urgency = if dice.roll(URGENT_ONE_IN) == 0 { Urgency::Now } else { Urgency::Ready };
        let player = scene.cast.player(dice.roll(scene.storm.agents as u64) as usize);
        let request = SendRequest {
            text: referee::text(sender, number, urgency, dice.roll(4) as usize),
            key: Some(format!("{sender}/{number}")),
            urgency,
            ..SendRequest::default()
        };
        let mut tries = 0;
        loop {
            tries += 1;
            match client.send_message(&player.id, &request).await {
                Ok(_) => {
                    scene.tally.accepted.fetch_add(1, Ordering::Relaxed);
                    scene.tally.repeated.fetch_add(usize::from(tries > 1), Ordering::Relaxed);
                    sent += 1;
                    break;
                }
                Err(error) if is_broken(&error) => client = scene.client().await,
                Err(error) if error.code() == ErrorCode::TerminalExited => {
                    scene.tally.refused.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                Err(error) => panic!("{error}: {:?}", error.code()),
            }
        }
    }
}

/// The process id of the server that runs, once it answers: on a loaded machine it takes its time.
fn server(stage: &Stage) -> u32 {
    stage.json(&["list"]);
    let mut pid = 0;
    until("the server answers", || {
        pid = stage.running_server();
        pid != 0
    });
    pid
}

async fn kill_servers(scene: Arc<Scene>, times: u32, at_most: Duration) {
    let mut dice = Dice::new(scene.storm.seed + 7);
    for _ in 0..times {
        tokio::time::sleep(at_most / 4 + at_most * dice.roll(768) as u32 / 1024).await;
        let scene = Arc::clone(&scene);
        let killed = tokio::task::spawn_blocking(move || {
            kill(server(&scene.stage));
            scene.tally.server_deaths.fetch_add(1, Ordering::Relaxed);
            let began = Instant::now();
            server(&scene.stage);
            let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            scene.tally.slowest_start_ms.fetch_max(ms, Ordering::Relaxed);
        });
        killed.await.unwrap();
    }
}

async fn kill_agents(scene: Arc<Scene>, times: u32) {
    let mut dice = Dice::new(scene.storm.seed + 13);
    for _ in 0..times {
        tokio::time::sleep(Duration::from_millis(300 + dice.roll(2_000))).await;
        let place = dice.roll(scene.storm.agents as u64) as usize;
        let player = scene.cast.player(place);
        let mut client = scene.client().await;
        let pid = loop {
            match client.info(&player.id).await {
                Ok(info) => break info.pid,
                Err(_) => client = scene.client().await,
            }
        };
        let Some(pid) = pid else { continue };
        scene.cast.killed(place);
        // Its parent reaps it; it is gone when its record ends.
        let process = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
        scene.tally.agent_deaths.fetch_add(1, Ordering::Relaxed);
        loop {
            match scene.cast.start(&scene.stage, &mut client, place, &mut dice).await {
                Ok(()) => break,
                // It was started, and the answer was lost with the server: its name is taken, its place is not.
                Err(error) if error.code() == ErrorCode::NameTaken => {
                    adopt(&scene, place).await;
                    break;
                }
                Err(_) => client = scene.client().await,
            }
        }
    }
}

/// Takes an agent whose start was not answered into the cast.
async fn adopt(scene: &Scene, place: usize) {
    let places = scene.cast.places();
    let name = format!("agent-{place}-{}", places[place].len());
    loop {
        let mut client = scene.client().await;
        if let Ok(info) = client.info(&name).await {
            let total = places.iter().map(Vec::len).sum::<usize>();
            scene.cast.adopted(place, info.id, scene.stage.file(&format!("record-{total}")));
            return;
        }
    }
}

/// A person who comes by: where a text is in doubt and nothing goes on, empties the composer and says that nothing is
/// under way, if the agent is really idle.
async fn look_after(scene: Arc<Scene>) {
    let mut client = scene.client().await;
    // Since when, and with which server, an agent is in the same plight.
    let mut stuck: BTreeMap<String, (Instant, u32)> = BTreeMap::new();
    while !scene.is_calm.load(Ordering::Acquire) {
        tokio::time::sleep(LOOK * 4).await;
        for player in scene.cast.places().into_iter().filter_map(|mut place| place.pop()) {
            let Ok(mailbox) = client.mailbox(&player.id).await else {
                client = scene.client().await;
                break;
            };
            let is_held = mailbox.hold.as_deref().is_some_and(|hold| hold != "busy" && hold != "exited");
            let server = client.version().pid;
            let since = stuck.entry(player.id.clone()).or_insert((Instant::now(), server));
            if !is_held || mailbox.uncertain == 0 || since.1 != server {
                *since = (Instant::now(), server);
            }
            let events = player.record().events();
            let begun = events.iter().rposition(|event| matches!(event, Event::Submitted { .. }));
            let ended = events.iter().rposition(|event| matches!(event, Event::TurnEnded { .. }));
            if since.0.elapsed() < IMPATIENCE || ended < begun {
                continue;
            }
            eprintln!("a person helps {}: {:?} {:?}", player.id, mailbox.hold, events.last());
            let clear = WriteRequest { input: Input::Keys("C-u".to_owned()), ..WriteRequest::default() };
            if client.write(&player.id, &clear).await.is_ok() && client.reset(&player.id).await.is_ok() {
                scene.tally.by_a_person.fetch_add(1, Ordering::Relaxed);
                stuck.remove(&player.id);
            }
        }
    }
}

/// Waits until nothing is on its way any more.
async fn settled(scene: &Scene) {
    let mut client = scene.client().await;
    for place in scene.cast.places() {
        for player in place {
            loop {
                match client.inbox(&player.id, false).await {
                    Ok(left) => {
                        let waits = |state: &str| matches!(state, "pending" | "dispatching");
                        if !left.iter().any(|message| waits(&message.state)) {
                            break;
                        }
                    }
                    Err(_) => client = scene.client().await,
                }
                tokio::time::sleep(LOOK).await;
            }
        }
    }
}
