//! The places elsewhere that this program knows.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptyard_backends::blaxel::{self, Blaxel};
use ptyard_backends::cloudflare::{self, Cloudflare};
use ptyard_backends::daytona::{self, Daytona};
use ptyard_backends::docker::{Address, AddressError, Docker};
use ptyard_backends::e2b::{E2b, Settings};
use ptyard_backends::herdr::{Herdr, Settings as HerdrSettings};
use ptyard_backends::modal::{self, Modal};
use ptyard_backends::ssh::{Client, Patience, Ssh};
use ptyard_backends::tmux::{Server, Tmux};
use ptyard_server::{CaoConfig, CaoPlace};
use ptyard_terminal::backend::Backend;

use crate::environment;
use crate::state::State;

/// All of them, as this process's own variables say. One that cannot be had is left out, and the log says why.
pub(crate) fn backends(state: &State) -> Vec<Arc<dyn Backend>> {
    let ssh = Ssh::new(Client {
        configuration: None,
        carrier: carrier(),
        sockets: Some(state.dir().join("ssh")),
        patience: Patience::from_variables(environment::variable),
    });
    let mut backends: Vec<Arc<dyn Backend>> = vec![Arc::new(tmux()), Arc::new(ssh)];
    // Without a mark, what is made there cannot be found again, and everything else works.
    let mark = state.mark().inspect_err(
        |error| tracing::warn!(%error, "what is made elsewhere has no mark: `ptyard gc` will not find it"),
    );
    let mark = mark.ok().as_deref().map(Arc::from);
    let made = |vendor: &str| state.dir().join("made").join(vendor);
    backends.push(Arc::new(e2b().marked(mark.clone()).remembering(made("e2b"))));
    backends.push(Arc::new(herdr(state)));
    backends.push(Arc::new(daytona().remembering(made("daytona"))));
    backends.push(Arc::new(modal().remembering(made("modal"))));
    backends.push(Arc::new(cloudflare().remembering(made("cloudflare"))));
    backends.push(Arc::new(blaxel().remembering(made("blaxel"))));
    match docker() {
        Ok(docker) => backends.push(Arc::new(docker.marked(mark))),
        Err(error) => tracing::warn!(%error, "there is no docker backend"),
    }
    backends
}

/// What carries the streams of programs elsewhere: this very program, whatever stands at its path by then.
fn carrier() -> Vec<String> {
    vec![format!("/proc/{}/exe", std::process::id()), "carry".to_owned(), "--".to_owned()]
}

/// The Docker engine that the variables name.
pub(crate) fn docker() -> Result<Docker, AddressError> {
    Address::from_variables(environment::variable).map(|address| Docker::new(address, carrier()))
}

/// The user's own tmux server.
pub(crate) fn tmux() -> Tmux {
    Tmux::new(Server::Default)
}

/// The user's own herdr. Its panes show terminals of this state directory.
pub(crate) fn herdr(state: &State) -> Herdr {
    // This very program, whatever stands at its path by then.
    let program = format!("/proc/{}/exe", std::process::id());
    let state = state.dir().display().to_string();
    let viewer = [program.as_str(), "--state", &state, "attach", "--resize", "--pane"].map(str::to_owned);
    Herdr::new(HerdrSettings { viewer: viewer.to_vec(), ..HerdrSettings::default() })
}

/// Hosts as the user's own configuration knows them, for questions.
pub(crate) fn ssh() -> Ssh {
    Ssh::new(Client::default())
}

/// E2B, as its usual variables say. Whether there is a key is seen when it is needed.
pub(crate) fn e2b() -> E2b {
    E2b::new(Settings::from_variables(environment::variable))
}

/// How the clients of CLI Agent Orchestrator are served at this address.
pub(crate) fn cao(address: SocketAddr) -> CaoConfig {
    CaoConfig { address, home: cao_home(), place: CaoPlace::Tmux }
}

/// CAO's own directory.
fn cao_home() -> PathBuf {
    let named = std::env::var_os("CAO_HOME_DIR").filter(|name| !name.is_empty());
    named.map(PathBuf::from).unwrap_or_else(|| {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        home.as_deref().unwrap_or(Path::new("/")).join(".aws/cli-agent-orchestrator")
    })
}

/// Daytona, as its usual variables say. Whether there is a key is seen when it is needed.
pub(crate) fn daytona() -> Daytona {
    Daytona::new(daytona::Settings::from_variables(environment::variable))
}

/// Modal, as its usual variables say. Whether there is a token is seen when it is needed.
pub(crate) fn modal() -> Modal {
    Modal::new(modal::Settings::from_variables(environment::variable))
}

/// Blaxel, as its usual variables say. Whether there is a key is seen when it is needed.
pub(crate) fn blaxel() -> Blaxel {
    Blaxel::new(blaxel::Settings::from_variables(environment::variable))
}

/// Cloudflare, as its usual variables say. Whether there is a bridge is seen when it is needed.
pub(crate) fn cloudflare() -> Cloudflare {
    Cloudflare::new(cloudflare::Settings::from_variables(environment::variable))
}
