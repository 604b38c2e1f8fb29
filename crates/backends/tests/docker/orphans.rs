//! What a server that was killed leaves in containers is ended by the next one.

use std::sync::Arc;
use std::time::Duration;

use ptyard_backends::docker::{Address, Docker};
use ptyard_core::{Size, TerminalId};
use ptyard_terminal::backend::{Backend, Ceilings, Io, Orphan, Placing, StartSpec};
use ptyard_testkit::places::docker::{Engine, IMAGE};
use ptyard_testkit::soon;

use crate::carrier;

fn spec(id: TerminalId) -> StartSpec {
    StartSpec {
        id,
        argv: ["sh", "-c", "sleep 54321"].map(str::to_owned).to_vec(),
        cwd: "/".into(),
        env: [("PTYARD_TERMINAL".to_owned(), id.to_string())].into(),
        io: Io::Tty(Size::DEFAULT),
        ceilings: Ceilings::default(),
        title: None,
        placing: Placing::Exact,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_of_a_server_that_was_killed_are_ended_by_the_next() {
    let Some(engine) = Engine::start() else { return };
    engine.docker(&["run", "--detach", "--init", "--name", "there", IMAGE, "sleep", "100000"]);
    let address = || Address::Unix(engine.socket());
    for (place, bits) in [(IMAGE, 1_u128), ("container=there", 2)] {
        let id = TerminalId::from_bits(bits);
        let before = Arc::new(Docker::new(address(), carrier())).at(place).unwrap();
        let started = soon("the start", before.start(spec(id))).await.unwrap();
        // As if killed: nothing of it is dropped.
        std::mem::forget(started);
        let sleeping = || {
            let containers = engine.docker(&["ps", "--quiet"]);
            let shows = |container| engine.ask(&["top", container]).is_some_and(|top| top.contains("54321"));
            containers.lines().any(shows)
        };
        assert!(sleeping(), "{place}");
        let next = Arc::new(Docker::new(address(), carrier())).at(place).unwrap();
        let orphan = Orphan {
            id,
            io: Io::Tty(Size::DEFAULT),
            logged: 0,
            last: Vec::new(),
            has_ended: false,
            kept: None,
        };
        assert!(next.take_up(orphan).is_none());
        soon("its end", async {
            while sleeping() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
}
