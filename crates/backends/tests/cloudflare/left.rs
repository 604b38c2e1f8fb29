//! What a server that died left behind is found by the next one that has its list.

use std::sync::Arc;

use ptyard_core::TerminalId;
use ptyard_terminal::backend::Backend;
use ptyard_testkit::soon;
use ptyard_testkit::vendors::cloudflare::CloudflareServer;
use ptyard_testkit::vendors::play::spec;

use crate::conformance::{THEIRS, backend};
use crate::faults::TTY;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_that_died_left_is_on_its_list_until_it_is_ended() {
    let server = Arc::new(CloudflareServer::start().await);
    let state = tempfile::tempdir().unwrap();
    let remembering = |server: &CloudflareServer| {
        Arc::new((*backend(server)).clone().remembering(state.path().join("made")))
    };
    // It dies with its whole runtime: nothing of it is dropped in order, and no task of it goes on.
    let dying = remembering(&server);
    let mut left: Vec<TerminalId> = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let ids = ["".to_owned(), format!("sandbox={THEIRS}")].map(|place| {
            let spec = spec("trap '' HUP; sleep 600", TTY);
            let id = spec.id;
            let place = Arc::clone(&dying).at(&place).unwrap();
            std::mem::forget(runtime.block_on(place.start(spec)).unwrap());
            id
        });
        runtime.shutdown_background();
        ids.into()
    })
    .await
    .unwrap();
    left.sort();
    // And one that ends as it should is not on it.
    let next = remembering(&server);
    drop(soon("a start", Arc::clone(&next).at("").unwrap().start(spec("true", TTY))).await.unwrap());
    let creations = soon("the list is short again", async {
        loop {
            let creations = next.creations().await.unwrap();
            if creations.len() == 2 {
                return creations;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut owners: Vec<TerminalId> = creations.iter().filter_map(|creation| creation.owner).collect();
    owners.sort();
    assert_eq!(owners, left);
    assert!(server.processes() >= 4, "they live: {}", server.processes());
    for creation in creations {
        soon("its end", creation.end).await.unwrap();
    }
    assert_eq!(
        (server.sandboxes(), server.sessions().len(), server.processes()),
        (vec![THEIRS.to_owned()], 0, 0)
    );
    assert!(next.creations().await.unwrap().is_empty(), "what is ended is struck");
    // Who has no list has made nothing.
    assert!(backend(&server).creations().await.unwrap().is_empty());
}
