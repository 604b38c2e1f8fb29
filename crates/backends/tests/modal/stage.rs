//! Programs of the tests, without a terminal around them.

use std::sync::Arc;

use ptyard_core::Size;
use ptyard_terminal::backend::{Backend, Io, StartError, Started};
use ptyard_testkit::vendors::modal::ModalServer;
use ptyard_testkit::vendors::play::spec;
use ptyard_testkit::{soon, until};

use crate::conformance::backend;

pub(crate) const TTY: Io = Io::Tty(Size::DEFAULT);

pub(crate) async fn start_at(
    backend: &Arc<dyn Backend>,
    script: &str,
    io: Io,
) -> Result<Started, StartError> {
    soon("the start", backend.start(spec(script, io))).await
}

/// Starts one in a sandbox of its own.
pub(crate) async fn start(server: &ModalServer, script: &str, io: Io) -> Result<Started, StartError> {
    start_at(&backend(server).at("debian:12").unwrap(), script, io).await
}

/// Waits until nothing is left at the vendor.
pub(crate) async fn all_removed(server: &ModalServer) {
    until("no sandbox is left", || server.sandboxes().is_empty()).await;
}
