//! Many starts, one after the other, on a machine that has other things to do.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ptyard_core::{ErrorCode, Exit};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::soon;

use crate::persons::{exit, read_until, spec};
use crate::server::TestServer;

/// Processes that keep every processor busy until this is dropped.
struct Load(Vec<Child>);

impl Load {
    fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        Self((0..cores * 2).filter_map(|_| busy().ok()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// Starts programs that end by themselves: what they print and their code have to come, every time.
async fn starts(count: i32) {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let _load = Load::new();
    for n in 0..count {
        let script = format!("echo hello-{n}; exit {}", n % 100);
        let started = soon(&format!("start {n}"), backend.start(spec(&["sh", "-c", &script]))).await;
        let mut program = started.unwrap_or_else(|error| panic!("start {n}: {error}"));
        read_until(&mut program, &format!("hello-{n}")).await;
        assert_eq!(exit(&mut program).await, Exit::exited(n % 100), "start {n}");
    }
}

#[tokio::test]
async fn starts_in_a_row_are_all_answered() {
    starts(20).await;
}

#[ignore = "takes a minute"]
#[tokio::test]
async fn two_hundred_starts_in_a_row_are_all_answered() {
    starts(200).await;
}

/// Servers that come and go: each start is the first of a server, and the server before it is just being killed.
async fn first_starts(count: i32) {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let _load = Load::new();
    for n in 0..count {
        let script = format!("echo hello-{n}; sleep 600");
        let started = soon(&format!("start {n}"), backend.start(spec(&["sh", "-c", &script]))).await;
        let mut program = started.unwrap_or_else(|error| panic!("start {n}: {error}"));
        read_until(&mut program, &format!("hello-{n}")).await;
        server.tmux(&["kill-server"]);
        assert_eq!(exit(&mut program).await, Exit::lost(), "start {n}");
    }
}

#[tokio::test]
async fn the_first_starts_of_servers_are_all_answered() {
    first_starts(5).await;
}

#[ignore = "takes a minute"]
#[tokio::test]
async fn a_hundred_first_starts_of_servers_are_all_answered() {
    first_starts(100).await;
}

/// Refusals are the last that a shell says: tmux forgets what a pane printed that is gone before a client was told.
async fn refusals(count: usize) {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let _load = Load::new();
    for n in 0..count {
        let refused = soon(&format!("refusal {n}"), backend.start(spec(&["no-such-program-here"]))).await;
        assert_eq!(refused.err().map(|error| error.code), Some(ErrorCode::ProgramNotFound), "refusal {n}");
    }
}

#[tokio::test]
async fn refusals_in_a_row_are_all_told() {
    refusals(20).await;
}

#[ignore = "takes a minute"]
#[tokio::test]
async fn two_hundred_refusals_in_a_row_are_all_told() {
    refusals(200).await;
}
