//! How fast mail reaches agents, and what that costs, side by side with another program that does the same.
//!
//! All agents are the same program, which notes when bytes reach it (`peers/mock_cli.py`). The pause that a provider wants
//! between a paste and its Enter is not in the figures: they end at the first byte.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ptyard_server::api::SendRequest;
use ptyard_server::api::agents::LaunchRequest;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tempfile::TempDir;

use crate::Outcome;
use crate::bed::Bed;
use crate::forks::{self, Forks};
use crate::peers::cao;
use crate::peers::driver::{Driver, number, numbers};
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::Server;

mod in_tmux;
mod sustained;

pub(crate) use in_tmux::in_tmux;

const CASE: &str = "mail";

const PEER: &str = "cli-agent-orchestrator";

/// The program of every agent.
const AGENT: &str = include_str!("../peers/mock_cli.py");

/// What ptyard knows of it.
const MANIFEST: &str = r"
id = 'mock'
name = 'Mock agent'
version = '1.0.0'
engine = 1

[launch]
binaries = ['mock_cli']

[anchors]
prompt = '^❯(?:\s|$)'
working = '^\* working'

[composer]
row = 'prompt'
sign = '^❯'

[[rules]]
id = 'working'
status = 'processing'
when = ['working', 'no prompt below working']

[[rules]]
id = 'ready'
status = 'ready'
when = ['prompt in bottom 1']
";

/// Agents that become ready together.
const AGENTS: usize = 8;

/// Messages of each round to an agent that is idle.
const MESSAGES: u32 = 20;

/// Messages while processes are counted.
const COUNTED: u32 = 5;

/// How long nothing happens while processes are counted.
const IDLE: Duration = Duration::from_secs(10);

/// How often the agents' notes are looked at.
const LOOK: Duration = Duration::from_millis(1);

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    sustained::run(bed, report).await?;
    let place = Place::new()?;
    let mut ours = Ours::start(&bed.ptyard, &place).await?;
    let mut theirs = match cao::python() {
        Ok(python) => {
            let (mut driver, told) = cao::start(&python, &place.agent(), &place.directory("cao")?).await?;
            driver.call(json!(["start", AGENTS])).await?;
            Some((driver, number(&told, "pid")? as u32))
        }
        Err(why) => {
            report.push(Row::skipped(CASE, PEER, why.to_string()));
            None
        }
    };
    let (mut we, mut they) = (Figures::default(), Figures::default());
    for round in 0..bed.rounds {
        ours.idle(&format!("round {round}"), MESSAGES, &mut we).await?;
        ours.together(&format!("round {round} together"), &mut we).await?;
        if let Some((driver, _)) = &mut theirs {
            they.take(driver, &format!("round {round}")).await?;
        }
    }
    if forks::can_be_counted() {
        we.forks = Some(ours.forks().await?);
        if let Some((driver, pid)) = &mut theirs {
            let counting = Forks::of(&[*pid]).await?;
            driver.call(json!(["idle", "counted", COUNTED])).await?;
            let busy = counting.count().await?;
            let counting = Forks::of(&[*pid]).await?;
            tokio::time::sleep(IDLE).await;
            they.forks = Some((busy, counting.count().await?));
        }
    } else {
        report.push(Row::skipped(CASE, "processes started", "no strace"));
    }
    ours.server.stop().await?;
    if let Some((driver, _)) = theirs {
        driver.stop().await?;
        they.tell(PEER, None, report);
        we.tell("ptyard", Some(&they), report);
    } else {
        we.tell("ptyard", None, report);
    }
    Ok(())
}

/// Where the agents' program is, and what they note.
struct Place {
    home: TempDir,
}

impl Place {
    fn new() -> Outcome<Self> {
        let place = Self { home: tempfile::tempdir()? };
        let program = place.directory("agent")?.join("mock_cli");
        std::fs::write(&program, AGENT)?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        place.directory("stamps")?;
        Ok(place)
    }

