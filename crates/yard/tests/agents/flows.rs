//! Flows, by a clock that the test drives.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ptyard_core::ErrorCode;
use ptyard_core::turn::Status;
use ptyard_store::sqlite::SqliteStore;
use ptyard_store::{FlowRow, Flows as _};
use ptyard_terminal::backend::BoxFuture;
use ptyard_testkit::PATIENCE;
use ptyard_testkit::agent::program;
use ptyard_yard::agents::Answer;
use ptyard_yard::flows::{Calendar, FlowAgent, FlowRunRow, FlowRunState, FlowSpec, LATE, Run, WhenDone};
use ptyard_yard::{EventStream, TerminalRef, Yard, YardConfig};
use tokio::sync::watch;

const HOUR: Duration = Duration::from_secs(3_600);
const REPORTING: &str = "status.osc7501 = 'always'\ncomposer.burst = 'same-read'";

/// A clock that shows what the test says.
struct Driven(watch::Sender<SystemTime>);

impl Driven {
    /// Eight o'clock of a day of 2026 in UTC.
    fn new() -> Arc<Self> {
        Arc::new(Self(watch::channel(UNIX_EPOCH + Duration::from_secs(1_796_112_000)).0))
    }

    fn pass(&self, time: Duration) {
        self.0.send_modify(|now| *now += time);
    }
}

impl Calendar for Driven {
    fn now(&self) -> SystemTime {
        *self.0.borrow()
    }

    fn wait_until(&self, moment: Option<SystemTime>) -> BoxFuture<'_, ()> {
        let mut now = self.0.subscribe();
        Box::pin(async move {
            match moment {
                Some(moment) => drop(now.wait_for(|now| *now >= moment).await),
                None => std::future::pending().await,
            }
        })
    }
}

struct Stage {
    yard: Yard,
    clock: Arc<Driven>,
    events: EventStream,
    /// The number of the last event that was looked at.
    seen: u64,
    home: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap(), Driven::new(), 0).await
    }

    async fn at(home: tempfile::TempDir, clock: Arc<Driven>, seen: u64) -> Self {
        let calendar: Arc<dyn Calendar> = Arc::<Driven>::clone(&clock);
        let config = YardConfig { calendar, ..YardConfig::new(home.path().join("state")) };
        let opened = async {
            loop {
                match Yard::open(config.clone()) {
                    // A task of the yard before is about to notice that it is gone.
                    Err(error) if error.code() == ErrorCode::StateLocked => tokio::task::yield_now().await,
                    opened => return opened.unwrap(),
                }
            }
        };
        let yard = tokio::time::timeout(PATIENCE, opened).await.unwrap();
        let events = yard.events(Some(seen));
        Self { yard, clock, events, seen, home }
    }

    /// The same state with another server, after `gap`.
    async fn reopened(self, gap: Duration) -> Self {
        let Self { yard, clock, events, seen, home } = self;
        yard.shutdown().await;
        drop((yard, events));
        clock.pass(gap);
        Self::at(home, clock, seen).await
    }

    fn hourly(&self, toml: &str) -> FlowSpec {
        hourly(self.home.path(), toml)
    }

    /// Waits until a run of the flow is told that `holds`, and gives it as it stands then.
    async fn told(&mut self, state: &str) -> FlowRunRow {
        let told = async {
            loop {
                let event = self.events.next().await;
                self.seen = event.seq;
                if event.kind == "flow_run" && event.data["state"] == state {
                    return event.data["run"].as_str().unwrap().to_owned();
                }
            }
        };
        let run = tokio::time::timeout(PATIENCE, told).await.expect("it is told");
        let (_, runs) = self.yard.flow("hourly", 100).await.unwrap();
        runs.into_iter().find(|row| row.id.to_string() == run).expect("what is told is in the store")
    }

    async fn states(&self) -> Vec<FlowRunState> {
        let (_, runs) = self.yard.flow("hourly", 100).await.unwrap();
        runs.into_iter().map(|run| run.state).collect()
    }
}

/// A flow of every hour.
fn hourly(home: &Path, toml: &str) -> FlowSpec {
    let extra = [program().to_str().unwrap(), "--toml", toml].map(str::to_owned).to_vec();
    FlowSpec {
        name: "hourly".to_owned(),
        cron: "0 * * * *".to_owned(),
        zone: Some("UTC".to_owned()),
        agent: FlowAgent {
            provider: Some("generic".to_owned()),
            cwd: Some(home.to_owned()),
            extra,
            ..FlowAgent::default()
        },
        text: "look around".to_owned(),
    }
}

