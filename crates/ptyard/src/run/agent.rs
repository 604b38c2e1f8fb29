//! The commands that are about agents.

use ptyard_core::typed;
use ptyard_server::api::agents::{
    AnswerRequest, HandoffReply, LaunchReply, LaunchRequest, MemberInfo, OnDialogInfo, ProfileInfo,
    SessionInfo, StatusReply, WorkRequest,
};

use super::{Place, mail, working_directory};
use crate::args::{AnswerArgs, LaunchArgs, OnDialog, ProfileCommand, SessionCommand, StatusArgs, WorkArgs};
use crate::environment;
use crate::failure::{Failure, status};
use crate::print::{self, Format, printable};

/// The variable with directories of profiles.
pub(crate) const PROFILES_VARIABLE: &str = "PTYARD_PROFILES";

pub(super) async fn launch(place: &Place, args: LaunchArgs) -> Result<u8, Failure> {
    let request = LaunchRequest {
        profile: args.profile,
        provider: args.provider,
        session: args.session,
        name: args.name,
        cwd: Some(working_directory(args.cwd.as_deref())?),
        model: args.model,
        backend: args.backend,
        env: environment::given(&args.env)?,
        caller_env: environment::of_caller(),
        args: args.extra,
        unattended: args.unattended,
        on_dialog: on_dialog(args.on_dialog),
        message: if args.message.as_deref() == Some("-") { Some(mail::stdin()?) } else { args.message },
        profiles: std::env::var(PROFILES_VARIABLE).ok(),
    };
    let reply = place.client().await?.launch(&request).await?;
    if place.format == Format::Text {
        for notice in &reply.notices {
            print::note(&printable(notice));
        }
    }
    place.show(&reply, launched)?;
    Ok(status::DONE)
}

fn on_dialog(wanted: OnDialog) -> OnDialogInfo {
    match wanted {
        OnDialog::Ask => OnDialogInfo::Ask,
        OnDialog::TrustCwd => OnDialogInfo::TrustCwd,
    }
}

fn launched(reply: &LaunchReply) -> String {
    let id = reply.session_id;
    let message =
        reply.message.as_deref().map_or_else(String::new, |id| format!("; {id} is its first message"));
    format!(
        "{} {id} in session {}; `ptyard attach {id}` shows it{message}\n",
        what(&reply.agent),
        printable(&reply.session)
    )
}

/// The profile, else the provider.
fn what(agent: &MemberInfo) -> String {
    printable(agent.profile.as_ref().unwrap_or(&agent.provider))
}

pub(super) async fn state_of(place: &Place, args: &StatusArgs) -> Result<u8, Failure> {
    let reply = place.client().await?.status(&args.at.id, args.explain).await?;
    place.show(&reply, told)?;
    Ok(status::DONE)
}

fn told(reply: &StatusReply) -> String {
    let by = reply.source.as_deref().map_or_else(String::new, |source| format!(" ({source})"));
    let mut text = format!("{}{by}, turn {}, since {}\n", reply.status, reply.epoch, reply.since);
    if let Some(blocked) = &reply.blocked_on {
        let message = blocked
            .message
            .as_deref()
            .map_or_else(String::new, |message| format!(": {}", printable(message)));
        text.push_str(&format!("asks       {}{message}\n", blocked.kind));
    }
    if let Some(stalled) = &reply.stalled {
        text.push_str(&format!("stalled    {} for {} ms\n", stalled.reason, stalled.age_ms));
    }
    if let Some(explain) = &reply.explain {
        text.push_str(&format!(
            "mail       {}\n",
            explain.hold.as_deref().map_or("is handed over", |hold| hold)
        ));
        for said in &explain.sources {
            let at = said.offset.map_or_else(String::new, |offset| format!(" at {offset}"));
            text.push_str(&format!(
                "{:<10} {} by {}{at}, {}\n",
                said.source,
                said.status,
                printable(&said.rule),
                said.standing
            ));
        }
    }
    text
}

pub(super) async fn reset(place: &Place, id: &str) -> Result<u8, Failure> {
    let reply = place.client().await?.reset(id).await?;
    if place.format == Format::Json {
        print::json(&reply)?;
    }
    Ok(status::DONE)
}

pub(super) async fn answer(place: &Place, args: AnswerArgs) -> Result<u8, Failure> {
    let request = AnswerRequest { text: args.text, keys: args.keys };
    let reply = place.client().await?.answer(&args.at.id, &request).await?;
    if place.format == Format::Json {
        print::json(&reply)?;
    } else if reply.removed > 0 {
        print::note(&format!(
            "{} characters were controls or escape sequences and were not typed",
            reply.removed
        ));
    }
    Ok(status::DONE)
}

