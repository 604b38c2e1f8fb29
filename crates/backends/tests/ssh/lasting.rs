//! Programs that outlive their connection: what they print, are typed and end with comes whole.

use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ptyard_backends::ssh::Patience;
use ptyard_core::{Cause, Exit, Size};
use ptyard_terminal::backend::{Backend, EndsWith, Io, Placing, StartSpec, Started, Stdin};
use ptyard_testkit::places::ssh::{HOST, SshServer};
use ptyard_testkit::{any_id, soon, until};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::patient;

/// A network that can be shut: what stands breaks then, and nothing new comes through.
struct Gate {
    port: u16,
    is_open: watch::Sender<bool>,
}

impl Gate {
    async fn before(server: &SshServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, target) = (listener.local_addr().unwrap().port(), server.port());
        let is_open = watch::Sender::new(true);
        let mut opened = is_open.subscribe();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                if !*opened.borrow_and_update() {
                    continue;
                }
                let mut open = opened.clone();
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
                    tokio::select! {
                        _ended = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _shut = open.wait_for(|open| !open) => {}
                    }
                });
            }
        });
        Self { port, is_open }
    }

    fn shut(&self) {
        self.is_open.send_replace(false);
    }

    fn open(&self) {
        self.is_open.send_replace(true);
    }
}

const TTY: Io = Io::Tty(Size::DEFAULT);
const PIPES: Io = Io::Pipes(Stdin::Pipe);

/// A program over the gate, and what it printed so far.
struct Stage {
    server: SshServer,
    gate: Gate,
    program: Started,
    output: Vec<u8>,
    is_over: bool,
}

impl Stage {
    async fn start(io: Io, patience: u64, script: &str, argument: &str) -> Option<Self> {
        let server = SshServer::start()?;
        let gate = Gate::before(&server).await;
        let patience = Patience(Duration::from_secs(patience));
        let backend = patient(server.configuration_through(gate.port), patience);
        let backend = Arc::new(backend).at(HOST).unwrap();
        assert_eq!(backend.abilities().ends_with, EndsWith::Nothing);
        let program = soon("the start", backend.start(spec(io, script, argument))).await.unwrap();
        Some(Self { server, gate, program, output: Vec::new(), is_over: false })
    }

    /// Reads until the output is long enough, or over.
    async fn read_to(&mut self, length: usize) {
        let mut room = vec![0; 4096];
        while self.output.len() < length && !self.is_over {
            let reading = poll_fn(|cx| self.program.source.poll_read(cx, &mut room));
            match soon("output", reading).await {
                Ok(read @ 1..) => self.output.extend_from_slice(&room[..read]),
                _ => self.is_over = true,
            }
        }
    }

    /// All that it printed, and how it ended.
    async fn finish(&mut self) -> (String, Exit) {
        self.read_to(usize::MAX).await;
        let exit = soon("the end", poll_fn(|cx| self.program.control.poll_exit(cx))).await;
        (String::from_utf8_lossy(&self.output).replace('\r', ""), exit)
    }

    async fn write(&mut self, mut bytes: &[u8]) {
        let sink = self.program.sink.as_mut().unwrap();
        while !bytes.is_empty() {
            let written = soon("it is typed", poll_fn(|cx| sink.poll_write(cx, bytes))).await.unwrap();
            bytes = &bytes[written..];
        }
    }
}

fn spec(io: Io, script: &str, argument: &str) -> StartSpec {
    let id = any_id();
    StartSpec {
        id,
        argv: ["sh", "-c", script, "sh", argument].map(str::to_owned).to_vec(),
        cwd: "/".into(),
        env: [("PTYARD_TERMINAL".to_owned(), id.to_string())].into(),
        io,
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    }
}

/// Processes of this machine for which this holds of what they are called and of their arguments and variables.
fn processes(is_meant: impl Fn(&str, &str, &str) -> bool) -> Vec<i32> {
    let read = |path: &Path, name: &str| {
        String::from_utf8_lossy(&std::fs::read(path.join(name)).unwrap_or_default()).replace('\0', "\n")
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| is_meant(read(path, "comm").trim(), &read(path, "cmdline"), &read(path, "environ")))
        .filter_map(|path| path.file_name()?.to_str()?.parse().ok())
        .collect()
}

/// Carriers there, and what passes on their bytes.
fn carriers(server: &SshServer) -> usize {
    let home = format!("HOME={}", server.home().display());
    processes(|_, arguments, variables| {
        arguments.starts_with("python3\n-I\n-S\n") && variables.lines().any(|line| line == home)
    })
    .len()
}