    fn directory(&self, name: &str) -> Outcome<PathBuf> {
        let directory = self.home.path().join(name);
        std::fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    fn agent(&self) -> PathBuf {
        self.home.path().join("agent")
    }
}

/// What was measured of one contender.
#[derive(Default)]
struct Figures {
    first_byte_ms: Samples,
    answer_ms: Samples,
    health_ms: Samples,
    spread_ms: Samples,
    /// Processes started: with a few messages, and in idle time.
    forks: Option<(u32, u32)>,
}

impl Figures {
    /// A round of the other program.
    async fn take(&mut self, driver: &mut Driver, name: &str) -> Outcome<()> {
        let idle = driver.call(json!(["idle", name, MESSAGES])).await?;
        self.first_byte_ms.extend(numbers(&idle, "ms"));
        self.answer_ms.extend(numbers(&idle, "answer_ms"));
        self.health_ms.extend(numbers(&idle, "health_ms"));
        let together = driver.call(json!(["together", name])).await?;
        self.spread_ms.push(number(&together, "spread_ms")?);
        Ok(())
    }

    /// Tells all of it, and of ours what is to be reached.
    fn tell(&self, who: &str, against: Option<&Self>, report: &mut Report) {
        let is_ours = who != PEER;
        let row = |what: &str, figure: f64, unit, theirs: Option<f64>, goal: Goal| {
            let mut row = Row::new(CASE, format!("{who}: {what}"), figure, unit);
            if let Some(theirs) = theirs.filter(|theirs| *theirs > 0.0) {
                row = row.against(PEER, figure / theirs);
            }
            if is_ours { row.goal(goal) } else { row }
        };
        let at = |share: f64, of: fn(&Self) -> &Samples| {
            (of(self).quantile(share), against.map(|against| of(against).quantile(share)))
        };
        for (name, share, most) in [("p50", 0.5, 3.0), ("p99", 0.99, 20.0)] {
            let (figure, theirs) = at(share, |figures| &figures.first_byte_ms);
            let what = format!("POST to an idle agent until its terminal has it, {name}");
            report.push(row(&what, figure, "ms", theirs, Goal::AtMost(most)));
        }
        let (figure, theirs) = at(0.5, |figures| &figures.answer_ms);
        report.push(row("POST until its answer, p50", figure, "ms", theirs, Goal::Shown));
        let (figure, theirs) = at(0.99, |figures| &figures.health_ms);
        report.push(row("/health meanwhile, p99", figure, "ms", theirs, Goal::AtMost(5.0)));
        let (figure, theirs) = at(0.5, |figures| &figures.spread_ms);
        let what = format!("{AGENTS} ready together, from the first to the last");
        report.push(row(&what, figure, "ms", theirs, Goal::AtMost(50.0)));
        if let Some((busy, idle)) = self.forks {
            let theirs = against.and_then(|against| against.forks);
            let of = |counted: u32| f64::from(counted) / f64::from(COUNTED);
            let what = "processes started for a message";
            report.push(row(what, of(busy), "", theirs.map(|(busy, _)| of(busy)), Goal::AtMost(0.0)));
            let minute = |counted: u32| f64::from(counted) * 60.0 / IDLE.as_secs_f64();
            let what = "processes started in an idle minute";
            report.push(row(what, minute(idle), "", theirs.map(|(_, idle)| minute(idle)), Goal::AtMost(0.0)));
        }
    }
}

/// A server with agents.
struct Ours {
    server: Server,
    agents: Vec<String>,
    stamps: PathBuf,
    gate: PathBuf,
}

impl Ours {
    async fn start(ptyard: &Path, place: &Place) -> Outcome<Self> {
        Self::on(Server::start(ptyard).await?, place, None, AGENTS).await
    }

    /// So many agents on this backend.
    async fn on(mut server: Server, place: &Place, backend: Option<&str>, count: usize) -> Outcome<Self> {
        let providers = server.state().join("providers");
        std::fs::create_dir_all(&providers)?;
        std::fs::write(providers.join("mock.toml"), MANIFEST)?;
        let (stamps, gate) = (place.directory("stamps")?, place.home.path().join("gate"));
        let mut agents = Vec::new();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", place.agent().display());
        for _ in 0..count {
            let env = [
                ("PATH", path.clone()),
                ("MOCK_STAMPS", stamps.display().to_string()),
                ("MOCK_GATE", gate.display().to_string()),
            ];
            let launch = LaunchRequest {
                provider: Some("mock".to_owned()),
                backend: backend.map(str::to_owned),
                env: env.map(|(name, value)| (name.to_owned(), value)).into(),
                args: vec!["--delay-ms".to_owned(), "50".to_owned()],
                ..LaunchRequest::default()
            };
            agents.push(server.client.launch(&launch).await?.id);
        }
        Ok(Self { server, agents, stamps, gate })
    }

