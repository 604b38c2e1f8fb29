//! Programs over a real sshd on loopback, which the tests start and stop themselves.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod conformance;
mod connection;
mod cuts;
mod lasting;

use std::path::PathBuf;

use ptyard_backends::ssh::{Client, Patience, Ssh};
use ptyard_testkit::places::ssh::SshServer;

/// Hosts as the server's own client configuration knows them.
fn hosts(server: &SshServer) -> Ssh {
    configured(server.configuration())
}

fn configured(configuration: PathBuf) -> Ssh {
    patient(configuration, Patience::default())
}

fn patient(configuration: PathBuf, patience: Patience) -> Ssh {
    Ssh::new(Client {
        configuration: Some(configuration),
        carrier: vec![env!("CARGO_BIN_EXE_ptyard-carry").to_owned()],
        sockets: None,
        patience,
    })
}
