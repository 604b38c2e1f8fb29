//! Agents: starts, what they do, answers, sessions.

#![expect(unused_qualifications, reason = "utoipa expands the query parameters with full paths")]

use std::path::PathBuf;

use axum::Json;
use axum::extract::{Path, State};
use ptyard_core::ErrorCode;
use ptyard_yard::TerminalRef;
use ptyard_yard::agents::framing::Purpose;
use ptyard_yard::agents::handoff::Afterwards;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::agents::{
    AnswerReply, AnswerRequest, AssignReply, HandoffReply, HookRequest, LaunchReply, LaunchRequest,
    ProfileInfo, ProviderInfo, SessionInfo, SpeakerReply, StatusReply, TellRequest, WorkRequest,
};
use crate::api::{Done, ErrorReply, MessageInfo};
use crate::error::ApiError;
use crate::extract::{At, Params, Payload};
use crate::routes::Shared;
use crate::speaker::Speaker;
use crate::translate::{self, agents};

/// Starts an agent from a profile.
#[utoipa::path(post, path = "/v1/agents", operation_id = "launch", request_body = LaunchRequest,
    responses((status = 200, body = LaunchReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn launch(
    State(shared): State<Shared>,
    speaker: Speaker,
    Payload(mut request): Payload<LaunchRequest>,
) -> Result<Json<LaunchReply>, ApiError> {
    let message = request.message.take();
    let mut spec = agents::launch_spec(request)?;
    spec.creator = speaker.voice(&shared.yard)?;
    let Some(message) = message else {
        return Ok(Json(agents::launched(shared.yard.launch(spec).await?)));
    };
    let (launched, told) = shared.yard.start_with(spec, &message, Purpose::Message).await?;
    Ok(Json(LaunchReply { message: Some(told.message.id.to_string()), ..agents::launched(launched) }))
}

/// Who sends this request. A wrong token is refused, as everywhere.
#[utoipa::path(get, path = "/v1/speaker", operation_id = "speaker",
    responses((status = 200, body = SpeakerReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn speaker(
    State(shared): State<Shared>,
    speaker: Speaker,
) -> Result<Json<SpeakerReply>, ApiError> {
    let terminal = speaker.terminal(&shared.yard)?;
    let member = terminal.and_then(|id| shared.yard.member(id));
    Ok(Json(SpeakerReply {
        terminal: terminal.map(|id| id.to_string()),
        session: member.as_ref().map(|member| member.session.clone()),
        agent: member.as_ref().map(agents::member),
    }))
}

/// Tells what a hook of the speaker's agent was told. Nobody can tell it for another terminal.
#[utoipa::path(post, path = "/v1/hook", operation_id = "hook", request_body = HookRequest,
    responses((status = 200, body = Done), (status = "default", body = ErrorReply)))]
pub(crate) async fn hook(
    State(shared): State<Shared>,
    speaker: Speaker,
    Payload(request): Payload<HookRequest>,
) -> Result<Json<Done>, ApiError> {
    let terminal = speaker.terminal(&shared.yard)?.ok_or_else(|| {
        ApiError::new(ErrorCode::Forbidden, "a hook speaks for the terminal of its agent, by its token")
    })?;
    let words = request.words.parse().map_err(|error| ApiError::argument(format!("words: {error}")))?;
    shared.yard.hook(terminal, words, &request.told).await?;
    Ok(Json(translate::done(terminal)))
}

/// Says something to an agent, in the name of the speaker. Without a receiver it goes to who created the speaker.
#[utoipa::path(post, path = "/v1/messages", operation_id = "tell", request_body = TellRequest,
    responses((status = 200, body = MessageInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn tell(
    State(shared): State<Shared>,
    speaker: Speaker,
    Payload(request): Payload<TellRequest>,
) -> Result<Json<MessageInfo>, ApiError> {
    let to = request.to.as_deref().map(|to| match to.parse::<TerminalRef>() {
        Ok(at) => at,
        Err(never) => match never {},
    });
    let speaker = speaker.voice(&shared.yard)?;
    let told = shared.yard.tell(speaker, to.as_ref(), &request.text, Purpose::Message, request.key).await?;
    Ok(Json(translate::message(told.message)))
}

/// How much is told of a status.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StatusParams {
    /// With the reasons.
    #[serde(default)]
    explain: bool,
}

/// What an agent does.
#[utoipa::path(get, path = "/v1/terminals/{id}/status", operation_id = "status",
    params(("id" = String, Path, description = "Full id, short id or unique name."), StatusParams),
    responses((status = 200, body = StatusReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn status(
    State(shared): State<Shared>,
    At(at): At,
    Params(params): Params<StatusParams>,
) -> Result<Json<StatusReply>, ApiError> {
    let status = shared.yard.status(&at)?.ok_or_else(|| ptyard_yard::YardError::NoAgent(at.clone()))?;
    // A program that has ended has nobody left who could explain.
    let explanation = if params.explain { shared.yard.explain(&at).await.ok().flatten() } else { None };
    Ok(Json(agents::status(status, explanation.as_ref())))
}

/// Says that nothing is under way in a terminal: what was not confirmed is uncertain from now on.
#[utoipa::path(post, path = "/v1/terminals/{id}/reset", operation_id = "reset",
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = Done), (status = "default", body = ErrorReply)))]
pub(crate) async fn reset(State(shared): State<Shared>, At(at): At) -> Result<Json<Done>, ApiError> {
    Ok(Json(translate::done(shared.yard.reset(&at).await?)))
}

/// Answers what an agent asks; an agent that asks nothing is typed nothing.
#[utoipa::path(post, path = "/v1/terminals/{id}/answer", operation_id = "answer", request_body = AnswerRequest,
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = AnswerReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn answer(
    State(shared): State<Shared>,
    At(at): At,
    Payload(request): Payload<AnswerRequest>,
) -> Result<Json<AnswerReply>, ApiError> {
    let removed = shared.yard.answer(&at, &agents::answer(request)?).await?;
    Ok(Json(AnswerReply { ok: true, removed: removed.characters() }))
}

/// All sessions, by name.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "sessions",
    responses((status = 200, body = Vec<SessionInfo>), (status = "default", body = ErrorReply)))]
