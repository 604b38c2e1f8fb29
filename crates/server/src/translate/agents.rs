//! Agents, from and to the wire.

use std::time::Duration;

use ptyard_core::turn::{Explanation, Position, Standing, StatusReport};
use ptyard_yard::agents::editions::Row;
use ptyard_yard::agents::profile::{Listed, Origin};
use ptyard_yard::agents::roster::{Member, Session};
use ptyard_yard::agents::{AgentStatus, Answer, LaunchSpec, Launched, OnDialog};

use ptyard_yard::agents::handoff::{HandoffRow, HandoffState};

use super::reply::time;
use super::request::absolute;
use crate::api::agents::{
    AnswerRequest, BlockedOnInfo, ExplainInfo, HandoffReply, LaunchReply, LaunchRequest, MemberInfo,
    OnDialogInfo, ProfileInfo, ProviderInfo, SessionInfo, SourceInfo, StalledInfo, StatusReply,
};
use crate::error::ApiError;

/// What a launch asks for, without who creates it.
pub(crate) fn launch_spec(request: LaunchRequest) -> Result<LaunchSpec, ApiError> {
    Ok(LaunchSpec {
        profile: request.profile,
        provider: request.provider,
        session: request.session,
        name: request.name,
        cwd: absolute(request.cwd)?,
        model: request.model,
        backend: request.backend,
        env: request.env,
        caller_env: request.caller_env,
        extra: request.args,
        unattended: request.unattended,
        on_dialog: match request.on_dialog {
            OnDialogInfo::Ask => OnDialog::Ask,
            OnDialogInfo::TrustCwd => OnDialog::TrustCwd,
        },
        creator: Default::default(),
        profiles: request.profiles.map(Into::into),
        ..LaunchSpec::default()
    })
}

/// What a worker is started as. Its first message is its work.
pub(crate) fn worker_spec(request: LaunchRequest) -> Result<LaunchSpec, ApiError> {
    if request.message.is_some() {
        return Err(ApiError::argument("a worker gets `text`, and no `message` beside it"));
    }
    launch_spec(request)
}

/// What is typed as an answer.
pub(crate) fn answer(request: AnswerRequest) -> Result<Answer, ApiError> {
    match (request.text, request.keys) {
        (Some(text), None) => Ok(Answer::Text(text)),
        (None, Some(keys)) => Ok(Answer::Keys(keys)),
        _ => Err(ApiError::argument("exactly one of text and keys is needed")),
    }
}

pub(crate) fn launched(launched: Launched) -> LaunchReply {
    LaunchReply {
        id: launched.id.to_string(),
        session_id: launched.short.into(),
        session: launched.member.session.clone(),
        agent: member(&launched.member),
        message: None,
        notices: launched.notices,
    }
}

pub(crate) fn member(member: &Member) -> MemberInfo {
    MemberInfo {
        id: member.id.to_string(),
        creator: member.creator.map(|id| id.to_string()),
        profile: member.profile.clone(),
        provider: member.provider.clone(),
        depth: member.depth,
    }
}

pub(crate) fn session(session: &Session) -> SessionInfo {
    SessionInfo {
        name: session.name.to_string(),
        conductor: session.conductor.map(|id| id.to_string()),
        members: session.members.iter().map(member).collect(),
    }
}

pub(crate) fn profile(listed: Listed) -> ProfileInfo {
    ProfileInfo {
        name: listed.name,
        description: listed.description,
        provider: listed.provider,
        file: match listed.origin {
            Origin::BuiltIn => None,
            Origin::File(path) => Some(path.display().to_string()),
        },
        error: listed.error,
        shadowed: listed.shadowed,
    }
}

impl From<Row> for ProviderInfo {
    fn from(row: Row) -> Self {
        let used = row.provider.as_ref();
        Self {
            name: used.map_or_else(|| row.id.clone(), |used| used.name().to_owned()),
            version: used.map(|used| used.version().to_owned()),
            tested: used.map(|used| used.tested().to_vec()).unwrap_or_default(),
            origin: used.map(|used| used.origin().as_str().to_owned()),
            id: row.id,
            problem: row.problem,
        }
    }
}

pub(crate) fn status(status: AgentStatus, explanation: Option<&Explanation>) -> StatusReply {
    let StatusReport { status: word_of_it, epoch, source, rule, position, blocked_on, stalled, .. } =
        status.report;
    StatusReply {
        id: status.id.to_string(),
        status: word_of_it.as_str().to_owned(),
        since: time(status.since),
        epoch: epoch.0,
        source: source.map(|source| source.as_str().to_owned()),
        rule: rule.map(|rule| rule.to_string()),
        offset: position.and_then(Position::offset),
        blocked_on: blocked_on
            .map(|blocked| BlockedOnInfo { kind: word(&blocked.kind), message: blocked.message }),
        stalled: stalled.map(|stalled| StalledInfo {
            attempt: stalled.attempt.get(),
            reason: word(&stalled.reason),
            age_ms: u64::try_from(stalled.age.as_millis()).unwrap_or(u64::MAX),
        }),
        explain: explanation.map(explain),
    }
}

fn explain(explanation: &Explanation) -> ExplainInfo {
    let sources = explanation.sources.iter().map(|said| SourceInfo {
        source: said.source.as_str().to_owned(),
        status: said.status.as_str().to_owned(),
        rule: said.rule.to_string(),
        offset: said.position.offset(),
        standing: match said.standing {
            Standing::Believed => "believed",
            Standing::Outranked => "outranked",
            Standing::FromBeforeTheWrite => "from_before_the_write",
            Standing::Silent => "silent",
        }
        .to_owned(),
    });
    ExplainInfo { hold: explanation.hold.as_ref().map(word), sources: sources.collect() }
}

/// The word by which a value stands in JSON.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Milliseconds a caller waits for a handoff when it does not say.
const PATIENCE_MS: u64 = 600_000;

/// Most milliseconds a caller waits for a handoff.
const MOST_PATIENCE_MS: u64 = 3_600_000;

/// How long a caller waits.
pub(crate) fn patience(timeout_ms: Option<u64>) -> Result<Duration, ApiError> {
    match timeout_ms.unwrap_or(PATIENCE_MS) {
        ms @ 0..=MOST_PATIENCE_MS => Ok(Duration::from_millis(ms)),
        ms => Err(ApiError::argument(format!("timeout_ms is {ms}, it can be 0..={MOST_PATIENCE_MS}"))),
    }
}

pub(crate) fn handoff(row: HandoffRow) -> HandoffReply {
    HandoffReply {
        id: row.id.to_string(),
        state: match row.state {
            HandoffState::Open => "open",
            HandoffState::Done => "done",
            HandoffState::Failed => "failed",
        }
        .to_owned(),
        result: row.result,
        caller: row.handoff.caller.map(|id| id.to_string()),
        worker: row.handoff.worker.to_string(),
    }
}
