//! What flows are, to those who add them and look at them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::SystemTime;

use ptyard_store::{FlowRunRow, Run};
use serde::{Deserialize, Serialize};

use crate::agents::LaunchSpec;

/// The name of a flow: 1 to 64 bytes of letters, digits, `_`, `-` and `.`, the first one a letter or a digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowName(String);

/// A text that is no name of a flow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no name of a flow: 1 to 64 letters, digits, `_`, `-` and `.`, the first one a letter or a digit"
)]
pub struct BadFlowName(String);

impl FlowName {
    /// The text of it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FlowName {
    type Err = BadFlowName;

    fn from_str(text: &str) -> Result<Self, BadFlowName> {
        let is_name = (1..=64).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        if is_name { Ok(Self(text.to_owned())) } else { Err(BadFlowName(text.to_owned())) }
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What becomes of the agent of a run that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenDone {
    /// It is ended. What it printed can be read until the next run begins.
    #[default]
    End,
    /// It stays.
    Keep,
}

/// The agent that a flow starts. It is found, planned and started anew for each run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowAgent {
    /// What it is started as.
    pub profile: Option<String>,
    /// What it runs on; goes before what the profile says.
    pub provider: Option<String>,
    /// The session it works in; `None` is a new one for each run.
    pub session: Option<String>,
    /// Working directory.
    pub cwd: Option<PathBuf>,
    /// The model; goes before what the profile says.
    pub model: Option<String>,
    /// Where it runs; `None` is this machine.
    pub backend: Option<String>,
    /// More arguments; for `generic` and `shell` the program itself.
    pub extra: Vec<String>,
    /// Whether it may run tools without asking.
    pub unattended: bool,
    /// What becomes of it when it is done.
    pub when_done: WhenDone,
    /// The `PTYARD_PROFILES` of who added the flow.
    pub profiles: Option<String>,
    /// Variables for it, given by who added the flow.
    pub env: BTreeMap<String, String>,
    /// Stated variables of who added the flow.
    pub caller_env: BTreeMap<String, String>,
}

impl FlowAgent {
    pub(super) fn launch_spec(self) -> LaunchSpec {
        LaunchSpec {
            profile: self.profile,
            provider: self.provider,
            session: self.session,
            cwd: self.cwd,
            model: self.model,
            backend: self.backend,
            extra: self.extra,
            unattended: self.unattended,
            profiles: self.profiles.map(Into::into),
            env: self.env,
            caller_env: self.caller_env,
            ..LaunchSpec::default()
        }
    }
}

/// A flow to be added.
#[derive(Debug, Clone)]
pub struct FlowSpec {
    /// Its name, which is its own.
    pub name: String,
    /// When it runs: five fields as in cron.
    pub cron: String,
    /// The time zone that the fields are meant in; `None` is the one that they name, else that of the machine as it is now.
    pub zone: Option<String>,
    /// The agent it starts.
    pub agent: FlowAgent,
    /// What the agent is told.
    pub text: String,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// When it runs.
    pub cron: String,
    /// The time zone that is meant.
    pub zone: String,
    /// The agent it starts.
    pub agent: FlowAgent,
    /// What the agent is told.
    pub text: String,
    /// Whether it runs.
    pub run: Run,
    /// When it was added.
    pub created_at: SystemTime,
    /// When it runs next; `None` while it is paused, and when it cannot be read any more.
    pub next: Option<SystemTime>,
    /// Its newest run, also one that never began.
    pub last: Option<FlowRunRow>,
    /// Why it never runs: it was written by another version, say.
    pub trouble: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_in_paths_and_lines_as_it_is() {
        for good in ["nightly", "a.b-c_1", "7"] {
            assert_eq!(good.parse::<FlowName>().unwrap().to_string(), good);
        }
        for bad in ["", ".", "..", "-x", "a b", "a/b", "ä", &"x".repeat(65)] {
            assert!(bad.parse::<FlowName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_agent_that_an_earlier_version_wrote_down_is_read() {
        let agent: FlowAgent = serde_json::from_str(r#"{"profile":"reviewer"}"#).unwrap();
        assert_eq!(agent, FlowAgent { profile: Some("reviewer".to_owned()), ..FlowAgent::default() });
    }
}