/// Ends the clients of this configuration, but not the one that has the connection.
fn end_clients(configuration: &Path) -> usize {
    let configuration = configuration.display().to_string();
    let clients = processes(|name, arguments, _| {
        name == "ssh" && arguments.contains(&configuration) && !arguments.lines().any(|word| word == "-M")
    });
    for &client in &clients {
        let client = rustix::process::Pid::from_raw(client).unwrap();
        let _gone = rustix::process::kill_process(client, rustix::process::Signal::KILL);
    }
    clients.len()
}

/// Numbers, each on its line, slowly enough to be broken off in the middle, and an end.
const NUMBERS: &str =
    "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); echo $i; [ $((i % 300)) = 0 ] && sleep 0.1; done; exit 7";

fn numbers(to: u32) -> String {
    (1..=to).map(|n| format!("{n}\n")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_01_output_goes_on_where_it_was_when_the_connection_broke() {
    for io in [TTY, PIPES] {
        let Some(mut stage) = Stage::start(io, 60, NUMBERS, "").await else { return };
        stage.read_to(100).await;
        stage.server.cut();
        stage.read_to(5_000).await;
        let configuration = stage.server.configuration_through(stage.gate.port);
        until("a client is there", || end_clients(&configuration) > 0).await;
        let (output, exit) = stage.finish().await;
        assert!(output == numbers(3000), "{io:?}: {output:?}");
        assert_eq!(exit, Exit::exited(7), "{io:?}");
        until("the carrier there is gone", || carriers(&stage.server) == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_07_input_is_typed_once_whenever_the_connection_breaks() {
    let reads =
        "stty -echo 2>/dev/null; echo ready; while read -r line && [ $line != end ]; do echo $line; done";
    for io in [TTY, PIPES] {
        let Some(mut stage) = Stage::start(io, 60, reads, "").await else { return };
        stage.read_to(6).await;
        for n in 1..=2000 {
            if n % 500 == 250 {
                stage.server.cut();
            }
            if n == 1200 {
                stage.gate.shut();
            }
            if n == 1400 {
                stage.gate.open();
            }
            stage.write(format!("{n}\n").as_bytes()).await;
        }
        stage.write(b"end\n").await;
        let (output, exit) = stage.finish().await;
        assert!(output == format!("ready\n{}", numbers(2000)), "{io:?}: {output:?}");
        assert_eq!(exit, Exit::exited(0), "{io:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_07_what_waits_there_to_be_taken_is_not_typed_again() {
    let directory = tempfile::tempdir().unwrap();
    let waits = "echo begun; while [ ! -e $1/go ]; do sleep 0.05; done; exec cat";
    let Some(mut stage) = Stage::start(PIPES, 60, waits, directory.path().to_str().unwrap()).await else {
        return;
    };
    stage.read_to(6).await;
    let all = numbers(300_000);
    let (mut left, sink) = (all.as_bytes(), stage.program.sink.as_mut().unwrap());
    // Until all that takes input is full: the program's pipe, the carriers and what lies between them.
    let writing = |left: &[u8], sink: &mut Box<dyn ptyard_terminal::backend::Sink>| -> Option<usize> {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        match sink.poll_write(&mut cx, left) {
            Poll::Ready(written) => Some(written.unwrap()),
            Poll::Pending => None,
        }
    };
    let mut full_since = std::time::Instant::now();
    while full_since.elapsed() < Duration::from_millis(500) {
        match writing(left, sink) {
            Some(written) => (left, full_since) = (&left[written..], std::time::Instant::now()),
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
    stage.server.cut();
    std::fs::write(directory.path().join("go"), "").unwrap();
    let mut sink = stage.program.sink.take().unwrap();
    let typing = async move {
        while !left.is_empty() {
            let written = poll_fn(|cx| sink.poll_write(cx, left)).await.unwrap();
            left = &left[written..];
        }
        poll_fn(|cx| sink.poll_close(cx)).await.unwrap();
    };
    let (_typed, (output, exit)) = tokio::join!(typing, stage.finish());
    assert!(output == format!("begun\n{all}"), "{} bytes of {} came", output.len(), all.len());
    assert_eq!(exit, Exit::exited(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_04_an_end_while_nobody_is_connected_is_told_with_its_code_and_its_last_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let go = directory.path().join("go");
    let waits = "echo begun; while [ ! -e $1/go ]; do sleep 0.05; done; echo last; echo > $1/gone; exit 7";
    for io in [TTY, PIPES] {
        let Some(mut stage) = Stage::start(io, 60, waits, directory.path().to_str().unwrap()).await else {
            return;
        };
        stage.read_to(6).await;
        stage.gate.shut();
        std::fs::write(&go, "").unwrap();
        let gone = directory.path().join("gone");
        until("it has ended", || gone.exists()).await;
        stage.gate.open();
        assert_eq!(stage.finish().await, ("begun\nlast\n".to_owned(), Exit::exited(7)), "{io:?}");
        until("the carrier there is gone", || carriers(&stage.server) == 0).await;
        for file in [go.as_path(), &gone] {
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_04_where_nobody_comes_back_the_program_is_lost_here_and_ended_there() {
    let Some(mut stage) = Stage::start(TTY, 1, "echo $$; exec sleep 600", "").await else { return };
    stage.read_to(3).await;
    let pid = String::from_utf8_lossy(&stage.output).trim().to_owned();
    assert!(Path::new("/proc").join(&pid).exists());
    stage.gate.shut();
    let (_, exit) = stage.finish().await;
    assert_eq!((exit.code, exit.cause), (None, Cause::Lost));
    until("the program is gone", || !Path::new("/proc").join(&pid).exists()).await;
    until("the carrier there is gone", || carriers(&stage.server) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_01_a_program_that_prints_more_than_is_kept_waits_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let floods = "echo begun; while [ ! -e $1/go ]; do sleep 0.05; done; i=0
        while [ $i -lt 3000 ]; do i=$((i + 1)); printf '%01023d\\n' $i; echo $i > $1/at.new; mv $1/at.new $1/at; done";
    let Some(mut stage) = Stage::start(PIPES, 60, floods, directory.path().to_str().unwrap()).await else {
        return;
    };
    stage.read_to(6).await;
    stage.gate.shut();
    std::fs::write(directory.path().join("go"), "").unwrap();
    let at = || -> usize {
        let at = std::fs::read_to_string(directory.path().join("at")).unwrap_or_default();
        at.trim().parse().unwrap_or(0)
    };
    // A MiB is kept, and a pipe holds 64 KiB.
    until("so much is printed", || at() >= 1024).await;
    let waits = tokio::time::timeout(Duration::from_millis(500), async {
        while at() <= 1024 + 80 {
            tokio::task::yield_now().await;
        }
    });
    assert!(waits.await.is_err(), "it went on: {}", at());
    stage.gate.open();
    let (output, exit) = stage.finish().await;
    let lines: String = (1..=3000).map(|n| format!("{n:01023}\n")).collect();
    assert!(output == format!("begun\n{lines}"), "{} bytes came", output.len());
    assert_eq!(exit, Exit::exited(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_behind_a_broken_connection_leaves_nothing() {
    let Some(mut stage) = Stage::start(TTY, 60, "echo begun; exec sleep 600", "").await else { return };
    stage.read_to(6).await;
    stage.server.cut();
    let killed = stage.program.control.kill(Duration::ZERO);
    assert_eq!(soon("the kill", killed).await.found, 1);
    let (_, exit) = stage.finish().await;
    assert_eq!(exit, Exit::exited(137));
    until("the carrier there is gone", || carriers(&stage.server) == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_04_where_nothing_carries_programs_they_end_with_their_connection() {
    let only = ["sh", "dd", "stty", "sleep", "grep", "cat"];
    let Some(server) = SshServer::start_with_only(&only) else { return };
    let backend = Arc::new(patient(server.configuration(), Patience::default())).at(HOST).unwrap();
    for io in [TTY, PIPES] {
        let program =
            soon("the start", backend.start(spec(io, "echo begun; exec sleep 600", ""))).await.unwrap();
        assert_eq!(backend.abilities().ends_with, EndsWith::Connection);
        let Started { mut source, mut control, .. } = program;
        let mut room = [0; 64];
        let read = soon("output", poll_fn(|cx| source.poll_read(cx, &mut room))).await.unwrap();
        assert!(room[..read].starts_with(b"begun"), "{io:?}");
        server.cut();
        let exit = poll_fn(|cx| match source.poll_read(cx, &mut room) {
            Poll::Ready(_) => control.poll_exit(cx),
            Poll::Pending => Poll::Pending,
        });
        assert_eq!(soon("the end", exit).await, Exit::lost(), "{io:?}");
        assert_eq!(carriers(&server), 0);
    }
}