    /// One message after the other to an idle agent, and `/health` meanwhile.
    async fn idle(&mut self, name: &str, count: u32, figures: &mut Figures) -> Outcome<()> {
        let mut watcher = self.server.connect().await?;
        let (over, mut is_over) = tokio::sync::oneshot::channel::<()>();
        let watching = tokio::spawn(async move {
            let mut health = Vec::new();
            while is_over.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty) {
                let began = Instant::now();
                watcher.health().await?;
                health.push(began.elapsed().as_secs_f64() * 1e3);
                tokio::time::sleep(2 * LOOK).await;
            }
            Ok::<_, ptyard::client::ClientError>(health)
        });
        let agent = self.agents[0].clone();
        for number in 0..count {
            self.until_ready(&agent).await?;
            let text = format!("{name} {number}");
            let began = clock_ns();
            let request = SendRequest { text: text.clone(), ..SendRequest::default() };
            self.server.client.send_message(&agent, &request).await?;
            figures.answer_ms.push((clock_ns() - began) as f64 / 1e6);
            let came = self.arrived(&[text]).await?[0];
            figures.first_byte_ms.push((came - began) as f64 / 1e6);
        }
        drop(over);
        figures.health_ms.extend(watching.await??);
        Ok(())
    }

    /// All are at work until the gate opens; then each is to get its next message.
    async fn together(&mut self, name: &str, figures: &mut Figures) -> Outcome<()> {
        for agent in self.agents.clone() {
            self.until_ready(&agent).await?;
        }
        std::fs::write(&self.gate, "")?;
        for what in ["work", "next"] {
            for (number, agent) in self.agents.iter().enumerate() {
                let text = format!("{name} {what} {number}");
                self.server
                    .client
                    .send_message(agent, &SendRequest { text, ..SendRequest::default() })
                    .await?;
            }
            if what == "next" {
                std::fs::remove_file(&self.gate)?;
            }
            let texts: Vec<_> = (0..AGENTS).map(|number| format!("{name} {what} {number}")).collect();
            let came = self.arrived(&texts).await?;
            if what == "work" {
                // Until it is known that all are at work.
                tokio::time::sleep(Duration::from_secs(2)).await;
            } else if let (Some(first), Some(last)) = (came.iter().min(), came.iter().max()) {
                figures.spread_ms.push((last - first) as f64 / 1e6);
            }
        }
        Ok(())
    }

    async fn forks(&mut self) -> Outcome<(u32, u32)> {
        let keeper = std::fs::read_to_string(self.server.state().join("keeper.lock"))?.trim().parse()?;
        let pids = [self.server.pid(), keeper];
        let counting = Forks::of(&pids).await?;
        self.idle("counted", COUNTED, &mut Figures::default()).await?;
        let busy = counting.count().await?;
        let counting = Forks::of(&pids).await?;
        tokio::time::sleep(IDLE).await;
        Ok((busy, counting.count().await?))
    }

    async fn until_ready(&mut self, agent: &str) -> Outcome<()> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let mailbox = self.server.client.mailbox(agent).await?;
            if mailbox.hold.is_none() && mailbox.pending == 0 {
                return Ok(());
            }
            tokio::time::sleep(5 * LOOK).await;
        }
        let told = self.server.client.status(agent, true).await?;
        Err(format!("an agent did not become ready: {told:?}").into())
    }

    /// When the first byte of each of these messages reached its agent.
    async fn arrived(&self, texts: &[String]) -> Outcome<Vec<u64>> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let found = first_bytes(&self.stamps)?;
            let came: Option<Vec<u64>> = texts.iter().map(|text| found.get(text).copied()).collect();
            if let Some(came) = came {
                return Ok(came);
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(format!("not all of {texts:?} arrived").into())
    }
}

/// The clock of the agents' notes.
fn clock_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

fn first_bytes(stamps: &Path) -> Outcome<HashMap<String, u64>> {
    let mut found = HashMap::new();
    for file in std::fs::read_dir(stamps)? {
        for line in std::fs::read_to_string(file?.path())?.lines() {
            let mut words = line.splitn(3, '\t');
            if words.next() == Some("first")
                && let (Some(at), Some(text)) = (words.next(), words.next())
            {
                found.insert(text.to_owned(), at.parse()?);
            }
        }
    }
    Ok(found)
}
