//! A yard, and scripted agents in it.

use std::path::PathBuf;

use ptyard_core::turn::Status;
use ptyard_testkit::PATIENCE;
use ptyard_testkit::agent::{Record, program};
use ptyard_yard::agents::{LaunchSpec, Launched};
use ptyard_yard::{TerminalRef, Yard, YardConfig};

/// A yard in a directory of its own.
pub(crate) struct Stage {
    pub(crate) yard: Yard,
    pub(crate) home: tempfile::TempDir,
}

/// A scripted agent in a yard.
pub(crate) struct Scripted {
    pub(crate) launched: Launched,
    pub(crate) record: Record,
}

impl Scripted {
    pub(crate) fn at(&self) -> TerminalRef {
        TerminalRef::Id(self.launched.id)
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let yard = Yard::open(YardConfig::new(home.path().join("state"))).unwrap();
        Self { yard, home }
    }

    /// One whose agents are given `program` as an MCP server.
    pub(crate) fn with_program(program: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let config =
            YardConfig { program: Some(program.into()), ..YardConfig::new(home.path().join("state")) };
        Self { yard: Yard::open(config).unwrap(), home }
    }

    /// The directory agents work in.
    pub(crate) fn work(&self) -> PathBuf {
        let work = self.home.path().join("work");
        std::fs::create_dir_all(&work).unwrap();
        work
    }

    /// A start of a scripted agent, and its record.
    pub(crate) fn scripted(&self, toml: &str) -> (LaunchSpec, Record) {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let record = self.home.path().join(format!("record-{number}"));
        let extra = [program().to_str().unwrap(), "--toml", toml, "--record", record.to_str().unwrap()];
        let spec = LaunchSpec {
            provider: Some("generic".to_owned()),
            cwd: Some(self.work()),
            extra: extra.map(str::to_owned).to_vec(),
            ..LaunchSpec::default()
        };
        (spec, Record::at(record))
    }

    pub(crate) async fn launch(&self, toml: &str) -> Scripted {
        let (spec, record) = self.scripted(toml);
        self.launch_as(spec, record).await
    }

    pub(crate) async fn launch_as(&self, spec: LaunchSpec, record: Record) -> Scripted {
        Scripted { launched: self.yard.launch(spec).await.unwrap(), record }
    }

    /// Waits until an agent is `status`.
    pub(crate) async fn until(&self, agent: &Scripted, status: Status) {
        let come =
            self.yard.status_until(&agent.at(), |report| report.status == status, PATIENCE).await.unwrap();
        assert!(come.is_some(), "it is {:?}, not {status}", self.yard.status(&agent.at()).unwrap());
    }
}
