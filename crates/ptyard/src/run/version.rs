//! `ptyard version`.

use ptyard_server::api::{PROTOCOL, Version};
use serde::Serialize;

use super::Place;
use crate::client::Client;
use crate::failure::{Failure, status};

/// This program, and the server if one runs.
#[derive(Debug, Serialize)]
struct Versions {
    version: &'static str,
    protocol: u32,
    server: Option<Version>,
}

/// Starts no server: the question is what there is.
pub(super) async fn version(place: &Place) -> Result<u8, Failure> {
    let server = Client::greet(&place.state.socket()).await.ok().map(|client| client.version().clone());
    place.show(&Versions { version: env!("CARGO_PKG_VERSION"), protocol: PROTOCOL, server }, text)?;
    Ok(status::DONE)
}

fn text(versions: &Versions) -> String {
    let mut text = format!("ptyard {} (protocol {})\n", versions.version, versions.protocol);
    match &versions.server {
        Some(server) => text.push_str(&format!(
            "server {} (protocol {}), pid {}, state {}\n",
            server.version, server.protocol, server.pid, server.state
        )),
        None => text.push_str("server: none runs\n"),
    }
    text
}
