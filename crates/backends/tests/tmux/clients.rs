//! The client of ours is killed, and its server lives.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use ptyard_core::{ErrorCode, Exit};
use ptyard_terminal::backend::{Backend, Placing, StartSpec};
use ptyard_testkit::vendors::play::{any_id, finish};
use ptyard_testkit::{PATIENCE, soon, until};
use rustix::process::{Pid, Signal, kill_process};

use crate::persons::{exit, read_until, spec, write};
use crate::server::TestServer;

/// What a log says where nobody listened.
const TOLD: &str = "[ptyard: nobody listened for a while";

fn signal(pid: &str, signal: Signal) {
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), signal).unwrap();
}

impl TestServer {
    /// The process of the client of ours, which is the only one, and not the one that was killed before.
    async fn client_after(&self, before: &str) -> String {
        let mut client = String::new();
        until("there is a client", || {
            client = self.tmux(&["list-clients", "-F", "#{client_pid}"]);
            !client.is_empty() && client != before && !client.contains('\n')
        })
        .await;
        client
    }

    async fn client(&self) -> String {
        self.client_after("").await
    }

    /// How many windows there are besides the one that keeps the session.
    fn windows(&self) -> usize {
        self.tmux(&["list-windows", "-a", "-F", "x"]).lines().count() - 1
    }
}

/// A program that no other test has, so that its processes are told from theirs.
fn program(script: &str) -> StartSpec {
    let id = any_id();
    let env = [("PTYARD_TERMINAL".to_owned(), id.to_string())].into();
    StartSpec { id, env, ..spec(&["sh", "-c", script]) }
}

#[tokio::test]
async fn law_04_a_client_that_is_killed_takes_no_program_with_it() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut programs = Vec::new();
    for (n, placing) in [Placing::Exact, Placing::Loose].into_iter().enumerate() {
        let script = format!("echo ready-{n}; read -r x; echo $x-got; read -r x; exit 4{n}");
        let spec = StartSpec { placing, ..program(&script) };
        let mut program = soon("a start", backend.start(spec)).await.unwrap();
        read_until(&mut program, &format!("ready-{n}")).await;
        programs.push(program);
    }
    let first = server.client().await;
    signal(&first, Signal::KILL);
    for program in &mut programs {
        let told = read_until(program, TOLD).await;
        assert!(
            !told.split(TOLD).next().unwrap().contains("ready"),
            "what was printed came before: {told:?}"
        );
        let mut sink = program.sink.take().unwrap();
        write(&mut *sink, b"abc\r").await;
        read_until(program, "abc-got").await;
        program.sink = Some(sink);
    }
    // And again, with a new one beside them.
    signal(&server.client_after(&first).await, Signal::KILL);
    let mut third = soon("a start", backend.start(program("echo third; exit 3"))).await.unwrap();
    read_until(&mut third, "third").await;
    assert_eq!(exit(&mut third).await, Exit::exited(3));
    for (n, program) in programs.iter_mut().enumerate() {
        write(&mut **program.sink.as_mut().unwrap(), b"\r").await;
        let (_, ended) = finish(program).await;
        assert_eq!(ended, Exit::exited(40 + n as i32));
    }
    until("no pane is left", || server.windows() == 0).await;
}

#[tokio::test]
async fn law_04_who_ends_while_no_client_listens_is_told_with_its_code() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut program = soon("a start", backend.start(program("echo ready; read -r x; exit 9"))).await.unwrap();
    read_until(&mut program, "ready").await;
    let pid = program.pid.unwrap();
    let (client, panes) = (server.client().await, server.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]));
    signal(&client, Signal::STOP);
    signal(&client, Signal::KILL);
    server.tmux(&["send-keys", "-t", panes.lines().last().unwrap(), "Enter"]);
    // Nothing else goes on meanwhile.
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        std::thread::yield_now();
    }
    let (_, ended) = finish(&mut program).await;
    assert_eq!(ended, Exit::exited(9));
    until("no pane is left", || server.windows() == 0).await;
}

#[tokio::test]
async fn law_13_what_is_typed_while_the_client_is_killed_is_typed_once() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let script = "stty -echo; echo ready; while read -r x && [ \"$x\" ]; do echo \"<$x>\"; done; exit 5";
    let mut program = soon("a start", backend.start(program(script))).await.unwrap();
    read_until(&mut program, "ready").await;
    let mut sink = program.sink.take().unwrap();
    let (rounds, mut client) = (12, String::new());
    for n in 0..rounds {
        client = server.client_after(&client).await;
        let line = format!("line-{n}\r");
        // Under way, and answered or not, or not even heard.
        let first = poll_fn(|cx| Poll::Ready(sink.poll_write(cx, line.as_bytes()))).await;
        assert!(first.is_pending());
        for _ in 0..n * 20 {
            tokio::task::yield_now().await;
        }
        signal(&client, Signal::KILL);
        write(&mut *sink, line.as_bytes()).await;
        read_until(&mut program, &format!("<line-{n}>")).await;
    }
    let shown = server.tmux(&["capture-pane", "-p", "-S", "-", "-t", "ptyard:1"]);
    let lines: Vec<_> = shown.lines().filter(|line| line.starts_with('<')).map(str::to_owned).collect();
    let expected: Vec<_> = (0..rounds).map(|n| format!("<line-{n}>")).collect();
    assert_eq!(lines, expected);
    write(&mut *sink, b"\r").await;
    assert_eq!(exit(&mut program).await, Exit::exited(5));
}

