//! Flows on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The agent that a flow starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowAgentInfo {
    /// The profile it is started as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What it runs on; goes before what the profile says. One of the two is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The session it works in; a new one for each run without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Working directory, absolute; also where the project's own profiles are looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model; goes before what the profile says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it runs; this machine without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// More arguments; for `generic` and `shell` the program itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// It may run tools without asking.
    #[serde(default)]
    pub unattended: bool,
    /// It stays when it is done; without this it is ended, and what it printed can be read until the next run.
    #[serde(default)]
    pub keep: bool,
}

/// Adds a flow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowRequest {
    /// Its name: 1 to 64 letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// When it runs: five fields as in cron, or `@daily` and the like; `CRON_TZ=ZONE` may stand before them.
    pub cron: String,
    /// The time zone that is meant; the server's own as it is now when neither this nor the schedule names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The agent it starts.
    pub agent: FlowAgentInfo,
    /// What the agent is told.
    pub text: String,
    /// Stated variables of the caller, kept for the runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub caller_env: BTreeMap<String, String>,
    /// The caller's `PTYARD_PROFILES`: directories that are searched for profiles first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiles: Option<String>,
}

/// A run of a flow, or several that never began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowRunInfo {
    /// Its id.
    pub id: String,
    /// The flow.
    pub flow: String,
    /// `schedule`, or `asked` for one that somebody asked for.
    pub cause: String,
    /// The moment of the calendar it stands for, the first one where it stands for several; null when it was asked for.
    pub moment: Option<String>,
    /// For how many moments it stands: more than one only where they were missed.
    pub count: u32,
    /// `starting`, `running`, `held` (it waits for a person), `completed`, `failed`; and of those that never began:
    /// `missed`, and `overlap` when the run before it was still going.
    pub state: String,
    /// When it began, or was told.
    pub begun_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// The terminal of its agent.
    pub terminal: Option<String>,
    /// The message that carries the work.
    pub message: Option<String>,
    /// What the agent answered, or why it is held, failed or did not begin. Untrusted text.
    pub note: Option<String>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowInfo {
    /// Its name.
    pub name: String,
    /// When it runs.
    pub cron: String,
    /// The time zone that is meant.
    pub zone: String,
    /// The agent it starts.
    pub agent: FlowAgentInfo,
    /// What the agent is told.
    pub text: String,
    /// Whether it is paused.
    pub paused: bool,
    /// When it was added.
    pub created_at: String,
    /// When it runs next; null while it is paused.
    pub next: Option<String>,
    /// Its newest run, also one that never began.
    pub last: Option<FlowRunInfo>,
    /// Why it never runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// A flow and its runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FlowReply {
    /// The flow.
    pub flow: FlowInfo,
    /// Its runs, newest first.
    pub runs: Vec<FlowRunInfo>,
}
