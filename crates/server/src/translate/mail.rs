//! Mail.

use std::time::{Duration, SystemTime};

use ptyard_core::MessageId;
use ptyard_yard::inbox::{self, Inbox, Message, MessageState, SendSpec, Until};

use super::reply::time;
use crate::api::{AwaitMail, Batching, MailboxInfo, MessageInfo, SendRequest, Urgency};
use crate::error::ApiError;

/// How long a sender waits when it does not say.
const DEFAULT_WAIT: Duration = Duration::from_secs(600);

/// Longest wait: a day.
const MAX_WAIT_MS: u64 = 86_400_000;

/// A message to be sent, and what is waited for, for how long at most.
pub(crate) fn send_spec(request: SendRequest) -> Result<(SendSpec, Option<(Until, Duration)>), ApiError> {
    let at_most = match request.timeout_ms {
        Some(ms) if ms > MAX_WAIT_MS => {
            return Err(ApiError::argument(format!(
                "timeout_ms is {ms}, at most {MAX_WAIT_MS} can be waited"
            )));
        }
        ms => ms.map_or(DEFAULT_WAIT, Duration::from_millis),
    };
    let until = request.wait.map(|wait| match wait {
        AwaitMail::Delivered => Until::Delivered,
        AwaitMail::Completed => Until::Completed,
    });
    // Whatever is not an id is a name.
    let Ok(from) = request.from.map(|from| from.parse()).transpose();
    let spec = SendSpec {
        from,
        key: request.key,
        urgency: match request.urgency {
            Urgency::Ready => inbox::Urgency::Ready,
            Urgency::Now => inbox::Urgency::Now,
        },
        ..SendSpec::new(request.text)
    };
    Ok((spec, until.map(|until| (until, at_most))))
}

/// The id of a message in a path.
pub(crate) fn message_id(text: &str) -> Result<MessageId, ApiError> {
    text.parse().map_err(|_| ApiError::argument(format!("{text:?} is not the id of a message, such as m17")))
}

pub(crate) fn batching(batching: Batching) -> inbox::Batching {
    match batching {
        Batching::One => inbox::Batching::One,
        Batching::Drain => inbox::Batching::Drain,
    }
}

/// How an inbox stands at `now`.
pub(crate) fn mailbox(Inbox { id, mailbox, hold }: &Inbox, now: SystemTime) -> MailboxInfo {
    MailboxInfo {
        id: id.to_string(),
        batching: match mailbox.batching {
            inbox::Batching::One => Batching::One,
            inbox::Batching::Drain => Batching::Drain,
        },
        pending: mailbox.pending,
        urgent: mailbox.urgent,
        uncertain: mailbox.uncertain,
        oldest: mailbox.oldest.map(|(id, _)| id.to_string()),
        oldest_age_ms: mailbox.oldest.map(|(_, sent)| age_ms(sent, now)),
        hold: hold.and_then(|hold| serde_json::to_value(hold).ok()?.as_str().map(str::to_owned)),
    }
}

/// Nothing when the clock was set back.
fn age_ms(since: SystemTime, now: SystemTime) -> u64 {
    u64::try_from(now.duration_since(since).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// A message.
pub(crate) fn message(message: Message) -> MessageInfo {
    let is_settled = matches!(message.state, MessageState::Delivered | MessageState::Cancelled);
    MessageInfo {
        id: message.id.to_string(),
        seq: message.seq,
        to: message.to.to_string(),
        from: message.from.map(|from| from.to_string()),
        origin: message.origin.map(|origin| origin.to_string()),
        kind: message.purpose.as_str().to_owned(),
        text: message.text,
        key: message.key,
        urgency: match message.urgency {
            inbox::Urgency::Ready => Urgency::Ready,
            inbox::Urgency::Now => Urgency::Now,
        },
        state: message.state.as_str().to_owned(),
        attempts: message.attempts,
        reason: message.reason,
        created_at: time(message.created_at),
        age_ms: (!is_settled).then(|| age_ms(message.created_at, SystemTime::now())),
        delivered_at: message.delivered_at.map(time),
        evidence: message.evidence,
        offset: message.offset,
        turn: message.turn.map(|turn| turn.as_str().to_owned()),
    }
}
