//! Mail.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// When a message may be handed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// When the agent is ready.
    #[default]
    Ready,
    /// Before all that is not urgent; the turn that runs is stopped for it, where the agent's provider says how.
    Now,
}

/// How much one attempt takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Batching {
    /// One message.
    #[default]
    One,
    /// All that waits in a row from one sender, as one text: at most 100 messages and 64 KiB. Work is never in one.
    Drain,
}

/// How the mail of a terminal is to be handed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MailboxRequest {
    /// How much one attempt takes; unchanged without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batching: Option<Batching>,
}

/// How the inbox of a terminal stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MailboxInfo {
    /// Full id of the terminal.
    pub id: String,
    /// How much one attempt takes.
    pub batching: Batching,
    /// Messages that wait.
    pub pending: u64,
    /// Of these, those that are urgent.
    pub urgent: u64,
    /// Messages of which only a person can tell whether they arrived.
    pub uncertain: u64,
    /// The message that waits longest.
    pub oldest: Option<String>,
    /// For how long it waits, in milliseconds.
    pub oldest_age_ms: Option<u64>,
    /// Why mail would wait now: `busy`, `dialog`, `draft`, `unconfirmed`, `exited`, ...; null when it would be handed
    /// over, and for a terminal without an agent.
    pub hold: Option<String>,
}

/// What a sender waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AwaitMail {
    /// That the agent has it.
    Delivered,
    /// That the turn it began is over.
    Completed,
}

/// A message to be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendRequest {
    /// The text, at most 1 MiB.
    pub text: String,
    /// The terminal in whose name a person sends: full id, short id or unique name. A terminal that shows its token sends
    /// in its own name, and in no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The same text sent again to this terminal under the same key is the same message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// When it may be handed over.
    #[serde(default)]
    pub urgency: Urgency,
    /// Answer when this has come, or can no longer come, or the time is up; without it, at once. Whatever the answer,
    /// the message was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<AwaitMail>,
    /// Milliseconds to wait, at most 86,400,000. Default 600,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MessageInfo {
    /// Its id, `m17`.
    pub id: String,
    /// Its number in the receiver's inbox: 1, 2, 3, ... in the order in which messages were accepted.
    pub seq: u64,
    /// Full id of the terminal that gets it.
    pub to: String,
    /// Full id of the terminal that sent it; null is no terminal.
    pub from: Option<String>,
    /// What is known of a sender that is no terminal: `flow:NAME`, or `client:NAME` for a program that calls itself so,
    /// for which nothing vouches; null is a person.
    #[serde(default)]
    pub origin: Option<String>,
    /// `message`, `handoff`, `assign` or `notice`.
    pub kind: String,
    /// The text.
    pub text: String,
    /// Idempotency key.
    pub key: Option<String>,
    /// When it may be handed over.
    pub urgency: Urgency,
    /// `pending`, `dispatching`, `delivered`, `failed`, `uncertain` or `cancelled`.
    pub state: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why it failed, waits again or is uncertain.
    pub reason: Option<String>,
    /// RFC 3339.
    pub created_at: String,
    /// For how long it is undelivered, in milliseconds; null once it was delivered or cancelled.
    pub age_ms: Option<u64>,
    /// RFC 3339.
    pub delivered_at: Option<String>,
    /// How the delivery is known: `screen`, `hook`, `native`, ...
    pub evidence: Option<String>,
    /// The offset of that evidence in the receiver's log.
    pub offset: Option<u64>,
    /// The turn it began: `open` or `completed`.
    pub turn: Option<String>,
}
