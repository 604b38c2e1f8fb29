//! MCP over HTTP, beside the server's own calls and behind the same gate.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::Audience;
use super::face::Face;
use crate::run::Place;

/// Where.
const PATH: &str = "/mcp";

/// Most clients at once. One more is refused until another leaves or is forgotten.
const SESSIONS: usize = 256;

/// How long a client may say nothing. A model can be away from its tools for hours; forgotten, it has to begin anew.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The route for clients that act on `place`, which end with `stopping`.
///
/// Whoever passes the server's gate is an operator: an agent in a terminal has tools of its own on stdio, where its
/// token says who it is.
pub(crate) fn router(place: &Place, stopping: CancellationToken) -> Router {
    let (place, clients) = (place.clone(), Arc::new(Semaphore::new(SESSIONS)));
    let face = move || {
        let client = Arc::clone(&clients).try_acquire_owned().map_err(|_all_taken| {
            io::Error::other(format!("{SESSIONS} MCP clients are connected: end one first"))
        })?;
        let face = Face::new(place.clone(), Audience::Operator)
            .map_err(|failure| io::Error::other(failure.body().message.clone()))?;
        Ok(face.counted(client))
    };
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(FORGOTTEN_AFTER);
    // Who may call, from which page, the server's gate has said.
    let config =
        StreamableHttpServerConfig::default().disable_allowed_hosts().with_cancellation_token(stopping);
    Router::new().route_service(PATH, StreamableHttpService::new(face, Arc::new(sessions), config))
}
