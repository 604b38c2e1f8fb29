//! Flows. The agents of a flow work in a session of the flow's name.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use ptyard_core::ErrorCode;
use ptyard_yard::YardError;
use ptyard_yard::flows::{Flow, FlowAgent, FlowSpec, Run};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Cao;
use super::extract::Body;
use super::name;
use super::refusal::Refusal;
use crate::translate;

#[derive(Debug, Deserialize)]
pub(super) struct FlowBody {
    name: String,
    schedule: String,
    agent_profile: String,
    provider: Option<String>,
    prompt_template: String,
}

fn document(flow: &Flow) -> Value {
    json!({
        "name": flow.name,
        "file_path": "",
        "schedule": flow.cron,
        "agent_profile": flow.agent.profile,
        "provider": flow.agent.provider,
        "engine": null,
        "script": "",
        "last_run": flow.last.as_ref().map(|run| translate::time(run.begun_at)),
        "next_run": flow.next.map(translate::time),
        "enabled": flow.run == Run::Scheduled,
        "prompt_template": flow.text,
    })
}

fn done<T>(_changed: T) -> Json<Value> {
    Json(json!({"success": true}))
}

/// All of them.
pub(super) async fn list(State(cao): State<Cao>) -> Result<Json<Value>, Refusal> {
    Ok(Json(cao.yard.flows().await?.iter().map(document).collect()))
}

/// One of them.
pub(super) async fn show(State(cao): State<Cao>, Path(name): Path<String>) -> Result<Json<Value>, Refusal> {
    Ok(Json(document(&cao.yard.flow(&name, 1).await?.0)))
}

/// Adds one. What cannot be used is answered as CAO does: not found.
pub(super) async fn add(
    State(cao): State<Cao>,
    Body(body): Body<FlowBody>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let profiles = cao.profiles_variable().into_string().ok();
    let session = name::session(&format!("flow-{}", body.name))
        .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, format!("Invalid flow name: {:?}", body.name)))?;
    let agent = FlowAgent {
        backend: cao.config.place.backend(&session),
        env: cao.environment(BTreeMap::new()),
        session: Some(session),
        profile: Some(body.agent_profile),
        provider: Some(body.provider.unwrap_or_else(|| "kiro_cli".to_owned())),
        unattended: true,
        profiles,
        ..FlowAgent::default()
    };
    let spec =
        FlowSpec { name: body.name, cron: body.schedule, zone: None, agent, text: body.prompt_template };
    let added = cao.yard.add_flow(spec).await;
    let flow = added.map_err(|error| Refusal::from(error).caller_s_fault(StatusCode::NOT_FOUND))?;
    Ok((StatusCode::CREATED, Json(document(&flow))))
}

/// Forgets one.
pub(super) async fn remove(State(cao): State<Cao>, Path(name): Path<String>) -> Result<Json<Value>, Refusal> {
    Ok(done(cao.yard.remove_flow(&name).await?))
}

/// Lets it run when its time comes.
pub(super) async fn enable(State(cao): State<Cao>, Path(name): Path<String>) -> Result<Json<Value>, Refusal> {
    Ok(done(cao.yard.set_flow(&name, Run::Scheduled).await?))
}

/// Keeps it from running.
pub(super) async fn disable(
    State(cao): State<Cao>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refusal> {
    Ok(done(cao.yard.set_flow(&name, Run::Paused).await?))
}

/// Runs it now; one that is still running is not run a second time.
pub(super) async fn run(State(cao): State<Cao>, Path(name): Path<String>) -> Result<Json<Value>, Refusal> {
    let executed = match cao.yard.run_flow(&name).await {
        Ok(_) => true,
        Err(error) if is_busy(&error) => false,
        Err(error) => return Err(error.into()),
    };
    Ok(Json(json!({"executed": executed})))
}

fn is_busy(error: &YardError) -> bool {
    error.code() == ErrorCode::FlowRunning
}