pub(super) async fn session(place: &Place, command: SessionCommand) -> Result<u8, Failure> {
    let mut client = place.client().await?;
    match command {
        SessionCommand::List => {
            place.show(&client.sessions().await?, |all| all.iter().map(line).collect())?;
        }
        SessionCommand::Show { name } => place.show(&client.session(&name).await?, details)?,
        SessionCommand::Shutdown { name } => {
            place.show(&client.shut_down_session(&name).await?, |session| {
                format!(
                    "{}: {} terminals ended and removed\n",
                    printable(&session.name),
                    session.members.len()
                )
            })?;
        }
    }
    Ok(status::DONE)
}

fn line(session: &SessionInfo) -> String {
    let conductor = session.conductor.as_deref().unwrap_or("-");
    format!("{:<24} {:>3} terminals, led by {conductor}\n", printable(&session.name), session.members.len())
}

fn details(session: &SessionInfo) -> String {
    let member = |member: &MemberInfo| {
        let leads = if session.conductor.as_ref() == Some(&member.id) { " leads" } else { "" };
        let creator = member.creator.as_deref().map_or_else(String::new, |id| format!(" created by {id}"));
        format!("{} {} on {}{leads}{creator}\n", member.id, what(member), printable(&member.provider))
    };
    session.members.iter().map(member).collect()
}

pub(super) async fn profile(place: &Place, command: &ProfileCommand) -> Result<u8, Failure> {
    let ProfileCommand::List = command;
    let variable = std::env::var(PROFILES_VARIABLE).ok();
    let project = working_directory(None)?;
    let all = place.client().await?.profiles(variable.as_deref(), &project).await?;
    place.show(&all, |all| all.iter().map(profile_line).collect())?;
    Ok(status::DONE)
}

fn profile_line(profile: &ProfileInfo) -> String {
    let file = profile.file.as_deref().unwrap_or("built in");
    let told = match (&profile.error, profile.shadowed) {
        (Some(error), _) => format!("cannot be used: {error}"),
        (None, true) => "not used: another one of this name comes first".to_owned(),
        (None, false) => profile.description.clone(),
    };
    format!("{:<20} {} ({})\n", printable(&profile.name), printable(&told), printable(file))
}

/// Exit status of a handoff that is not settled: the worker is still at it.
const STILL_OPEN: u8 = 1;

pub(super) async fn hand_off(place: &Place, args: WorkArgs, timeout_s: Option<f64>) -> Result<u8, Failure> {
    let timeout_ms = timeout_s.map(|seconds| (seconds.max(0.0) * 1000.0) as u64);
    let request = WorkRequest { timeout_ms, keep: args.keep, ..work(args)? };
    told_handoff(place, &place.client().await?.hand_off(&request).await?)
}

pub(super) async fn handoff_result(place: &Place, id: &str, timeout_s: Option<f64>) -> Result<u8, Failure> {
    let timeout_ms = timeout_s.map_or(0, |seconds| (seconds.max(0.0) * 1000.0) as u64);
    told_handoff(place, &place.client().await?.handoff(id, timeout_ms).await?)
}

fn told_handoff(place: &Place, reply: &HandoffReply) -> Result<u8, Failure> {
    place.show(reply, |reply| {
        reply.result.as_ref().map_or_else(String::new, |result| format!("{}\n", typed::clean(result).text))
    })?;
    match reply.state.as_str() {
        "done" => Ok(status::DONE),
        "failed" => Ok(status::FAILED),
        _ => {
            print::note(&format!(
                "the worker {} is still at it; `ptyard result {}` asks again",
                reply.worker, reply.id
            ));
            Ok(STILL_OPEN)
        }
    }
}

pub(super) async fn assign(place: &Place, args: WorkArgs) -> Result<u8, Failure> {
    let reply = place.client().await?.assign(&work(args)?).await?;
    place.show(&reply, |reply| launched(&reply.worker))?;
    Ok(status::DONE)
}

fn work(args: WorkArgs) -> Result<WorkRequest, Failure> {
    let worker = LaunchRequest {
        profile: Some(args.profile),
        provider: args.provider,
        session: args.session,
        cwd: Some(working_directory(args.cwd.as_deref())?),
        model: args.model,
        caller_env: environment::of_caller(),
        args: args.extra,
        unattended: args.unattended,
        on_dialog: on_dialog(args.on_dialog),
        profiles: std::env::var(PROFILES_VARIABLE).ok(),
        ..LaunchRequest::default()
    };
    Ok(WorkRequest { worker, text: args.text, ..WorkRequest::default() })
}