#[tokio::test]
async fn a_start_whose_client_is_killed_fails_or_goes_on_and_leaves_nothing() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut bystander =
        soon("a start", backend.start(program("echo ready; read -r x; exit 1"))).await.unwrap();
    read_until(&mut bystander, "ready").await;
    let (mut failed, mut client) = (0, String::new());
    for n in 1..25 {
        client = server.client_after(&client).await;
        let spec = program("echo hello; exit 6");
        let starting = tokio::spawn({
            let backend = Arc::clone(&backend);
            async move { backend.start(spec).await }
        });
        // At any moment of it.
        for _ in 0..n * 8 {
            tokio::task::yield_now().await;
        }
        signal(&client, Signal::KILL);
        match soon("a start is answered", starting).await.unwrap() {
            Ok(mut program) => {
                let (_, ended) = finish(&mut program).await;
                assert_eq!(ended, Exit::exited(6), "start {n}");
            }
            Err(error) => {
                failed += 1;
                assert_eq!(error.code, ErrorCode::BackendUnreachable, "start {n}: {error}");
            }
        }
        let mut next = soon("the next start", backend.start(program("exit 2"))).await.unwrap();
        assert_eq!(finish(&mut next).await.1, Exit::exited(2), "start {n}");
        read_until(&mut bystander, TOLD).await;
    }
    eprintln!("{failed} of 24 starts failed");
    until("nothing but the bystander's pane is left", || server.windows() == 1).await;
    write(&mut **bystander.sink.as_mut().unwrap(), b"\r").await;
    assert_eq!(exit(&mut bystander).await, Exit::exited(1));
}

/// The server does not get to the command of the start before its client is killed.
#[tokio::test]
async fn a_start_that_was_never_heard_of_goes_on_over_the_next_client() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut bystander = soon("a start", backend.start(program("echo ready; exec cat"))).await.unwrap();
    read_until(&mut bystander, "ready").await;
    let (client, process) = (server.client().await, server.tmux(&["display-message", "-p", "#{pid}"]));
    signal(&process, Signal::STOP);
    let starting = tokio::spawn({
        let backend = Arc::clone(&backend);
        async move { backend.start(program("exit 6")).await }
    });
    tokio::task::yield_now().await;
    signal(&client, Signal::KILL);
    signal(&process, Signal::CONT);
    let mut started = soon("an answer", starting).await.unwrap().unwrap();
    assert_eq!(finish(&mut started).await.1, Exit::exited(6));
    read_until(&mut bystander, TOLD).await;
    until("nothing but the bystander's pane is left", || server.windows() == 1).await;
}

#[tokio::test]
async fn a_client_is_gone_with_its_process_also_at_a_server_that_stands_still() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut bystander = soon("a start", backend.start(program("echo ready; exec cat"))).await.unwrap();
    read_until(&mut bystander, "ready").await;
    let (client, process) = (server.client().await, server.tmux(&["display-message", "-p", "#{pid}"]));
    signal(&process, Signal::STOP);
    signal(&client, Signal::KILL);
    let ended = tokio::time::timeout(PATIENCE, finish(&mut bystander)).await;
    signal(&process, Signal::CONT);
    assert_eq!(ended.expect("its end is told").1, Exit::lost());
}

#[tokio::test]
async fn a_flood_goes_on_behind_a_client_that_is_killed() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let lines = 100_000;
    let mut program =
        soon("a start", backend.start(program(&format!("seq 1 {lines}; exit 7")))).await.unwrap();
    let mut all = read_until(&mut program, "\n1000\r\n").await;
    signal(&server.client().await, Signal::KILL);
    let (more, ended) = finish(&mut program).await;
    all += &more;
    assert_eq!(ended, Exit::exited(7));
    let at = all.find(TOLD).expect("it is told");
    let before = all[..at].rfind("\x1b[?1049l").unwrap();
    let expected: String = (1..=lines).map(|n| format!("{n}\r\n")).collect();
    assert!(expected.starts_with(&all[..before]), "nothing is missing before it is told");
    // What comes behind is in order, and has the end.
    let number = |line: &str| line.trim_end_matches("\x1b[0m").parse::<u32>().ok();
    let behind: Vec<_> = all[at..].split(['\r', '\n']).filter_map(number).collect();
    assert!(behind.is_sorted(), "{behind:?}");
    assert_eq!(behind.last(), Some(&lines));
    let gap = behind[0] - expected[..before].lines().count() as u32;
    eprintln!("{before} bytes before, {gap} lines not heard");
}

#[tokio::test]
async fn a_person_who_sends_our_client_away_gets_another_one() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut program = soon("a start", backend.start(program("echo ready; read -r x; exit 8"))).await.unwrap();
    read_until(&mut program, "ready").await;
    server.tmux(&["detach-client", "-s", "ptyard"]);
    read_until(&mut program, TOLD).await;
    write(&mut **program.sink.as_mut().unwrap(), b"\r").await;
    assert_eq!(exit(&mut program).await, Exit::exited(8));
}

#[tokio::test]
async fn an_adopted_pane_stays_adopted_when_the_client_is_killed() {
    let Some(server) = TestServer::new() else { return };
    server.tmux(&["new-session", "-d", "-s", "work", "-x", "80", "-y", "24", "exec sh"]);
    server.tmux(&["set-option", "-t", "work", "remain-on-exit", "on"]);
    let backend = Arc::new(server.backend()).at("work:0.0").unwrap();
    let mut program = soon("an adoption", backend.start(spec(&["x"]))).await.unwrap();
    let mut sink = program.sink.take().unwrap();
    write(&mut *sink, b"echo one-$((1))\r").await;
    read_until(&mut program, "one-1").await;
    signal(&server.client().await, Signal::KILL);
    write(&mut *sink, b"echo two-$((2))\r").await;
    read_until(&mut program, "two-2").await;
    write(&mut *sink, b"exit 6\r").await;
    assert_eq!(exit(&mut program).await, Exit::exited(6));
}
