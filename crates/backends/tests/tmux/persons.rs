//! tmux is shared with people: their panes, their hands, their commands.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use ptyard_core::{Cause, Exit, Size};
use ptyard_terminal::backend::{Backend, Io, Placing, Sink, StartSpec, Started};
use ptyard_testkit::{any_id, soon};

use crate::server::TestServer;

pub(crate) fn spec(argv: &[&str]) -> StartSpec {
    StartSpec {
        id: any_id(),
        argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
        cwd: "/".into(),
        env: Default::default(),
        io: Io::Tty(Size::DEFAULT),
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    }
}

/// Reads until `text` has come.
pub(crate) async fn read_until(program: &mut Started, text: &str) -> String {
    let (mut all, mut room) = (Vec::new(), [0; 4096]);
    soon(text, async {
        while !String::from_utf8_lossy(&all).contains(text) {
            let read = poll_fn(|cx| program.source.poll_read(cx, &mut room)).await.unwrap();
            assert!(read > 0, "{:?}", String::from_utf8_lossy(&all));
            all.extend_from_slice(&room[..read]);
        }
    })
    .await;
    String::from_utf8(all).unwrap()
}

pub(crate) async fn write(sink: &mut dyn Sink, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let written = soon("a write", poll_fn(|cx| sink.poll_write(cx, bytes))).await.unwrap();
        bytes = &bytes[written..];
    }
}

/// Begins to write, and does not wait for what was taken.
async fn begin(sink: &mut dyn Sink, bytes: &[u8]) {
    let tried = poll_fn(|cx| Poll::Ready(sink.poll_write(cx, bytes).is_pending())).await;
    assert!(tried, "tmux has answered by now");
}

pub(crate) async fn exit(program: &mut Started) -> Exit {
    let Started { source, control, .. } = program;
    let mut room = [0; 4096];
    // The end comes with the output, so whoever waits for it reads.
    let both = poll_fn(|cx| {
        while let Poll::Ready(Ok(1..)) = source.poll_read(cx, &mut room) {}
        control.poll_exit(cx)
    });
    soon("the end", both).await
}

#[tokio::test]
async fn a_pane_is_taken_over_with_its_history_and_given_back() {
    let Some(server) = TestServer::new() else { return };
    server.tmux(&[
        "new-session",
        "-d",
        "-s",
        "work",
        "-x",
        "80",
        "-y",
        "24",
        "sh -c 'echo before; exec cat'",
    ]);
    // A name that the other one begins with: exactly the right one is taken.
    server.tmux(&["new-session", "-d", "-s", "work-2", "exec sleep 600"]);
    let pid: u32 = server.tmux(&["display-message", "-p", "-t", "=work:0.0", "#{pane_pid}"]).parse().unwrap();
    let backend = Arc::new(server.backend()).at("work:0.0").unwrap();
    let mut program = backend.start(spec(&["taken-over"])).await.unwrap();
    assert_eq!(program.pid, Some(pid));
    read_until(&mut program, "before").await;
    let mut sink = program.sink.take().unwrap();
    write(&mut *sink, b"hello\r").await;
    read_until(&mut program, "hello").await;
    // A person types into the same pane.
    server.tmux(&["send-keys", "-t", "=work:0.0", "person", "Enter"]);
    read_until(&mut program, "person").await;
    drop((program, sink));
    let lives = server.tmux(&["display-message", "-p", "-t", "=work:0.0", "#{pane_pid} #{pane_dead}"]);
    assert_eq!(lives, format!("{pid} 0"));
}

#[tokio::test]
async fn a_pane_that_is_not_there_is_refused() {
    let Some(server) = TestServer::new() else { return };
    server.tmux(&["new-session", "-d", "-s", "work-2", "exec sleep 600"]);
    let backend = Arc::new(server.backend()).at("work:0.0").unwrap();
    let error = backend.start(spec(&["x"])).await.err().unwrap();
    assert_eq!(error.code, ptyard_core::ErrorCode::PlaceNotFound, "{error}");
}

#[tokio::test]
async fn typing_reaches_the_program_while_a_person_scrolls() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut program =
        backend.start(spec(&["sh", "-c", "echo ready; read -r line; echo got-$line"])).await.unwrap();
    read_until(&mut program, "ready").await;
    let panes = server.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
    let pane = panes.lines().last().unwrap();
    server.tmux(&["copy-mode", "-t", pane]);
    let mut sink = program.sink.take().unwrap();
    write(&mut *sink, b"text\r").await;
    read_until(&mut program, "got-text").await;
    assert_eq!(exit(&mut program).await, Exit::exited(0));
}

