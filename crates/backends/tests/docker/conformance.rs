//! Both kinds of places conform.

use std::sync::Arc;

use ptyard_backends::docker::{Address, Docker};
use ptyard_terminal::backend::{Backend, Placing};
use ptyard_testkit::conformance::{Ground, run_abreast};
use ptyard_testkit::places::docker::{Engine, IMAGE};
use ptyard_testkit::soon;

use crate::carrier;
use crate::proxy::Proxy;

fn ground(label: &'static str, place: &str, proxy: &Proxy) -> Ground {
    let docker = Arc::new(Docker::new(Address::Unix(proxy.socket()), carrier()));
    let proxy = proxy.clone();
    Ground {
        label,
        backend: docker.at(place).unwrap(),
        env: [("TERM".to_owned(), "xterm-256color".to_owned())].into(),
        cwd: "/".into(),
        placing: Placing::Loose,
        cut: Some(Box::new(move || {
            let proxy = proxy.clone();
            Box::pin(async move { proxy.cut().await })
        })),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn containers_conform() {
    let Some(engine) = Engine::start() else { return };
    let proxy = Proxy::before(&engine.socket());
    run_abreast(ground("docker:IMAGE", IMAGE, &proxy), 2).await.hold_to_page();
    soon("no container is left", async {
        while !engine.docker(&["ps", "--all", "--quiet"]).is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;

    engine.docker(&["run", "--detach", "--init", "--name", "there", IMAGE, "sleep", "100000"]);
    run_abreast(ground("docker:container=NAME", "container=there", &proxy), 2).await.hold_to_page();
    // The headings, the init and its sleep; the last programs are still being looked after when their case ends.
    soon("no process is left", async {
        while engine.docker(&["top", "there"]).lines().count() > 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
