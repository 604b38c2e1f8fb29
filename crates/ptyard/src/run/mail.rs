//! `ptyard send`, `inbox` and `message`.

use std::io::Read;

use ptyard_server::api::{
    AwaitMail, Batching, MailboxInfo, MailboxRequest, MessageInfo, SendRequest, Urgency,
};

use super::{Place, wait};
use crate::args::{BatchingArg, InboxArgs, MessageAction, MessageArgs, SendArgs, UrgencyArg, WaitFor};
use crate::failure::{Failure, status};
use crate::print::printable;

/// How much of a text is shown in a list.
const SHOWN_CHARS: usize = 60;

/// Most bytes read from stdin: one more than a message may have, so that the server says what is too much.
const MOST_BYTES: u64 = (1 << 20) + 1;

pub(super) async fn send(place: &Place, args: SendArgs) -> Result<u8, Failure> {
    let text = if args.text == "-" { stdin()? } else { args.text };
    let wait = args.wait.map(|wait| match wait {
        WaitFor::Delivered => AwaitMail::Delivered,
        WaitFor::Completed => AwaitMail::Completed,
    });
    let request = SendRequest {
        text,
        from: args.from,
        key: args.key,
        urgency: match args.urgency {
            UrgencyArg::Ready => Urgency::Ready,
            UrgencyArg::Now => Urgency::Now,
        },
        wait,
        timeout_ms: args.timeout.map(wait::milliseconds).transpose()?,
    };
    let message = place.client().await?.send_message(&args.to, &request).await?;
    place.show(&message, line)?;
    Ok(if wait.is_none_or(|wait| has_come(wait, &message)) { status::DONE } else { status::FAILED })
}

/// Whether what was waited for has come.
fn has_come(wait: AwaitMail, message: &MessageInfo) -> bool {
    let over = message.turn.as_deref() == Some("completed");
    message.state == "delivered" && (wait == AwaitMail::Delivered || over)
}

pub(super) async fn inbox(place: &Place, args: &InboxArgs) -> Result<u8, Failure> {
    let batching = args.batching.map(|batching| match batching {
        BatchingArg::One => Batching::One,
        BatchingArg::Drain => Batching::Drain,
    });
    if args.summary || batching.is_some() {
        let mut client = place.client().await?;
        let mailbox = match batching {
            Some(_) => client.set_mailbox(&args.at.id, &MailboxRequest { batching }).await?,
            None => client.mailbox(&args.at.id).await?,
        };
        place.show(&mailbox, summary)?;
        return Ok(status::DONE);
    }
    let all = place.client().await?.inbox(&args.at.id, args.all).await?;
    place.show(&all, |all| all.iter().map(line).collect())?;
    Ok(status::DONE)
}

pub(super) async fn message(place: &Place, args: &MessageArgs) -> Result<u8, Failure> {
    let mut client = place.client().await?;
    let message = match args.action {
        None => client.message(&args.id).await?,
        Some(MessageAction::Retry) => client.change_message(&args.id, "retry").await?,
        Some(MessageAction::Cancel) => client.change_message(&args.id, "cancel").await?,
    };
    place.show(&message, details)?;
    Ok(status::DONE)
}

pub(super) fn stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("stdin cannot be read: {error}"), "give the text itself"))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("stdin is not UTF-8".to_owned(), "messages are text"))
}

fn summary(mailbox: &MailboxInfo) -> String {
    let oldest = mailbox.oldest_age_ms.map_or_else(String::new, |ms| format!(", the oldest for {}", age(ms)));
    let hold = mailbox.hold.as_ref().map_or_else(String::new, |hold| format!("; held: {hold}"));
    let batching = match mailbox.batching {
        Batching::One => "one",
        Batching::Drain => "drain",
    };
    format!(
        "{} wait ({} urgent){oldest}; {} uncertain{hold}; batching: {batching}\n",
        mailbox.pending, mailbox.urgent, mailbox.uncertain
    )
}

/// An age, as people say it.
fn age(ms: u64) -> String {
    match ms / 1_000 {
        s @ 0..60 => format!("{s} s"),
        s @ 60..7_200 => format!("{} min", s / 60),
        s => format!("{} h", s / 3_600),
    }
}

fn line(message: &MessageInfo) -> String {
    let mut text: String = message.text.chars().take(SHOWN_CHARS).collect();
    if text.len() < message.text.len() {
        text.push('…');
    }
    let reason = message.reason.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
    let from = message.from.as_deref().or(message.origin.as_deref()).unwrap_or("-");
    let age = message.age_ms.map_or_else(String::new, |ms| format!(" for {}", age(ms)));
    let urgent = if message.urgency == Urgency::Now { " urgent" } else { "" };
    let line = format!(
        "{}{urgent} {}{age}{reason} {} from {from}: {text}",
        message.id, message.state, message.created_at
    );
    printable(&line) + "\n"
}

fn details(message: &MessageInfo) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let lines = [
        ("id", message.id.clone()),
        ("to", message.to.clone()),
        ("from", or_none(&message.from)),
        ("origin", or_none(&message.origin)),
        ("kind", message.kind.clone()),
        ("state", message.state.clone()),
        ("reason", or_none(&message.reason)),
        ("attempts", message.attempts.to_string()),
        ("created", message.created_at.clone()),
        ("delivered", or_none(&message.delivered_at)),
        ("turn", or_none(&message.turn)),
        ("text", message.text.clone()),
    ];
    lines.iter().map(|(name, value)| format!("{name:<12} {}\n", printable(value))).collect()
}
