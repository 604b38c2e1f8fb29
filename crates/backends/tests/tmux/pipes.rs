//! The output of programs of which nobody needs to know where something was typed.

use std::sync::Arc;

use ptyard_core::Exit;
use ptyard_terminal::backend::{Backend, Placing, StartSpec};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::play::any_id;

use crate::persons::{exit, read_until, spec, write};
use crate::server::TestServer;

const CAT: &[&str] = &["sh", "-c", "stty raw -echo; printf ready; exec cat"];

/// The panes that have a pipe.
fn piped(server: &TestServer) -> String {
    server.tmux(&["list-panes", "-a", "-f", "#{pane_pipe}", "-F", "#{pane_id}"])
}

#[tokio::test]
async fn only_where_the_place_of_a_write_does_not_matter_output_comes_by_a_pipe() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    for (placing, pipes) in [(Placing::Exact, 0), (Placing::Loose, 1)] {
        let spec = StartSpec { id: any_id(), placing, ..spec(CAT) };
        let mut program = soon("a start", backend.start(spec)).await.unwrap();
        read_until(&mut program, "ready").await;
        assert_eq!(piped(&server).lines().count(), pipes, "{placing:?}");
        let sink = program.sink.as_mut().unwrap();
        write(&mut **sink, b"typed").await;
        read_until(&mut program, "typed").await;
        // What came by the pipe is not counted as what the client was told: nothing ran ahead of anything.
        assert_eq!(program.sink.as_mut().unwrap().run_ahead(), if pipes == 0 { 5 } else { 0 });
    }
}

#[tokio::test]
async fn law_01_a_pipe_that_somebody_takes_for_himself_is_told_and_the_output_goes_on() {
    let Some(server) = TestServer::new() else { return };
    let backend = Arc::new(server.backend());
    let spec = StartSpec { id: any_id(), placing: Placing::Loose, ..spec(CAT) };
    let mut program = soon("a start", backend.start(spec)).await.unwrap();
    read_until(&mut program, "ready").await;
    let pane = piped(&server);
    server.tmux(&["pipe-pane", "-O", "-t", &pane, "exec cat >/dev/null"]);
    read_until(&mut program, "[ptyard: the pipe of this pane is somebody else's now").await;
    // Until the client is told again: what is printed before that is missing, as the line says.
    let mut sink = program.sink.take().unwrap();
    tokio::select! {
        _heard = read_until(&mut program, "a") => {}
        () = async { loop { write(&mut *sink, b"a").await } } => {}
    }
    program.sink = Some(sink);
    assert_eq!(piped(&server), pane, "it is theirs");
    server.tmux(&["kill-pane", "-t", &pane]);
    assert_eq!(exit(&mut program).await, Exit::lost());
}
