//! `ptyard version`.

use ptyard_server::api::{PROTOCOL, Version};
use serde::Serialize;

use super::Place;
use crate::client::{Client, ClientError};
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
    let server = match Client::connect(&place.state.socket()).await {
        Ok(client) => Some(client.version().clone()),
        Err(ClientError::Incompatible { server, server_protocol }) => {
            let state = place.state.dir().display().to_string();
            Some(Version { version: server, protocol: server_protocol, pid: 0, state })
        }
        Err(_) => None,
    };
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
