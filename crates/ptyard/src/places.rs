//! The places elsewhere that this program knows.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptyard_backends::docker::{Address, AddressError, Docker};
use ptyard_backends::ssh::{Client, Ssh};
use ptyard_backends::tmux::{Server, Tmux};
use ptyard_server::CaoConfig;
use ptyard_terminal::backend::Backend;

/// All of them, as this process's own variables say. One that cannot be had is left out, and the log says why.
pub(crate) fn backends() -> Vec<Arc<dyn Backend>> {
    let mut backends: Vec<Arc<dyn Backend>> = vec![Arc::new(tmux()), Arc::new(ssh())];
    match docker() {
        Ok(docker) => backends.push(Arc::new(docker)),
        Err(error) => tracing::warn!(%error, "there is no docker backend"),
    }
    backends
}

/// The Docker engine that the variables name.
pub(crate) fn docker() -> Result<Docker, AddressError> {
    Address::from_variables(|name| std::env::var(name).ok()).map(Docker::new)
}

/// The user's own tmux server.
pub(crate) fn tmux() -> Tmux {
    Tmux::new(Server::Default)
}

/// Hosts as the user's own configuration knows them.
pub(crate) fn ssh() -> Ssh {
    Ssh::new(Client::default())
}

/// How the clients of CLI Agent Orchestrator are served at this address.
pub(crate) fn cao(address: SocketAddr) -> CaoConfig {
    CaoConfig { address, home: cao_home() }
}

/// CAO's own directory.
fn cao_home() -> PathBuf {
    let named = std::env::var_os("CAO_HOME_DIR").filter(|name| !name.is_empty());
    named.map(PathBuf::from).unwrap_or_else(|| {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        home.as_deref().unwrap_or(Path::new("/")).join(".aws/cli-agent-orchestrator")
    })
}
