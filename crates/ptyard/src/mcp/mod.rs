//! MCP on stdio: the tools models know, over the same client as the command line.
//!
//! This module alone knows the protocol crate. A call is dropped when the model's side cancels it or leaves, and with
//! it its connection to the server, so that what it would have returned is returned by the next call.

mod arguments;
mod calls;
mod hints;
mod identity;
mod team;
mod text;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::ErrorCode;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;

use crate::failure::{Failure, status};
use crate::run::Place;
use calls::Caller;
use tools::ToolSpec;

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

impl Progress {
    /// Tells that `done` of at most `total` has passed. A client that does not listen loses nothing.
    async fn tell(&self, done: Duration, total: Duration, message: &str) {
        let Some(token) = self.token.clone() else { return };
        let told = ProgressNotificationParam::new(token, done.as_secs_f64())
            .with_total(total.as_secs_f64())
            .with_message(message);
        let _client_left = self.peer.notify_progress(told).await;
    }
}

/// The tools as the protocol crate serves them.
struct Face {
    caller: Arc<Caller>,
    audience: Audience,
    tools: Vec<ToolSpec>,
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
    let caller = Arc::new(Caller::new(place.clone())?);
    let face = Face { caller, audience, tools: audience.tools() };
    let running = match face.serve(stdio_pipes()).await {
        Ok(running) => running,
        // A client that leaves before it said hello has not failed.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(status::DONE),
        Err(error) => return Err(broken(error.to_string())),
    };
    running.waiting().await.map_err(|error| broken(error.to_string()))?;
    Ok(status::DONE)
}

impl ServerHandler for Face {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("ptyard", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.audience.instructions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(advertised).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        let progress = Progress { token: context.meta.get_progress_token(), peer: context.peer.clone() };
        tokio::select! {
            answer = self.caller.call(tool, arguments, &progress) => Ok(result(answer).into()),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }
}

fn result(answer: Answer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    let mut result = match answer.outcome {
        Outcome::Done => CallToolResult::success(content),
        Outcome::Refused => CallToolResult::error(content),
    };
    result.structured_content = Some(answer.data);
    result
}

fn advertised(tool: &ToolSpec) -> Tool {
    let Value::Object(schema) = (tool.schema)() else { unreachable!("invariant: schemas are objects") };
    let hints = ToolAnnotations::new().read_only(tool.effect == tools::Effect::Looks);
    let hints = match tool.effect {
        tools::Effect::Looks | tools::Effect::Acts => hints,
        tools::Effect::Ends => hints.destructive(true).idempotent(true),
    };
    Tool::new(tool.name, tool.description, schema).with_annotations(hints)
}

#[cfg(test)]
mod tests {
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
