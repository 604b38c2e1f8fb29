//! Documents, as CAO's clients read them.

use std::time::SystemTime;

use ptyard_core::turn::{Epoch, Status};
use ptyard_yard::agents::roster::{Member, Session};
use ptyard_yard::inbox::{Message, MessageState, Page, Purpose, Which};
use ptyard_yard::{Info, TerminalRef, Yard, YardError};
use serde_json::{Value, json};

use super::name::{self, Tid};
use crate::translate;

/// Who sends what neither a terminal nor a program sent that says what it is.
const PERSON: &str = "user";

/// Who says what the yard itself says, such as what a provider wants told before the first words.
const YARD: &str = "ptyard";

/// What an agent does.
pub(super) fn status(yard: &Yard, member: &Member) -> Result<Status, YardError> {
    let status = yard.status(&TerminalRef::Id(member.id))?;
    Ok(status.map_or(Status::Unknown, |status| status.report.status))
}

/// The same in CAO's words, by which its clients find the end of the turn that they began.
///
/// CAO knows no word for an agent that starts, and none for one whose program ended. One that is ready is `idle` before
/// its first turn and `completed` after; while a message waits for it that turn is still to come, so it is at work.
pub(super) async fn status_word(yard: &Yard, member: &Member) -> Result<&'static str, YardError> {
    let at = TerminalRef::Id(member.id);
    let Some(report) = yard.status(&at)?.map(|status| status.report) else { return Ok("unknown") };
    Ok(match report.status {
        Status::Starting => "unknown",
        Status::Exited => "error",
        Status::Idle | Status::Completed => {
            let waiting = yard.inbox(&at, Which::Undelivered, Page::default()).await?;
            if waiting.iter().any(|message| message_word(message.state) == "pending") {
                "processing"
            } else if report.epoch == Epoch::default() && report.status == Status::Idle {
                "idle"
            } else {
                "completed"
            }
        }
        other => other.as_str(),
    })
}

/// What became of the first words of an agent, for clients that wait for that; null while it has none.
async fn first_words(yard: &Yard, at: &TerminalRef) -> Result<Value, YardError> {
    /// What its provider wants told comes before them.
    const FIRST: u32 = 8;
    let first = yard.inbox(at, Which::All, Page { after: None, most: FIRST }).await?;
    let Some(words) = first.iter().find(|message| message.purpose != Purpose::Notice) else {
        return Ok(Value::Null);
    };
    let (kind, message) = match message_word(words.state) {
        "failed" => (Some(words.state.as_str()), words.reason.clone()),
        _ => (None, None),
    };
    Ok(json!({"state": message_word(words.state), "kind": kind, "message": message}))
}

/// One terminal by itself.
pub(super) async fn terminal(yard: &Yard, member: &Member) -> Result<Value, YardError> {
    let at = TerminalRef::Id(member.id);
    let info = yard.info(&at)?;
    Ok(json!({
        "id": Tid::of(member.id).to_string(),
        "name": name::window(member),
        "provider": member.provider,
        "session_name": member.session,
        "agent_profile": member.profile,
        "caller_id": member.creator.map(|creator| Tid::of(creator).to_string()),
        "allowed_tools": member.tools,
        "engine": null,
        "shell_command": null,
        "group": member.labels.group,
        "metadata": member.labels.metadata,
        "status": status_word(yard, member).await?,
        "last_active": last_active(&info),
        "initial_delivery": first_words(yard, &at).await?,
    }))
}

/// One terminal in a list.
pub(super) fn row(yard: &Yard, member: &Member) -> Result<Value, YardError> {
    let info = yard.info(&TerminalRef::Id(member.id))?;
    Ok(json!({
        "id": Tid::of(member.id).to_string(),
        "tmux_session": member.session,
        "tmux_window": name::window(member),
        "provider": member.provider,
        "agent_profile": member.profile,
        "working_directory": info.cwd,
        "engine": null,
        "last_active": last_active(&info),
    }))
}

/// All terminals of a session, its conductor first; those that are removed meanwhile are left out.
pub(super) fn rows(yard: &Yard, session: &Session) -> Vec<Value> {
    session.members.iter().filter_map(|member| row(yard, member).ok()).collect()
}

/// A session in a list.
pub(super) fn session(yard: &Yard, session: &Session) -> Value {
    let first = session.members.first();
    let info = first.and_then(|member| yard.info(&TerminalRef::Id(member.id)).ok());
    json!({
        "id": session.name.as_str(),
        "name": session.name.as_str(),
        "status": "detached",
        "working_directory": info.map(|info| info.cwd),
        "agent_profile": first.and_then(|member| member.profile.clone()),
    })
}

/// A message.
pub(super) fn message(message: &Message) -> Value {
    json!({
        "id": message.id.get(),
        "sender_id": sender(message),
        "receiver_id": Tid::of(message.to).to_string(),
        "message": message.text,
        "status": message_word(message.state),
        "created_at": translate::time(message.created_at),
    })
}

/// Who sent a message, as far as that is known.
fn sender(message: &Message) -> String {
    match (message.from, &message.origin) {
        (Some(terminal), _) => Tid::of(terminal).to_string(),
        (None, Some(origin)) => origin.name().to_owned(),
        (None, None) if message.purpose == Purpose::Notice => YARD.to_owned(),
        (None, None) => PERSON.to_owned(),
    }
}

/// CAO knows no word for a message that is being typed, and none for one whose arrival nobody can know.
pub(super) const fn message_word(state: MessageState) -> &'static str {
    match state {
        MessageState::Pending | MessageState::Dispatching => "pending",
        MessageState::Delivered => "delivered",
        MessageState::Failed | MessageState::Uncertain | MessageState::Cancelled => "failed",
    }
}

fn last_active(info: &Info) -> String {
    let at: SystemTime = info.last_output_at.unwrap_or(info.created_at);
    translate::time(at)
}
