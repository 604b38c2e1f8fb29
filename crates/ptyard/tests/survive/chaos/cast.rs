//! The agents: each place in the cast is taken by one after the other, as they are killed.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ptyard::client::{Client, ClientError};
use ptyard_server::api::agents::LaunchRequest;
use ptyard_testkit::agent::{MANIFEST, Record, program};

use crate::stage::{Dice, Stage};

/// Ways to tell what they do.
const MANNERS: [&str; 5] = [
    "status = { osc7501 = 'always' }",
    "status = { osc7501 = 'asks', screen = false }",
    "screen.alternate = true",
    "composer = { fold_lines = 2, after_paste = { within-ms = 30 } }",
    "screen = { noise_ms = 500 }",
];

/// One agent.
#[derive(Debug, Clone)]
pub(super) struct Player {
    pub(super) id: String,
    pub(super) record: PathBuf,
    pub(super) was_killed: bool,
}

impl Player {
    pub(super) fn record(&self) -> Record {
        Record::at(&self.record)
    }
}

/// All that played, by place: the last one of each lives.
#[derive(Debug, Default)]
pub(super) struct Cast(Mutex<Vec<Vec<Player>>>);

impl Cast {
    pub(super) fn places(&self) -> Vec<Vec<Player>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Who plays there now.
    pub(super) fn player(&self, place: usize) -> Player {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places[place].last().expect("every place was taken once").clone()
    }

    pub(super) fn killed(&self, place: usize) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places[place].last_mut().expect("every place was taken once").was_killed = true;
    }

    /// One whose start was not answered.
    pub(super) fn adopted(&self, place: usize, id: String, record: PathBuf) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places[place].push(Player { id, record, was_killed: false });
    }

    /// Starts one, at this place or a new one.
    pub(super) async fn start(
        &self,
        stage: &Stage,
        client: &mut Client,
        place: usize,
        dice: &mut Dice,
    ) -> Result<(), ClientError> {
        let (of_place, total) = {
            let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (places.get(place).map_or(0, Vec::len), places.iter().map(Vec::len).sum::<usize>())
        };
        let record = stage.file(&format!("record-{total}"));
        let manners = MANNERS[place % MANNERS.len()];
        let turns: Vec<String> =
            (0..100).map(|_| format!("{{ busy_ms = {} }}", 30 + dice.roll(120))).collect();
        let toml = format!(
            "{manners}\nboot_ms = {}\nturn = {{ busy_ms = 60 }}\nturns = [{}]",
            dice.roll(200),
            turns.join(", ")
        );
        let path = program().parent().map(Path::display).map(|path| path.to_string()).unwrap_or_default();
        let launch = LaunchRequest {
            provider: Some("scripted".to_owned()),
            session: Some("chaos".to_owned()),
            name: Some(format!("agent-{place}-{of_place}")),
            env: [("PATH".to_owned(), path)].into(),
            args: ["--toml", &toml, "--record", record.to_str().expect("a path of ours")]
                .map(str::to_owned)
                .to_vec(),
            ..LaunchRequest::default()
        };
        let launched = client.launch(&launch).await?;
        let player = Player { id: launched.id, record, was_killed: false };
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() <= place {
            places.resize(place + 1, Vec::new());
        }
        places[place].push(player);
        Ok(())
    }
}

/// Tells the yard of the agents' kind.
pub(super) fn describe(stage: &Stage) {
    let directory = stage.state().join("providers");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("scripted.toml"), MANIFEST).unwrap();
}
