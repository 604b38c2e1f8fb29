//! Flows, from and to the wire.

use ptyard_yard::flows::{Cause, Flow, FlowAgent, FlowRunRow, FlowSpec, Run, WhenDone};

use super::reply::time;
use super::request::absolute;
use crate::api::flows::{FlowAgentInfo, FlowInfo, FlowRequest, FlowRunInfo};
use crate::error::ApiError;

/// What is to be added.
pub(crate) fn spec(request: FlowRequest) -> Result<FlowSpec, ApiError> {
    ptyard_yard::check_variables("caller_env", &request.caller_env)?;
    let FlowAgentInfo { profile, provider, session, cwd, model, backend, args, unattended, keep } =
        request.agent;
    let agent = FlowAgent {
        profile,
        provider,
        session,
        cwd: absolute(cwd)?,
        model,
        backend,
        extra: args,
        unattended,
        when_done: if keep { WhenDone::Keep } else { WhenDone::End },
        profiles: request.profiles,
        caller_env: request.caller_env,
        ..FlowAgent::default()
    };
    Ok(FlowSpec { name: request.name, cron: request.cron, zone: request.zone, agent, text: request.text })
}

pub(crate) fn flow(flow: Flow) -> FlowInfo {
    let agent = flow.agent;
    FlowInfo {
        name: flow.name,
        cron: flow.cron,
        zone: flow.zone,
        agent: FlowAgentInfo {
            profile: agent.profile,
            provider: agent.provider,
            session: agent.session,
            cwd: agent.cwd.map(|cwd| cwd.display().to_string()),
            model: agent.model,
            backend: agent.backend,
            args: agent.extra,
            unattended: agent.unattended,
            keep: agent.when_done == WhenDone::Keep,
        },
        text: flow.text,
        paused: flow.run == Run::Paused,
        created_at: time(flow.created_at),
        next: flow.next.map(time),
        last: flow.last.map(run),
        trouble: flow.trouble,
    }
}

pub(crate) fn run(run: FlowRunRow) -> FlowRunInfo {
    FlowRunInfo {
        id: run.id.to_string(),
        flow: run.flow,
        cause: match run.cause {
            Cause::Schedule => "schedule",
            Cause::Asked => "asked",
        }
        .to_owned(),
        moment: run.moment.map(time),
        count: run.count,
        state: run.state.as_str().to_owned(),
        begun_at: time(run.begun_at),
        ended_at: run.ended_at.map(time),
        terminal: run.terminal.map(|id| id.to_string()),
        message: run.message.map(|id| id.to_string()),
        note: run.note,
    }
}