pub(crate) async fn sessions(State(shared): State<Shared>) -> Json<Vec<SessionInfo>> {
    Json(shared.yard.sessions().iter().map(agents::session).collect())
}

/// One session.
#[utoipa::path(get, path = "/v1/sessions/{name}", operation_id = "session",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = SessionInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn session(
    State(shared): State<Shared>,
    Path(name): Path<String>,
) -> Result<Json<SessionInfo>, ApiError> {
    Ok(Json(agents::session(&shared.yard.session(&name)?)))
}

/// Ends all programs of a session and removes its terminals.
#[utoipa::path(delete, path = "/v1/sessions/{name}", operation_id = "shutDownSession",
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = SessionInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn shut_down(
    State(shared): State<Shared>,
    Path(name): Path<String>,
) -> Result<Json<SessionInfo>, ApiError> {
    Ok(Json(agents::session(&shared.yard.shut_down_session(&name, None).await?)))
}

/// Where profiles are looked for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ProfileParams {
    /// The caller's `PTYARD_PROFILES`.
    variable: Option<String>,
    /// The directory the work is in.
    project: Option<String>,
}

/// All profiles, in the order in which they win.
#[utoipa::path(get, path = "/v1/profiles", operation_id = "profiles", params(ProfileParams),
    responses((status = 200, body = Vec<ProfileInfo>), (status = "default", body = ErrorReply)))]