#[tokio::test]
async fn a_flow_starts_an_agent_when_its_time_comes_and_keeps_what_it_answered() {
    let mut stage = Stage::new().await;
    let spec = stage.hourly(&format!("{REPORTING}\nturn.answer = 'all is well'"));
    let flow = stage.yard.add_flow(spec).await.unwrap();
    assert_eq!(flow.next, Some(stage.clock.now() + HOUR), "not at the moment it was added");
    assert_eq!(flow.created_at, stage.clock.now());
    stage.clock.pass(HOUR - Duration::from_secs(1));
    assert_eq!(stage.states().await, []);
    stage.clock.pass(Duration::from_secs(1));
    let run = stage.told("completed").await;
    assert_eq!(run.moment, Some(stage.clock.now()));
    assert!(run.note.unwrap().contains("all is well"));
    let (flow, runs) = stage.yard.flow("hourly", 10).await.unwrap();
    assert_eq!((runs.len(), flow.next), (1, Some(stage.clock.now() + HOUR)));
    // Its program is ended; what it printed is there until the next run.
    let at = TerminalRef::Id(run.terminal.unwrap());
    stage.yard.wait(&at, &["exit".to_owned()], None, None).await.unwrap();
    stage.clock.pass(HOUR);
    let next = stage.told("completed").await;
    assert_ne!(next.terminal, run.terminal);
    assert!(stage.yard.info(&TerminalRef::Id(next.terminal.unwrap())).is_ok());
}

#[tokio::test]
async fn what_was_missed_is_told_and_never_made_up_for() {
    let mut stage = Stage::new().await;
    stage.yard.add_flow(stage.hourly(REPORTING)).await.unwrap();
    // Behind the first moment, and not by little.
    let late = Duration::try_from(LATE).unwrap() + Duration::from_secs(60);
    stage = stage.reopened(HOUR * 5 + late).await;
    let run = stage.told("missed").await;
    assert_eq!((run.count, run.note.as_deref()), (5, Some("no server ran")));
    let (flow, runs) = stage.yard.flow("hourly", 10).await.unwrap();
    assert_eq!(runs, [run]);
    assert_eq!(flow.next, Some(stage.clock.now() - late + HOUR));
    assert!(stage.yard.list().is_empty(), "nothing was started");
    // The clock is set forward while a server runs.
    stage.clock.pass(HOUR * 3);
    let run = stage.told("missed").await;
    assert_eq!((run.count, run.note.as_deref()), (3, Some("the clock was set, or the machine slept")));
    // Set back, it repeats nothing.
    stage.clock.0.send_modify(|now| *now -= HOUR * 2);
    stage.yard.set_flow("hourly", Run::Scheduled).await.unwrap();
    assert_eq!(stage.states().await.len(), 2);
}

#[tokio::test]
async fn a_run_that_is_still_going_is_told_and_the_next_is_skipped() {
    let mut stage = Stage::new().await;
    stage.yard.add_flow(stage.hourly(&format!("{REPORTING}\nturn.busy_ms = 600000"))).await.unwrap();
    stage.clock.pass(HOUR);
    let first = stage.told("running").await;
    stage.clock.pass(HOUR);
    let skipped = stage.told("overlap").await;
    assert!(skipped.note.unwrap().contains(&first.id.to_string()));
    assert_eq!(stage.yard.run_flow("hourly").await.unwrap_err().code(), ErrorCode::FlowRunning);
    stage.yard.kill(&TerminalRef::Id(first.terminal.unwrap()), None).await.unwrap();
    let failed = stage.told("failed").await;
    assert_eq!((failed.id, failed.note.as_deref()), (first.id, Some("its program ended before it was done")));
    assert!(stage.yard.info(&TerminalRef::Id(first.terminal.unwrap())).is_ok(), "it stays, to be looked at");
}

#[tokio::test]
async fn a_paused_flow_is_held_and_can_be_asked_for() {
    let mut stage = Stage::new().await;
    let mut spec = stage.hourly(REPORTING);
    spec.agent.when_done = WhenDone::Keep;
    stage.yard.add_flow(spec).await.unwrap();
    let paused = stage.yard.set_flow("hourly", Run::Paused).await.unwrap();
    assert_eq!(paused.next, None);
    stage.clock.pass(HOUR * 3);
    let run = stage.yard.run_flow("hourly").await.unwrap();
    assert_eq!((run.moment, run.state), (None, FlowRunState::Running));
    stage.told("completed").await;
    let status = stage.yard.status(&TerminalRef::Id(run.terminal.unwrap())).unwrap().unwrap();
    assert!(status.report.status.is_ready(), "it is kept: {status:?}");
    let resumed = stage.yard.set_flow("hourly", Run::Scheduled).await.unwrap();
    assert_eq!(resumed.next, Some(stage.clock.now() + HOUR));
    assert_eq!(stage.states().await, [FlowRunState::Completed], "what passed meanwhile is not missed");
}

