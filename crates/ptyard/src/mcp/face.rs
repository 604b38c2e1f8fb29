//! The tools and resources as the protocol crate serves them.

use ptyard_core::ErrorCode;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use super::calls::Caller;
use super::resources::{self, Address};
use super::tools::{Effect, ToolSpec};
use super::{Answer, Audience, Outcome, Progress};
use crate::failure::Failure;
use crate::run::Place;

/// One client's tools and resources.
pub(super) struct Face {
    caller: Caller,
    audience: Audience,
    tools: Vec<ToolSpec>,
    /// Its place among the clients that are served at once, where they are counted.
    _counted: Option<OwnedSemaphorePermit>,
}

impl Face {
    pub(super) fn new(place: Place, audience: Audience) -> Result<Self, Failure> {
        let caller = Caller::new(place)?;
        Ok(Self { caller, audience, tools: audience.tools(), _counted: None })
    }

    pub(super) fn counted(self, place: OwnedSemaphorePermit) -> Self {
        Self { _counted: Some(place), ..self }
    }

    /// Screens and logs are an operator's: an agent sees of others what they tell it.
    fn of_operator(&self) -> Result<&Place, ErrorData> {
        match self.audience {
            Audience::Operator => Ok(&self.caller.place),
            Audience::Agent => Err(ErrorData::invalid_request("an agent has no resources", None)),
        }
    }
}

impl ServerHandler for Face {
    fn get_info(&self) -> ServerConfig {
        let offered = match self.audience {
            Audience::Operator => ServerCapabilities::builder().enable_tools().enable_resources().build(),
            Audience::Agent => ServerCapabilities::builder().enable_tools().build(),
        };
        ServerConfig::new(offered)
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
        if let Some(told) = context.peer.peer_info() {
            self.caller.is_called(&told.client_info.name);
        }
        let progress = Progress { token: context.meta.get_progress_token(), peer: context.peer.clone() };
        tokio::select! {
            answer = self.caller.call(tool, arguments, &progress) => Ok(result(answer).into()),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = resources::list(self.of_operator()?).await.map_err(|failure| told(&failure))?;
        Ok(ListResourcesResult::with_all_items(all))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.of_operator()?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let place = self.of_operator()?;
        let unknown = || {
            ErrorData::resource_not_found(
                format!("there is no resource {:?}; resources/list tells those there are", request.uri),
                None,
            )
        };
        let address = Address::parse(&request.uri).ok_or_else(unknown)?;
        let read = resources::read(place, &request.uri, &address).await;
        let contents = read.map_err(|failure| match failure.code() {
            Some(ErrorCode::UnknownTerminal) => unknown(),
            _ => told(&failure),
        })?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

/// A failure where there is no tool result to put it into.
fn told(failure: &Failure) -> ErrorData {
    let body = failure.body();
    ErrorData::internal_error(format!("{} ({})", body.message, body.hint), serde_json::to_value(body).ok())
}

pub(super) fn result(answer: Answer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    let mut result = match answer.outcome {
        Outcome::Done => CallToolResult::success(content),
        Outcome::Refused => CallToolResult::error(content),
    };
    result.structured_content = Some(answer.data);
    result
}

pub(super) fn advertised(tool: &ToolSpec) -> Tool {
    let Value::Object(schema) = (tool.schema)() else { unreachable!("invariant: schemas are objects") };
    let hints = ToolAnnotations::new().read_only(tool.effect == Effect::Looks);
    let hints = match tool.effect {
        Effect::Looks | Effect::Acts => hints,
        Effect::Ends => hints.destructive(true).idempotent(true),
    };
    Tool::new(tool.name, tool.description, schema).with_annotations(hints)
}
