//! The local backend conforms, under both containments.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptyard_core::TerminalId;
use ptyard_terminal::backend::Placing;
use ptyard_terminal::local::env::clean_environment;
use ptyard_testkit::conformance::{Ground, run};

use crate::support::{TTY, backend, containments};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_local_backend_conforms() {
    for containment in containments() {
        let ground = Ground {
            label: "local",
            backend: Arc::new(backend(containment)),
            env: clean_environment(TerminalId::from_bits(1), &BTreeMap::new(), &BTreeMap::new(), TTY),
            cwd: "/".into(),
            placing: Placing::Loose,
            cut: None,
        };
        run(ground).await.hold_to_page();
    }
}
