//! Flows: prompts that the calendar gives to an agent.

#![expect(unused_qualifications, reason = "utoipa expands the query parameters with full paths")]

use axum::Json;
use axum::extract::{Path, State};
use ptyard_yard::flows::Run;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::ErrorReply;
use crate::api::flows::{FlowInfo, FlowReply, FlowRequest, FlowRunInfo};
use crate::error::ApiError;
use crate::extract::{Params, Payload};
use crate::routes::Shared;
use crate::translate::flows;

/// How many runs are told when nobody says.
const RUNS: u32 = 20;

/// Most runs that are told: all that are kept.
const MOST_RUNS: u32 = 200;

/// Adds a flow. Its first run is at the first moment of its schedule after this one.
#[utoipa::path(post, path = "/v1/flows", operation_id = "addFlow", request_body = FlowRequest,
    responses((status = 200, body = FlowInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn add(
    State(shared): State<Shared>,
    Payload(request): Payload<FlowRequest>,
) -> Result<Json<FlowInfo>, ApiError> {
    Ok(Json(flows::flow(shared.yard.add_flow(flows::spec(request)?).await?)))
}

/// All flows, by name, each with its newest run.
#[utoipa::path(get, path = "/v1/flows", operation_id = "flows",
    responses((status = 200, body = Vec<FlowInfo>), (status = "default", body = ErrorReply)))]
pub(crate) async fn list(State(shared): State<Shared>) -> Result<Json<Vec<FlowInfo>>, ApiError> {
    Ok(Json(shared.yard.flows().await?.into_iter().map(flows::flow).collect()))
}

/// How much is told of a flow.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FlowParams {
    /// Most runs, 1..=200, default 20.
    most: Option<u32>,
}

/// One flow and its runs, newest first.
#[utoipa::path(get, path = "/v1/flows/{name}", operation_id = "flow",
    params(("name" = String, Path, description = "Its name."), FlowParams),
    responses((status = 200, body = FlowReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn show(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    Params(params): Params<FlowParams>,
) -> Result<Json<FlowReply>, ApiError> {
    let most = params.most.unwrap_or(RUNS);
    if !(1..=MOST_RUNS).contains(&most) {
        return Err(ApiError::argument(format!("most is {most}, expected 1..={MOST_RUNS}")));
    }
    let (flow, runs) = shared.yard.flow(&name, most).await?;
    Ok(Json(FlowReply { flow: flows::flow(flow), runs: runs.into_iter().map(flows::run).collect() }))
}

/// Forgets a flow and its runs. An agent that is at work for it goes on.
#[utoipa::path(delete, path = "/v1/flows/{name}", operation_id = "removeFlow",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = FlowInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn remove(
    State(shared): State<Shared>,
    Path(name): Path<String>,
) -> Result<Json<FlowInfo>, ApiError> {
    Ok(Json(flows::flow(shared.yard.remove_flow(&name).await?)))
}

/// Runs a flow now, also one that is paused; the answer comes when its agent has the work, or could not be started.
#[utoipa::path(post, path = "/v1/flows/{name}/run", operation_id = "runFlow",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = FlowRunInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn run(
    State(shared): State<Shared>,
    Path(name): Path<String>,
) -> Result<Json<FlowRunInfo>, ApiError> {
    Ok(Json(flows::run(shared.yard.run_flow(&name).await?)))
}

/// Holds a flow: moments that come are passed over. A run that is going goes on.
#[utoipa::path(post, path = "/v1/flows/{name}/pause", operation_id = "pauseFlow",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = FlowInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn pause(
    State(shared): State<Shared>,
    Path(name): Path<String>,
) -> Result<Json<FlowInfo>, ApiError> {
    Ok(Json(flows::flow(shared.yard.set_flow(&name, Run::Paused).await?)))
}

/// Lets a flow run again, from its next moment on.
#[utoipa::path(post, path = "/v1/flows/{name}/resume", operation_id = "resumeFlow",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = FlowInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn resume(
    State(shared): State<Shared>,
    Path(name): Path<String>,
) -> Result<Json<FlowInfo>, ApiError> {
    Ok(Json(flows::flow(shared.yard.set_flow(&name, Run::Scheduled).await?)))
}
