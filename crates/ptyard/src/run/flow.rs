//! `ptyard flow`.

use ptyard_core::typed;
use ptyard_server::api::flows::{FlowAgentInfo, FlowInfo, FlowReply, FlowRequest, FlowRunInfo};

use super::agent::PROFILES_VARIABLE;
use super::{Place, mail, working_directory};
use crate::args::{FlowAddArgs, FlowCommand};
use crate::environment;
use crate::failure::{Failure, status};
use crate::print::printable;

pub(super) async fn flow(place: &Place, command: FlowCommand) -> Result<u8, Failure> {
    match command {
        FlowCommand::Add(args) => {
            let request = request(*args)?;
            place.show(&place.client().await?.add_flow(&request).await?, added)?;
        }
        FlowCommand::List => {
            let all = place.client().await?.flows().await?;
            place.show(&all, |all| all.iter().map(line).collect())?;
        }
        FlowCommand::Show { name, most } => {
            place.show(&place.client().await?.flow(&name, most).await?, details)?;
        }
        FlowCommand::Run { name } => {
            let run = place.client().await?.run_flow(&name).await?;
            place.show(&run, run_line)?;
            return Ok(if run.state == "failed" { status::FAILED } else { status::DONE });
        }
        FlowCommand::Pause { name } => {
            place.show(&place.client().await?.change_flow(&name, "pause").await?, line)?;
        }
        FlowCommand::Resume { name } => {
            place.show(&place.client().await?.change_flow(&name, "resume").await?, line)?;
        }
        FlowCommand::Rm { name } => {
            place.show(&place.client().await?.remove_flow(&name).await?, |flow| {
                format!("{} is forgotten\n", printable(&flow.name))
            })?;
        }
    }
    Ok(status::DONE)
}

fn request(args: FlowAddArgs) -> Result<FlowRequest, Failure> {
    Ok(FlowRequest {
        name: args.name,
        cron: args.cron,
        zone: args.tz,
        agent: FlowAgentInfo {
            profile: args.profile,
            provider: args.provider,
            session: args.session,
            cwd: Some(working_directory(args.cwd.as_deref())?),
            model: args.model,
            backend: args.backend,
            args: args.extra,
            unattended: args.unattended,
            keep: args.keep,
        },
        text: if args.text == "-" { mail::stdin()? } else { args.text },
        caller_env: environment::of_caller(),
        profiles: std::env::var(PROFILES_VARIABLE).ok(),
    })
}

fn added(flow: &FlowInfo) -> String {
    let next = flow.next.as_deref().unwrap_or("never");
    format!(
        "{} runs next at {next} ({}, {})\n",
        printable(&flow.name),
        printable(&flow.cron),
        printable(&flow.zone)
    )
}

/// When it runs next, or why it does not.
fn next(flow: &FlowInfo) -> String {
    match (&flow.trouble, flow.paused, &flow.next) {
        (Some(trouble), ..) => format!("never runs: {}", printable(trouble)),
        (None, true, _) => "paused".to_owned(),
        (None, false, Some(next)) => format!("next at {next}"),
        (None, false, None) => "never again".to_owned(),
    }
}

fn line(flow: &FlowInfo) -> String {
    let last = flow.last.as_ref().map_or_else(String::new, |run| format!(", last {}", run.state));
    format!(
        "{:<20} {} {}: {}{last}\n",
        printable(&flow.name),
        printable(&flow.cron),
        printable(&flow.zone),
        next(flow)
    )
}

fn details(reply: &FlowReply) -> String {
    let FlowReply { flow, runs } = reply;
    let agent = &flow.agent;
    let what: Vec<&str> =
        [&agent.profile, &agent.provider].into_iter().filter_map(|name| name.as_deref()).collect();
    let lines = [
        ("name", flow.name.clone()),
        ("schedule", flow.cron.clone()),
        ("time zone", flow.zone.clone()),
        ("state", next(flow)),
        ("agent", what.join(" on ")),
        ("session", agent.session.clone().unwrap_or_else(|| "a new one for each run".to_owned())),
        ("directory", agent.cwd.clone().unwrap_or_else(|| "-".to_owned())),
        ("added", flow.created_at.clone()),
        ("prompt", flow.text.clone()),
    ];
    let head: String =
        lines.iter().map(|(name, value)| format!("{name:<12} {}\n", printable(value))).collect();
    head + &runs.iter().map(run_line).collect::<String>()
}

/// How much of a note is shown in a line.
const SHOWN_CHARS: usize = 100;

fn run_line(run: &FlowRunInfo) -> String {
    let when = run.moment.as_ref().map_or_else(|| format!("asked {}", run.begun_at), Clone::clone);
    let count = if run.count > 1 { format!(" and {} more", run.count - 1) } else { String::new() };
    let terminal = run.terminal.as_ref().map_or_else(String::new, |id| format!(" in {id}"));
    let note = run.note.as_ref().map_or_else(String::new, |note| {
        let note = typed::clean(note).text.replace(['\n', '\t'], " ");
        let shown: String = note.trim().chars().take(SHOWN_CHARS).collect();
        let more = if shown.len() < note.trim().len() { "…" } else { "" };
        format!(": {shown}{more}")
    });
    printable(&format!("{:<6} {:<10} {when}{count}{terminal}{note}", run.id, run.state)) + "\n"
}
