//! Panes conform.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptyard_core::{Size, TerminalId};
use ptyard_terminal::backend::{Io, Placing};
use ptyard_terminal::local::env::clean_environment;
use ptyard_testkit::conformance::{Ground, run_abreast};

use crate::server::TestServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panes_conform() {
    conform(Placing::Loose).await;
}

/// As agents are started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panes_conform_where_the_place_of_every_write_is_known() {
    conform(Placing::Exact).await;
}

async fn conform(placing: Placing) {
    let Some(server) = TestServer::new() else { return };
    let server = Arc::new(server);
    let killed = Arc::clone(&server);
    let tty = Io::Tty(Size::DEFAULT);
    let ground = Ground {
        label: "tmux",
        backend: Arc::new(server.backend()),
        env: clean_environment(TerminalId::from_bits(1), &BTreeMap::new(), &BTreeMap::new(), tty),
        cwd: "/".into(),
        placing,
        cut: Some(Box::new(move || {
            killed.tmux(&["kill-server"]);
            Box::pin(async {})
        })),
    };
    run_abreast(ground, 3).await.hold_to_page();
    ptyard_testkit::soon("all windows but the first are gone", async {
        while server.tmux(&["list-windows", "-a", "-F", "#{window_name}"]) != "ptyard" {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
