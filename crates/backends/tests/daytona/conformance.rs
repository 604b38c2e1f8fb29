//! Both kinds of places conform.

use std::sync::Arc;

use ptyard_backends::daytona::{Daytona, Settings};
use ptyard_terminal::backend::Backend;
use ptyard_testkit::conformance::{Ground, run_some};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::daytona::DaytonaServer;

pub(crate) fn backend(server: &DaytonaServer) -> Arc<Daytona> {
    let variables = server.variables();
    Arc::new(Daytona::new(Settings::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    })))
}

fn ground(label: &'static str, place: &str, server: &Arc<DaytonaServer>) -> Ground {
    let cut = Arc::clone(server);
    Ground {
        label,
        backend: backend(server).at(place).unwrap(),
        env: [("TERM".to_owned(), "xterm-256color".to_owned())].into(),
        cwd: "/".into(),
        cut: Some(Box::new(move || {
            cut.cut();
            Box::pin(async {})
        })),
    }
}

/// Cases that are wanted, for one's own eyes: `CASES=law_04 cargo test ...`.
fn wanted(name: &str) -> bool {
    std::env::var("CASES").map_or(true, |part| name.contains(&part))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_of_their_own_conform() {
    let server = Arc::new(DaytonaServer::start().await);
    run_some(ground("daytona:SNAPSHOT", "base", &server), wanted).await.hold_to_page();
    soon("no sandbox is left", async {
        while !server.sandboxes().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sandboxes_that_are_there_conform() {
    let server = Arc::new(DaytonaServer::start().await);
    let place = format!("sandbox={}", server.sandbox());
    run_some(ground("daytona:sandbox=ID", &place, &server), wanted).await.hold_to_page();
    assert_eq!(server.sandboxes().len(), 1, "somebody else's sandbox stays");
    soon("no terminal is left", async {
        while server.terminals() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