/// The program may answer before anybody looks whether the write was taken: that is from after it all the same.
#[tokio::test]
async fn law_09_what_a_program_answers_is_from_after_the_write_that_it_answers() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let script = "stty -echo; echo ready; read -r _; printf 0123456789; exec sleep 600";
    let mut program = backend.start(spec(&["sh", "-c", script])).await.unwrap();
    read_until(&mut program, "ready\r\n").await;
    let mut sink = program.sink.take().unwrap();
    begin(&mut *sink, b"a\r").await;
    assert!(sink.is_under_way());
    assert_eq!(read_until(&mut program, "789").await, "0123456789");
    assert_eq!(soon("the write", poll_fn(|cx| sink.poll_write(cx, b"a\r"))).await.unwrap(), 2);
    assert_eq!((sink.is_under_way(), sink.run_ahead()), (false, 10));
}

#[tokio::test]
async fn a_write_that_is_given_up_takes_nothing_from_the_next_one() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut program =
        backend.start(spec(&["sh", "-c", "echo ready; read -r line; echo got-$line"])).await.unwrap();
    read_until(&mut program, "ready").await;
    let mut sink = program.sink.take().unwrap();
    begin(&mut *sink, b"one-").await;
    write(&mut *sink, b"other\r").await;
    read_until(&mut program, "got-one-other").await;
}

#[tokio::test]
async fn a_server_that_is_killed_loses_its_programs_and_the_next_one_runs_more() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut program = backend.start(spec(&["sh", "-c", "echo ready; sleep 600"])).await.unwrap();
    read_until(&mut program, "ready").await;
    server.tmux(&["kill-server"]);
    let lost = exit(&mut program).await;
    assert_eq!((lost.code, lost.signal, lost.cause), (None, None, Cause::Lost));
    let mut again = backend.start(spec(&["sh", "-c", "echo again"])).await.unwrap();
    read_until(&mut again, "again").await;
    assert_eq!(exit(&mut again).await, Exit::exited(0));
}

/// Kill-window tells of a window, kill-pane of one of several panes tells of a layout.
#[tokio::test]
async fn a_pane_that_a_person_closes_is_a_program_that_is_lost() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut program = backend.start(spec(&["sh", "-c", "echo ready; exec sleep 600"])).await.unwrap();
    read_until(&mut program, "ready").await;
    let panes = server.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
    server.tmux(&["kill-pane", "-t", panes.lines().last().unwrap()]);
    assert_eq!(exit(&mut program).await, Exit::lost());
    let mut split = backend.start(spec(&["sh", "-c", "echo ready; exec sleep 600"])).await.unwrap();
    read_until(&mut split, "ready").await;
    let panes = server.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
    let pane = panes.lines().last().unwrap();
    server.tmux(&["split-window", "-d", "-t", pane, "exec sleep 600"]);
    server.tmux(&["kill-pane", "-t", pane]);
    assert_eq!(exit(&mut split).await, Exit::lost());
    let mut again = backend.start(spec(&["sh", "-c", "echo again"])).await.unwrap();
    read_until(&mut again, "again").await;
}

#[tokio::test]
async fn answers_stay_with_their_commands_when_a_person_scrolls() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let mut program = backend.start(spec(&["sh", "-c", "stty -echo; echo ready; exec cat"])).await.unwrap();
    read_until(&mut program, "ready").await;
    let panes = server.tmux(&["list-panes", "-a", "-F", "#{pane_id}"]);
    let pane = panes.lines().last().unwrap();
    let mut sink = program.sink.take().unwrap();
    for n in 0..10 {
        server.tmux(&["copy-mode", "-t", pane]);
        write(&mut *sink, format!("line-{n}\r").as_bytes()).await;
        read_until(&mut program, &format!("line-{n}")).await;
        // Its own answer, not that of a command before it.
        let script = format!("echo beside-{n}");
        let mut beside = backend.start(spec(&["sh", "-c", &script])).await.unwrap();
        read_until(&mut beside, &format!("beside-{n}")).await;
    }
}
