//! MCP on stdio: the tools models know, over the same client as the command line.
//!
//! This module alone knows the protocol crate. A call is dropped when the model's side cancels it or leaves, and with
//! it its connection to the server, so that what it would have returned is returned by the next call.

mod arguments;
mod calls;
mod hints;
mod text;
mod tools;

use std::sync::Arc;

use ptyard_core::ErrorCode;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::io::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::Value;

use crate::failure::{Failure, status};
use crate::run::Place;
use calls::Caller;

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

/// The tools as the protocol crate serves them.
struct Face {
    caller: Arc<Caller>,
}

/// Serves until stdin ends.
pub(crate) async fn serve(place: &Place) -> Result<u8, Failure> {
    let broken = |error: String| Failure::new(ErrorCode::Internal, format!("mcp: {error}")).with_hint("");
    let face = Face { caller: Arc::new(Caller::new(place.clone())?) };
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
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::ALL.iter().map(advertised).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::ALL.iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None));
        };
        let arguments = request.arguments.unwrap_or_default();
        tokio::select! {
            answer = self.caller.call(tool, arguments) => Ok(result(answer).into()),
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

fn advertised(tool: &tools::ToolSpec) -> Tool {
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
        let all: Vec<Tool> = tools::ALL.iter().map(advertised).collect();
        insta::assert_json_snapshot!("tools", all);
    }

    #[test]
    fn a_refusal_is_a_tool_error_and_keeps_its_data() {
        let answer = Answer { text: "no".into(), data: Value::Bool(true), outcome: Outcome::Refused };
        let result = result(answer);
        assert_eq!((result.is_error, result.structured_content), (Some(true), Some(Value::Bool(true))));
    }
}
