//! MCP: the tools models know, over the same client as the command line, on stdio and over HTTP.
//!
//! This module alone knows the protocol crate. A call is dropped when the model's side cancels it or leaves, and with
//! it its connection to the server, so that what it would have returned is returned by the next call.

mod arguments;
mod calls;
mod clients;
mod face;
mod hints;
mod http;
mod identity;
mod install;
mod resources;
mod team;
mod text;
mod tools;

use std::pin::pin;
use std::time::{Duration, Instant};

use ptyard_core::ErrorCode;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use rmcp::transport::io::stdio_pipes;
use rmcp::{RoleServer, ServiceExt};
use serde_json::Value;

use crate::failure::{Failure, status};
use crate::run::Place;
use face::Face;
use tools::ToolSpec;

pub(crate) use clients::McpClient;
pub(crate) use http::router;
pub(crate) use install::{Change, install};

/// What a tool call gives: text for the model and the same as data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    text: String,
    data: Value,
    outcome: Outcome,
}

/// Whether a tool did what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    Refused,
}

/// Whom the tools are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Whoever runs programs, and agents.
    Operator,
    /// An agent that works in a terminal of the yard.
    Agent,
}

impl Audience {
    fn tools(self) -> Vec<ToolSpec> {
        match self {
            Self::Operator => [tools::PROGRAMS, &[team::LAUNCH], team::IN_SESSION].concat(),
            Self::Agent => team::IN_SESSION.to_vec(),
        }
    }

    fn instructions(self) -> &'static str {
        match self {
            Self::Operator => tools::INSTRUCTIONS,
            Self::Agent => team::INSTRUCTIONS,
        }
    }
}

/// Tells a client that asked for it how far a call is.
struct Progress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
}

/// How often a call that goes on is told of.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

impl Progress {
    /// Tells every second how long `call` has taken so far.
    async fn while_it_takes<T>(&self, call: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let mut call = pin!(call);
        loop {
            match tokio::time::timeout(PROGRESS_EVERY, &mut call).await {
                Ok(done) => return done,
                Err(_still_going) => {
                    let Some(token) = self.token.clone() else { continue };
                    let told = ProgressNotificationParam::new(token, begun.elapsed().as_secs_f64());
                    let _client_left = self.peer.notify_progress(told.with_message("still waiting")).await;
                }
            }
        }
    }

    /// Tells that `done` of at most `total` has passed. A client that does not listen loses nothing.
    async fn tell(&self, done: Duration, total: Duration, message: &str) {
        let Some(token) = self.token.clone() else { return };
        let told = ProgressNotificationParam::new(token, done.as_secs_f64())
            .with_total(total.as_secs_f64())
            .with_message(message);
        let _client_left = self.peer.notify_progress(told).await;
    }
}

/// Serves until stdin ends: for the agent in `terminal`, or for whoever starts it.
pub(crate) async fn serve(place: &Place, terminal: Option<&str>) -> Result<u8, Failure> {
    let broken = |error: String| Failure::new(ErrorCode::Internal, format!("mcp: {error}")).with_hint("");
    let audience = match terminal {
        None => Audience::Operator,
        Some(terminal) => {
            identity::check(place, terminal).await?;
            Audience::Agent
        }
    };
    let face = Face::new(place.clone(), audience)?;
    let running = match face.serve(stdio_pipes()).await {
        Ok(running) => running,
        // A client that leaves before it said hello has not failed.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(status::DONE),
        Err(error) => return Err(broken(error.to_string())),
    };
    running.waiting().await.map_err(|error| broken(error.to_string()))?;
    Ok(status::DONE)
}

#[cfg(test)]
mod tests {
    use rmcp::model::Tool;

    use super::face::{advertised, result};
    use super::*;

    #[test]
    fn the_tools_as_a_client_sees_them() {
        for (name, audience) in [("tools", Audience::Operator), ("tools_in_session", Audience::Agent)] {
            let all: Vec<Tool> = audience.tools().iter().map(advertised).collect();
            insta::assert_json_snapshot!(name, all);
        }
    }

    #[test]
    fn a_refusal_is_a_tool_error_and_keeps_its_data() {
        let answer = Answer { text: "no".into(), data: Value::Bool(true), outcome: Outcome::Refused };
        let result = result(answer);
        assert_eq!((result.is_error, result.structured_content), (Some(true), Some(Value::Bool(true))));
    }
}
