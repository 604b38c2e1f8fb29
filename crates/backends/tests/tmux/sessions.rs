//! Sessions that are made for programs, and the people who attach to them.

use std::future::poll_fn;
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::sync::Arc;

use ptyard_core::{ErrorCode, Exit, Size};
use ptyard_terminal::backend::{Backend, StartSpec};
use ptyard_testkit::{any_id, soon, until};

use crate::persons::{exit, read_until, spec};
use crate::server::TestServer;

/// A program of one terminal of several, and what people see it called.
fn titled(title: &str, script: &str) -> StartSpec {
    let plain = spec(&["sh", "-c", script]);
    StartSpec { id: any_id(), title: Some(title.to_owned()), ..plain }
}

fn at(server: &TestServer, place: &str) -> Arc<dyn Backend> {
    Arc::new(server.backend()).at(place).unwrap()
}

fn windows(server: &TestServer, session: &str) -> String {
    server.tmux(&["list-windows", "-t", &format!("={session}"), "-F", "#{window_name}"])
}

/// A person's client of a session, with a screen of this size.
struct Person(Child);

impl Person {
    fn attach(server: &TestServer, session: &str, size: &str) -> Self {
        let mut command = server.command();
        let command = command.args(["-C", "attach-session", "-t", session]).stdin(Stdio::piped());
        let mut client = command.stdout(Stdio::null()).spawn().unwrap();
        writeln!(client.stdin.as_mut().unwrap(), "refresh-client -C {size}").unwrap();
        Self(client)
    }

    fn leave(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn a_session_is_made_with_its_first_program_and_goes_with_its_last() {
    let Some(server) = TestServer::new() else { return };
    let backend = at(&server, "session=cao-team");
    let mut first = backend.start(titled("boss-1a2b", "echo ready; read -r code; exit $code")).await.unwrap();
    read_until(&mut first, "ready").await;
    let mut second = backend.start(titled("it's \"x\" #1", "echo ready; exec sleep 600")).await.unwrap();
    read_until(&mut second, "ready").await;
    assert_eq!(windows(&server, "cao-team"), "boss-1a2b\nit's \"x\" #1");
    let current = server.tmux(&["display-message", "-p", "-t", "=cao-team:", "#{window_name}"]);
    assert_eq!(current, "boss-1a2b", "who attaches sees the first");
    drop(second);
    until("its window goes", || windows(&server, "cao-team") == "boss-1a2b").await;
    server.tmux(&["send-keys", "-t", "=cao-team:", "7", "Enter"]);
    assert_eq!(exit(&mut first).await, Exit::exited(7));
    drop(first);
    let left = server.tmux(&["list-windows", "-a", "-F", "#{session_name}:#{window_name}"]);
    assert_eq!(left, "ptyard:ptyard");
    // The session of our client goes with it.
    drop(backend);
    until("the server goes", || !server.command().arg("has-session").output().unwrap().status.success())
        .await;
}

#[tokio::test]
async fn programs_that_start_at_once_share_the_session() {
    let Some(server) = TestServer::new() else { return };
    let backend = at(&server, "session=many");
    let starts = (0..6).map(|n| {
        let spec = titled(&format!("w{n}"), "echo ready; exec sleep 600");
        let backend = Arc::clone(&backend);
        tokio::spawn(async move { backend.start(spec).await })
    });
    let mut running = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        running.push(soon("a start", start).await.unwrap().unwrap());
    }
    let mut names: Vec<_> = windows(&server, "many").lines().map(str::to_owned).collect();
    names.sort();
    assert_eq!(names, ["w0", "w1", "w2", "w3", "w4", "w5"]);
}

#[tokio::test]
async fn a_window_has_the_size_of_whoever_attaches() {
    let Some(server) = TestServer::new() else { return };
    let backend = at(&server, "session=seen");
    let script = "echo ready; while read -r _; do stty size; done";
    let mut program = backend.start(titled("shell", script)).await.unwrap();
    read_until(&mut program, "ready").await;
    let size = || server.tmux(&["display-message", "-p", "-t", "=seen:", "#{window_width}x#{window_height}"]);
    assert_eq!(size(), "80x24");
    let person = Person::attach(&server, "seen", "100x30");
    until("the person's size", || size() == "100x30").await;
    let wanted = Size::new(100, 30).unwrap();
    while soon("the size is told", poll_fn(|cx| program.control.poll_size(cx))).await != wanted {}
    // While somebody looks on, nobody else's wish counts.
    program.control.resize(Size::new(90, 20).unwrap()).unwrap();
    server.tmux(&["send-keys", "-t", "=seen:", "Enter"]);
    read_until(&mut program, "30 100").await;
    person.leave();
    program.control.resize(Size::new(90, 20).unwrap()).unwrap();
    until("the size that was asked for", || size() == "90x20").await;
}

#[tokio::test]
async fn programs_go_with_a_session_that_a_person_ends() {
    let Some(server) = TestServer::new() else { return };
    let backend = at(&server, "session=ended");
    let mut program = backend.start(titled("sleeper", "echo ready; exec sleep 600")).await.unwrap();
    read_until(&mut program, "ready").await;
    server.tmux(&["kill-session", "-t", "=ended"]);
    assert_eq!(exit(&mut program).await, Exit::lost());
    let mut again = backend.start(titled("again", "echo again")).await.unwrap();
    read_until(&mut again, "again").await;
    assert_eq!(exit(&mut again).await, Exit::exited(0));
}

#[tokio::test]
async fn a_session_that_somebody_else_made_is_left_alone() {
    let Some(server) = TestServer::new() else { return };
    server.tmux(&["new-session", "-d", "-s", "theirs", "exec sleep 600"]);
    let tmux = Arc::new(server.backend());
    let at = |place: &str| Arc::clone(&tmux).at(place).unwrap();
    let refused = at("session=theirs").start(titled("x", "true")).await.err().unwrap();
    assert_eq!(refused.code, ErrorCode::NameTaken, "{refused}");
    assert!(refused.message.contains("kill-session -t =theirs"), "{refused}");
    assert_eq!(windows(&server, "theirs").lines().count(), 1);
    // One whose name only begins so is another one.
    let mut program = at("session=their").start(titled("x", "echo ready; read -r _")).await.unwrap();
    read_until(&mut program, "ready").await;
    // Windows in it are had by asking for them.
    let backend = at("theirs");
    let mut guest = backend.start(titled("guest", "echo ready; exec sleep 600")).await.unwrap();
    read_until(&mut guest, "ready").await;
    assert!(windows(&server, "theirs").ends_with("guest"));
}
