//! Agents on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Starts an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchRequest {
    /// The profile it is started as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What it runs on; goes before what the profile says. One of the two is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The session it works in; that of its creator or a new one without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// A unique name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Working directory, absolute; also where the project's own profiles are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model; goes before what the profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it runs; this machine without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Variables for it; values are never shown again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Stated variables of the caller.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caller_env: BTreeMap<String, String>,
    /// More arguments; for `generic` and `shell` the program itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// It may run tools without asking.
    #[serde(default)]
    pub unattended: bool,
    /// What is done about dialogs that come up at its start.
    #[serde(default, skip_serializing_if = "OnDialogInfo::is_ask")]
    pub on_dialog: OnDialogInfo,
    /// The first message for it: on disk when the answer comes, handed over once it is ready. Not for a worker, whose work
    /// it is already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The caller's `PTYARD_PROFILES`: directories that are searched for profiles first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiles: Option<String>,
}

/// What is done about dialogs that come up before an agent is ready for the first time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDialogInfo {
    /// They are shown as questions, and wait for a person.
    #[default]
    Ask,
    /// Whether the working directory is trusted is answered with yes; a person is asked the rest.
    TrustCwd,
}

impl OnDialogInfo {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_ask(&self) -> bool {
        *self == Self::Ask
    }
}

/// An agent, as far as others work with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemberInfo {
    /// Its terminal.
    pub id: String,
    /// The terminal that created it; null is a person.
    pub creator: Option<String>,
    /// The profile it was started as.
    pub profile: Option<String>,
    /// What it runs on.
    pub provider: String,
    /// How many agents stand between it and a person.
    pub depth: u8,
}

/// An agent that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaunchReply {
    /// Its terminal.
    pub id: String,
    /// Its short id.
    pub session_id: u32,
    /// The session it works in.
    pub session: String,
    /// What it is.
    pub agent: MemberInfo,
    /// The first message for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What was wanted and cannot be enforced, and what else the caller should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// What an agent asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockedOnInfo {
    /// `permission`, `question`, `auth` or `dialog`.
    pub kind: String,
    /// In its own words. Untrusted text.
    pub message: Option<String>,
}

/// A dispatch that makes no progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StalledInfo {
    /// Which attempt.
    pub attempt: u64,
    /// What is missing: `input_not_taken`, `not_submitted` or `no_evidence`.
    pub reason: String,
    /// For how long, in milliseconds.
    pub age_ms: u64,
}

/// What one source says of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceInfo {
    /// `native`, `hook`, `title`, `screen` or `exit`.
    pub source: String,
    /// The status it says.
    pub status: String,
    /// By which rule.
    pub rule: String,
    /// At which log offset; null for a source that counts by itself.
    pub offset: Option<u64>,
    /// `believed`, `outranked`, `from_before_the_write` or `silent`.
    pub standing: String,
}

/// Why an agent is taken to do what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExplainInfo {
    /// Why mail would wait now; null when it would be handed over.
    pub hold: Option<String>,
    /// What each source that has spoken says, the most trusted first.
    pub sources: Vec<SourceInfo>,
}

/// What an agent does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StatusReply {
    /// The terminal.
    pub id: String,
    /// `starting`, `idle`, `processing`, `completed`, `waiting_user_answer`, `error`, `exited` or `unknown`.
    pub status: String,
    /// Since when, for people.
    pub since: String,
    /// The turn.
    pub epoch: u64,
    /// Who decided.
    pub source: Option<String>,
    /// By which rule.
    pub rule: Option<String>,
    /// From which log offset.
    pub offset: Option<u64>,
    /// What it asks, while it waits for an answer.
    pub blocked_on: Option<BlockedOnInfo>,
    /// The dispatch that makes no progress.
    pub stalled: Option<StalledInfo>,
    /// The reasons, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<ExplainInfo>,
}

/// Answers what an agent asks. Exactly one field is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRequest {
    /// Words or a choice, typed as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Keys by name, such as `Down Enter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<String>,
}

/// An answer that was typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnswerReply {
    /// Whether it was typed: true.
    pub ok: bool,
    /// Characters removed from it: controls and escape sequences.
    pub removed: u64,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionInfo {
    /// Its name.
    pub name: String,
    /// The terminal that leads it.
    pub conductor: Option<String>,
    /// Everybody in it, oldest first.
    pub members: Vec<MemberInfo>,
}

/// A profile in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileInfo {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The provider it wants.
    pub provider: Option<String>,
    /// Its file; null is built in.
    pub file: Option<String>,
    /// Why it cannot be used.
    pub error: Option<String>,
    /// Another one of the same name comes first.
    pub shadowed: bool,
}

/// A kind of program that waits for tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProviderInfo {
    /// Its id.
    pub id: String,
    /// Its name; the id where there is none.
    pub name: String,
    /// The version of its manifest; null when none is in use.
    pub version: Option<String>,
    /// Versions of the program that it was tested with.
    pub tested: Vec<String>,
    /// `bundled`, `local` or `remote`; null when none is in use.
    pub origin: Option<String>,
    /// Why the manifest of this machine is not used, and what is instead; null when nothing is wrong.
    pub problem: Option<String>,
}

/// Starts a worker and gives it work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkRequest {
    /// The worker.
    pub worker: LaunchRequest,
    /// The work.
    pub text: String,
    /// How long the caller waits for the result of a handoff, in milliseconds; the handoff goes on after that. Default
    /// 600,000; at most 3,600,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The worker stays when it has answered; without this it is ended and removed.
    #[serde(default)]
    pub keep: bool,
}

/// A handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HandoffReply {
    /// Its id.
    pub id: String,
    /// `open`, `done` or `failed`.
    pub state: String,
    /// What the worker answered, or why there is no answer; null while it is open.
    pub result: Option<String>,
    /// Who gave the work; null is a person.
    pub caller: Option<String>,
    /// The worker's terminal.
    pub worker: String,
}

/// What a program told a hook of its.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HookRequest {
    /// In which words: `claude`, `gemini` or `copilot`.
    pub words: String,
    /// The document that it was given.
    pub told: serde_json::Value,
}

/// Who sends a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SpeakerReply {
    /// The terminal that speaks; null is a person.
    pub terminal: Option<String>,
    /// The session it works in; null when no agent is known to run there.
    pub session: Option<String>,
    /// The agent.
    pub agent: Option<MemberInfo>,
}

/// Says something to an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TellRequest {
    /// Who gets it: full id, short id or unique name. Without it, who created the speaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The text.
    pub text: String,
    /// The same text sent again under the same key is the same message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Work that was given; its result comes as a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssignReply {
    /// The worker.
    pub worker: LaunchReply,
    /// The message that carries the work.
    pub message: String,
}
