//! Panes of herdr conform.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptyard_core::{Size, TerminalId};
use ptyard_terminal::backend::{Io, Placing};
use ptyard_terminal::local::env::clean_environment;
use ptyard_testkit::conformance::{Ground, run_abreast};

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panes_conform() {
    let stage = Arc::new(Stage::new());
    let herdr = Arc::clone(&stage);
    let tty = Io::Tty(Size::DEFAULT);
    let ground = Ground {
        label: "herdr",
        backend: Arc::clone(&stage.backend),
        env: clean_environment(TerminalId::from_bits(1), &BTreeMap::new(), &BTreeMap::new(), tty),
        cwd: "/".into(),
        placing: Placing::Loose,
        cut: Some(Box::new(move || {
            herdr.herdr.stop();
            herdr.herdr.start_again();
            Box::pin(async {})
        })),
    };
    run_abreast(ground, 3).await.hold_to_page();
}