pub(crate) async fn profiles(
    State(shared): State<Shared>,
    Params(params): Params<ProfileParams>,
) -> Json<Vec<ProfileInfo>> {
    let project = params.project.map(PathBuf::from);
    let library = shared.yard.profiles(params.variable.as_deref().map(AsRef::as_ref), project.as_deref());
    Json(library.list().into_iter().map(agents::profile).collect())
}

/// All providers, by id, in the editions that are in use.
#[utoipa::path(get, path = "/v1/providers", operation_id = "providers",
    responses((status = 200, body = Vec<ProviderInfo>), (status = "default", body = ErrorReply)))]
pub(crate) async fn providers(State(shared): State<Shared>) -> Json<Vec<ProviderInfo>> {
    Json(shared.yard.providers().rows().into_iter().map(ProviderInfo::from).collect())
}

/// Starts a worker, gives it work and waits for what it answers. The handoff goes on when the caller does not.
#[utoipa::path(post, path = "/v1/handoffs", operation_id = "handoff", request_body = WorkRequest,
    responses((status = 200, body = HandoffReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn hand_off(
    State(shared): State<Shared>,
    speaker: Speaker,
    Payload(request): Payload<WorkRequest>,
) -> Result<Json<HandoffReply>, ApiError> {
    let patience = agents::patience(request.timeout_ms)?;
    let afterwards = if request.keep { Afterwards::Keep } else { Afterwards::Dismiss };
    let mut spec = agents::worker_spec(request.worker)?;
    spec.creator = speaker.voice(&shared.yard)?;
    let handed = shared.yard.hand_off(spec, &request.text, patience, afterwards).await?;
    Ok(Json(agents::handoff(handed.row)))
}

/// How long is waited for a result.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HandoffParams {
    /// Milliseconds, 0..=3,600,000; default 0.
    timeout_ms: Option<u64>,
}

/// A handoff, once it is settled or the time is up.
#[utoipa::path(get, path = "/v1/handoffs/{id}", operation_id = "handoffResult",
    params(("id" = String, Path, description = "Its id."), HandoffParams),
    responses((status = 200, body = HandoffReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn handoff(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    Params(params): Params<HandoffParams>,
) -> Result<Json<HandoffReply>, ApiError> {
    let patience = agents::patience(Some(params.timeout_ms.unwrap_or(0)))?;
    let id = id
        .parse()
        .map_err(|_| ApiError::argument(format!("{id:?} is not the id of a handoff, such as h3")))?;
    Ok(Json(agents::handoff(shared.yard.handoff_result(id, patience).await?)))
}

/// How many handoffs are told.
const HANDOFFS: u32 = 20;

/// The newest handoffs of the speaker, newest first.
#[utoipa::path(get, path = "/v1/handoffs", operation_id = "handoffs",
    responses((status = 200, body = Vec<HandoffReply>), (status = "default", body = ErrorReply)))]
pub(crate) async fn handoffs(
    State(shared): State<Shared>,
    speaker: Speaker,
) -> Result<Json<Vec<HandoffReply>>, ApiError> {
    let caller = speaker.terminal(&shared.yard)?;
    let rows = shared.yard.handoffs_of(caller, HANDOFFS).await?;
    Ok(Json(rows.into_iter().map(agents::handoff).collect()))
}

/// Starts a worker and gives it work, whose result it sends as a message.
#[utoipa::path(post, path = "/v1/assignments", operation_id = "assign", request_body = WorkRequest,
    responses((status = 200, body = AssignReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn assign(
    State(shared): State<Shared>,
    speaker: Speaker,
    Payload(request): Payload<WorkRequest>,
) -> Result<Json<AssignReply>, ApiError> {
    let mut spec = agents::worker_spec(request.worker)?;
    spec.creator = speaker.voice(&shared.yard)?;
    let (worker, told) = shared.yard.assign(spec, &request.text).await?;
    Ok(Json(AssignReply { worker: agents::launched(worker), message: told.message.id.to_string() }))
}
