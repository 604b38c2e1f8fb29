//! What the tools of a team answer, as text.

use ptyard_core::typed;
use ptyard_server::api::MessageInfo;
use ptyard_server::api::agents::{HandoffReply, ProfileInfo, StatusReply};

/// How much of a message is shown in a list.
const SHOWN_CHARS: usize = 200;

/// Text of somebody else, without controls.
pub(super) fn plain(text: &str) -> String {
    typed::clean(text).text
}

/// The same in one line.
pub(super) fn one_line(text: &str) -> String {
    let line = plain(text).replace(['\n', '\t'], " ");
    let shown: String = line.chars().take(SHOWN_CHARS).collect();
    if shown.len() < line.len() { shown + "…" } else { shown }
}

pub(super) fn status(id: &str, reply: &StatusReply) -> String {
    let asks = reply.blocked_on.as_ref().map_or_else(String::new, |blocked| {
        let message =
            blocked.message.as_deref().map_or_else(String::new, |text| format!(": {}", one_line(text)));
        format!(" It asks ({}){message}.", blocked.kind)
    });
    let stalled = reply.stalled.as_ref().map_or_else(String::new, |stalled| {
        format!(" A message makes no progress for {} ms: {}.", stalled.age_ms, stalled.reason)
    });
    format!("Terminal {id} is {} since {}.{asks}{stalled}", reply.status, reply.since)
}

pub(super) fn messages(all: &[MessageInfo]) -> String {
    let line = |message: &MessageInfo| {
        let from = message.from.as_deref().or(message.origin.as_deref()).unwrap_or("the user");
        format!("{} {} from {}: {}", message.id, message.state, one_line(from), one_line(&message.text))
    };
    match all {
        [] => "There are no messages.".to_owned(),
        all => all.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

pub(super) fn handoffs(all: &[HandoffReply]) -> String {
    let line = |handoff: &HandoffReply| {
        let result =
            handoff.result.as_deref().map_or_else(String::new, |text| format!(": {}", one_line(text)));
        format!("{} {} by {}{result}", handoff.id, handoff.state, handoff.worker)
    };
    match all {
        [] => "There are no handoffs of yours.".to_owned(),
        all => all.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

pub(super) fn profiles(all: &[ProfileInfo]) -> String {
    let lines: Vec<String> = all
        .iter()
        .filter(|profile| profile.error.is_none() && !profile.shadowed)
        .map(|profile| format!("{}: {}", one_line(&profile.name), one_line(&profile.description)))
        .collect();
    if lines.is_empty() { "There are no profiles.".to_owned() } else { lines.join("\n") }
}
