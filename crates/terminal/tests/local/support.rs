//! Running programs in tests: everything waits for an event, and nothing waits for ever.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::{Exit, Size};
use ptyard_terminal::backend::{
    Backend, Control, ControlError, Io, KillReport, Placing, Sink, Source, StartError, StartSpec, Started,
    Stdin,
};
use ptyard_terminal::local::env::clean_environment;
use ptyard_terminal::local::{Containment, ForkLauncher, LocalBackend};
use ptyard_testkit::any_id;

/// Longer than anything takes on a loaded machine; only reached when something is wrong.
const LIMIT: Duration = Duration::from_secs(20);

pub(crate) const TTY: Io = Io::Tty(Size::DEFAULT);
pub(crate) const PIPES: Io = Io::Pipes(Stdin::Null);
pub(crate) const PIPES_WITH_STDIN: Io = Io::Pipes(Stdin::Pipe);

/// Waits for `what`, and panics naming it when it does not come.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.unwrap_or_else(|_| panic!("{what} did not come"))
}

pub(crate) fn backend(containment: Containment) -> LocalBackend {
    LocalBackend::with(Arc::new(ForkLauncher::new()), containment).expect("this containment works here")
}

/// The containments that can be had on this machine. Only a machine that lends us no cgroup lacks one.
pub(crate) fn containments() -> Vec<Containment> {
    let all = [Containment::Cgroup, Containment::Walk];
    all.into_iter().filter(|&c| LocalBackend::with(Arc::new(ForkLauncher::new()), c).is_ok()).collect()
}

pub(crate) fn spec(argv: &[&str], io: Io) -> StartSpec {
    let id = any_id();
    StartSpec {
        id,
        argv: argv.iter().map(|&arg| arg.to_owned()).collect(),
        cwd: PathBuf::from("/"),
        env: clean_environment(id, &BTreeMap::new(), &BTreeMap::new(), io),
        io,
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    }
}

/// A program and what it has printed.
pub(crate) struct Program {
    source: Box<dyn Source>,
    pub(crate) sink: Option<Box<dyn Sink>>,
    pub(crate) control: Box<dyn Control>,
    pub(crate) pid: u32,
    output: Vec<u8>,
    room: Vec<u8>,
}

impl Program {
    pub(crate) async fn start(backend: &LocalBackend, spec: StartSpec) -> Result<Self, StartError> {
        Ok(Self::of(within("a start", backend.start(spec)).await?))
    }

    pub(crate) async fn run(argv: &[&str], io: Io) -> Self {
        let backend = LocalBackend::new().unwrap();
        Self::start(&backend, spec(argv, io)).await.unwrap()
    }

    pub(crate) fn of(started: Started) -> Self {
        let Started { source, sink, control, pid, .. } = started;
        Self { source, sink, control, pid: pid.unwrap(), output: Vec::new(), room: vec![0; 16384] }
    }

    pub(crate) fn output(&self) -> String {
        String::from_utf8(self.output.clone()).unwrap()
    }

    /// Reads once; says whether the output goes on.
    pub(crate) async fn read(&mut self) -> bool {
        let (source, room) = (&mut self.source, &mut self.room);
        let read = within("output", poll_fn(|cx| source.poll_read(cx, room))).await.unwrap();
        self.output.extend_from_slice(&self.room[..read]);
        read > 0
    }

    pub(crate) async fn read_until(&mut self, text: &str) -> String {
        while !self.output().contains(text) {
            assert!(self.read().await, "{text:?} is not in {:?}", self.output());
        }
        self.output()
    }

    pub(crate) async fn read_to_end(&mut self) -> String {
        while self.read().await {}
        self.output()
    }

    pub(crate) async fn exit(&mut self) -> Exit {
        let control = &mut self.control;
        within("an exit", poll_fn(|cx| control.poll_exit(cx))).await
    }

    /// The whole output and the end.
    pub(crate) async fn finish(mut self) -> (String, Exit) {
        let output = self.read_to_end().await;
        let exit = self.exit().await;
        (output, exit)
    }

    pub(crate) async fn write(&mut self, mut bytes: &[u8]) {
        let sink = self.sink.as_mut().unwrap();
        while !bytes.is_empty() {
            let taken = within("a write", poll_fn(|cx| sink.poll_write(cx, bytes))).await.unwrap();
            bytes = &bytes[taken..];
        }
    }

    pub(crate) async fn close(&mut self) -> Result<(), ControlError> {
        let sink = self.sink.as_mut().unwrap();
        within("the end of input", poll_fn(|cx| sink.poll_close(cx))).await
    }

    pub(crate) async fn kill(&mut self, grace: Duration) -> KillReport {
        within("a kill", self.control.kill(grace)).await
    }
}

/// Whether a process exists and is not a zombie.
pub(crate) fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

/// The lines of an output that are numbers after `name=`.
pub(crate) fn pids(output: &str, name: &str) -> Vec<u32> {
    output
        .lines()
        .filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        .collect()
}