#[tokio::test]
async fn an_agent_that_asks_holds_its_run_until_it_is_answered() {
    let mut stage = Stage::new().await;
    stage.yard.add_flow(stage.hourly(&format!("{REPORTING}\ndialogs = [{{}}]"))).await.unwrap();
    stage.clock.pass(HOUR);
    let held = stage.told("held").await;
    assert!(held.note.unwrap().starts_with("it asks something"));
    let at = TerminalRef::Id(held.terminal.unwrap());
    assert_eq!(stage.yard.status(&at).unwrap().unwrap().report.status, Status::WaitingUserAnswer);
    stage.yard.answer(&at, &Answer::Text("1".to_owned())).await.unwrap();
    let completed = stage.told("completed").await;
    assert_eq!(completed.id, held.id);
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_is_a_run_that_failed() {
    let mut stage = Stage::new().await;
    let mut spec = stage.hourly(REPORTING);
    spec.agent.extra = vec!["/no/such/program".to_owned()];
    stage.yard.add_flow(spec).await.unwrap();
    stage.clock.pass(HOUR);
    let failed = stage.told("failed").await;
    assert!(failed.note.unwrap().contains("/no/such/program"));
    assert_eq!(failed.terminal, None);
}

#[tokio::test]
async fn a_run_whose_server_died_before_its_agent_had_the_work_failed() {
    let (home, clock) = (tempfile::tempdir().unwrap(), Driven::new());
    // What a server leaves that is killed between the claim and the work.
    let state = home.path().join("state");
    std::fs::DirBuilder::new().mode(0o700).create(&state).unwrap();
    let spec = hourly(home.path(), REPORTING);
    let flow = FlowRow {
        name: spec.name,
        cron: spec.cron,
        zone: "UTC".to_owned(),
        agent: serde_json::to_string(&spec.agent).unwrap(),
        text: spec.text,
        run: Run::Scheduled,
        created_at: clock.now(),
        done_until: clock.now(),
    };
    let store = SqliteStore::open(state.join("ptyard.db")).unwrap();
    store.add_flow(flow).await.unwrap();
    store.begin_flow_run("hourly".to_owned(), clock.now()).await.unwrap();
    drop(store);
    let mut stage = Stage::at(home, clock, 0).await;
    let failed = stage.told("failed").await;
    assert!(failed.note.unwrap().contains("the server ended while its agent was started"));
    stage.clock.pass(HOUR);
    stage.told("completed").await;
}

#[tokio::test]
async fn what_cannot_be_a_flow_is_refused_with_a_code_of_its_own() {
    let stage = Stage::new().await;
    stage.yard.add_flow(stage.hourly(REPORTING)).await.unwrap();
    let spec = |change: fn(&mut FlowSpec)| {
        let mut spec = FlowSpec { name: "other".to_owned(), ..stage.hourly(REPORTING) };
        change(&mut spec);
        spec
    };
    let profile = |spec: &mut FlowSpec| spec.agent.profile = Some("nobody".to_owned());
    for (spec, code) in [
        (spec(|spec| spec.name = "hourly".to_owned()), ErrorCode::FlowTaken),
        (spec(|spec| spec.name = "no name".to_owned()), ErrorCode::InvalidArgument),
        (spec(|spec| spec.cron = "every day".to_owned()), ErrorCode::InvalidSchedule),
        (spec(|spec| spec.cron = "0 0 30 2 *".to_owned()), ErrorCode::InvalidSchedule),
        (spec(|spec| spec.zone = Some("Mars/Olympus".to_owned())), ErrorCode::InvalidSchedule),
        (spec(|spec| spec.cron = "CRON_TZ=Europe/Paris @daily".to_owned()), ErrorCode::InvalidSchedule),
        (spec(profile), ErrorCode::UnknownProfile),
        (spec(|spec| spec.agent.provider = Some("nothing".to_owned())), ErrorCode::InvalidArgument),
        (spec(|spec| spec.agent.provider = None), ErrorCode::InvalidArgument),
        (spec(|spec| spec.agent.session = Some("a b".to_owned())), ErrorCode::InvalidArgument),
        (spec(|spec| spec.text = " \n".to_owned()), ErrorCode::InvalidArgument),
        (spec(|spec| spec.text = "x".repeat(1 << 20)), ErrorCode::InputTooLarge),
    ] {
        let told = format!("{spec:.80?}");
        assert_eq!(stage.yard.add_flow(spec).await.unwrap_err().code(), code, "{told}");
    }
    let unknown = ErrorCode::UnknownFlow;
    assert_eq!(stage.yard.flow("other", 1).await.unwrap_err().code(), unknown);
    assert_eq!(stage.yard.run_flow("other").await.unwrap_err().code(), unknown);
    assert_eq!(stage.yard.set_flow("other", Run::Paused).await.unwrap_err().code(), unknown);
    assert_eq!(stage.yard.remove_flow("other").await.unwrap_err().code(), unknown);
    assert_eq!(stage.yard.flows().await.unwrap().len(), 1);
    stage.yard.remove_flow("hourly").await.unwrap();
    assert!(stage.yard.flows().await.unwrap().is_empty());
}
