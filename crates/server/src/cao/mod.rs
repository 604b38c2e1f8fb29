//! The API of CLI Agent Orchestrator (CAO), for its own clients: its command line, the MCP servers it gives to agents and
//! to operators, and its web page find here what they call at its server.
//!
//! It translates and decides nothing: agents, mail, handoffs and flows are the yard's. What is CAO's alone stands in one
//! place each: ids in [`name`], the shape of refusals in [`refusal`], documents in [`shape`], how agents are started in
//! [`start`]. `docs/CAO.md` says what is the same, better and missing.
//!
//! It is a room of the server because it lives on its listeners, its gate and its end. It has a listener of its own, whose
//! clients know no token: like CAO's it is for programs of this machine, and the gate still refuses pages of other origins.

mod directories;
mod extract;
mod flows;
mod input;
mod install;
mod labels;
mod mail;
mod name;
mod output;
mod profiles;
mod refusal;
mod service;
mod sessions;
mod shape;
mod socket;
mod start;
mod step;
mod terminals;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use futures_util::FutureExt;
use ptyard_yard::Yard;
use ptyard_yard::agents::Alias;

use crate::peer::{Entrance, Peer};
use crate::stop::Stop;
use refusal::Refusal;

/// How CAO's clients know an agent, for a yard that serves them.
pub const CAO_ALIAS: Alias = name::alias;

/// Where CAO's server listens, and its clients look for it.
pub const CAO_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9889);

/// How the yard is served to CAO's clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaoConfig {
    /// The loopback address; port 0 takes any free port.
    pub address: SocketAddr,
    /// CAO's own directory, for profiles and skills that were installed there.
    pub home: PathBuf,
    /// Where agents run.
    pub place: CaoPlace,
}

/// Where the agents of CAO's clients run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaoPlace {
    /// In tmux, each session of the yard in one of the same name: `cao launch` attaches to it.
    Tmux,
    /// As the yard's own, under its keeper. Nothing is there for `cao launch` to attach to.
    Here,
}

impl CaoPlace {
    /// As `/health` says it.
    const fn word(self) -> &'static str {
        match self {
            Self::Tmux => "tmux",
            Self::Here => "ptyard",
        }
    }

    /// The backend for the agents of a session.
    fn backend(self, session: &str) -> Option<String> {
        match self {
            Self::Tmux => Some(format!("tmux:session={session}")),
            Self::Here => None,
        }
    }
}

/// What every handler may use.
#[derive(Clone)]
pub(crate) struct Cao {
    pub(crate) yard: Yard,
    config: Arc<CaoConfig>,
    names: start::Names,
    changes: directories::Changes,
    stop: Stop,
}

impl Cao {
    /// For a listener that is at `config.address` now.
    pub(crate) fn new(yard: Yard, config: CaoConfig, stop: Stop) -> Self {
        Self {
            yard,
            config: Arc::new(config),
            names: start::Names::default(),
            changes: directories::Changes::default(),
            stop,
        }
    }
}

/// All routes, behind the gate.
pub(crate) fn router(cao: Cao) -> Router {
    Router::new()
        .route("/health", get(service::health))
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route("/sessions/{name}", get(sessions::show).delete(sessions::shut_down))
        .route("/sessions/{name}/terminals", get(sessions::terminals).post(sessions::add))
        .route("/terminals/run-step", post(step::run))
        .route("/terminals/{tid}", get(terminals::show).delete(terminals::delete))
        .route("/terminals/{tid}/working-directory", get(terminals::working_directory))
        .route("/terminals/{tid}/memory-context", get(terminals::memory_context))
        .route("/terminals/{tid}/group", patch(labels::set_group))
        .route("/terminals/{tid}/metadata", patch(labels::set_metadata))
        .route("/terminals/{tid}/siblings", get(labels::siblings))
        .route("/terminals/{tid}/exit", post(terminals::exit))
        .route("/terminals/{tid}/input", post(input::input))
        .route("/terminals/{tid}/key", post(input::key))
        .route("/terminals/{tid}/output", get(output::output))
        .route("/terminals/{tid}/output/range", get(output::range))
        .route("/terminals/{tid}/inbox/messages", get(mail::list).post(mail::send))
        .route("/terminals/{tid}/ws", get(socket::open))
        .route("/agents/profiles", get(profiles::list))
        .route("/agents/profiles/install", post(install::install))
        .route("/agents/profiles/{name}", get(profiles::show))
        .route("/agents/providers", get(profiles::providers))
        .route("/settings/agent-dirs", get(directories::agents).post(directories::set_agents))
        .route("/settings/memory", get(service::memory))
        .route("/settings/skill-dirs", get(directories::skills).post(directories::set_skills))
        .route("/skills/{name}", get(service::skill))
        .route("/flows", get(flows::list).post(flows::add))
        .route("/flows/{name}", get(flows::show).delete(flows::remove))
        .route("/flows/{name}/enable", post(flows::enable))
        .route("/flows/{name}/disable", post(flows::disable))
        .route("/flows/{name}/run", post(flows::run))
        .route("/workflows", get(service::no_workflows))
        .route("/workflows/runs", get(service::no_workflows))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "Not Found"))
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
        })
        .layer(middleware::from_fn_with_state(cao.clone(), contain))
        .layer(middleware::from_fn(guard))
        .with_state(cao)
}

/// Applies the gate the peer came through.
async fn guard(peer: Peer, request: Request, next: Next) -> Response {
    match peer.entrance() {
        Entrance::Tcp(gate) => match gate.check(&request) {
            Ok(()) => next.run(request).await,
            Err(refused) => Refusal::from(refused).into_response(),
        },
        Entrance::Unix | Entrance::Stranger => {
            Refusal::new(StatusCode::FORBIDDEN, "this server belongs to another user").into_response()
        }
    }
}

/// Ends a call that waits when the server stops, and turns a panic into a refusal.
async fn contain(State(cao): State<Cao>, request: Request, next: Next) -> Response {
    let leaving = || Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the server is on its way out");
    if cao.stop.is_requested() {
        return leaving().into_response();
    }
    // Not the query: it holds what is said.
    tracing::debug!(method = %request.method(), path = request.uri().path(), "a call of a CAO client");
    let call = AssertUnwindSafe(next.run(request)).catch_unwind();
    tokio::select! {
        biased;
        answered = call => answered.unwrap_or_else(|_| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the call broke off: a panic").into_response()
        }),
        () = cao.stop.ends_were_told() => leaving().into_response(),
    }
}
