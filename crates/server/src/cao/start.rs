//! How agents are started for CAO's clients.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use ptyard_core::{TerminalId, typed};
use ptyard_yard::TerminalRef;
use ptyard_yard::agents::roster::Member;
use ptyard_yard::agents::{Labels, LaunchSpec, Voice};
use ptyard_yard::inbox::{Purpose, SendSpec};

use super::refusal::Refusal;
use super::{Cao, name};

/// What an agent runs on when nobody says.
pub(super) const USUAL_PROVIDER: &str = "kiro_cli";

/// The variable in which ptyard's own profiles are named.
const PROFILES_VARIABLE: &str = "PTYARD_PROFILES";

/// An agent that a client wants.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) profile: String,
    pub(super) provider: Option<String>,
    /// In full.
    pub(super) session: String,
    pub(super) cwd: Option<String>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) caller: Voice,
    pub(super) model: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    /// Its first words.
    pub(super) first: Option<String>,
    /// Whether these are work whose result it sends.
    pub(super) is_task: bool,
    pub(super) labels: Labels,
}

/// Names of sessions that are being made. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(Arc<Mutex<BTreeSet<String>>>);

impl Names {
    /// Takes a name until it is dropped; `None` while somebody else has it.
    pub(super) fn reserve(&self, name: &str) -> Option<Reserved> {
        let is_free = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        is_free.then(|| Reserved { names: self.clone(), name: name.to_owned() })
    }
}

/// A name that is taken.
#[derive(Debug)]
pub(super) struct Reserved {
    names: Names,
    name: String,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.names.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

/// Random bits.
pub(super) fn random() -> Result<u32, Refusal> {
    getrandom::u32().map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

impl Cao {
    /// Where CAO keeps the profiles that were installed.
    pub(super) fn profile_directory(&self) -> PathBuf {
        self.config.home.join("agent-store")
    }

    /// Where profiles are looked for: those of this process's user, then those that CAO installed, then where a person
    /// said.
    pub(super) fn profiles_variable(&self) -> OsString {
        let own = std::env::var_os(PROFILES_VARIABLE);
        let own = own.iter().flat_map(std::env::split_paths);
        let store = self.profile_directory();
        let set = self.directories();
        let set = set.of_profiles().map(Path::to_owned);
        // A path that cannot stand in a list of paths cannot be looked in either.
        std::env::join_paths(own.chain([store]).chain(set)).unwrap_or_default()
    }

    /// How the yard starts it.
    pub(super) fn launch_spec(&self, wanted: &Wanted) -> Result<LaunchSpec, Refusal> {
        let cwd = wanted.cwd.as_ref().map(PathBuf::from);
        if let Some(relative) = cwd.as_deref().filter(|cwd| !cwd.is_absolute()) {
            return Err(Refusal::bad(format!("Working directory {} is not absolute", relative.display())));
        }
        let creator = wanted.caller.clone();
        let is_unlimited = wanted.tools.as_ref().is_some_and(|tools| tools.iter().any(|tool| tool == "*"));
        Ok(LaunchSpec {
            provider: self.provider(wanted, creator.terminal, cwd.as_deref()),
            profile: Some(wanted.profile.clone()),
            session: Some(wanted.session.clone()),
            model: wanted.model.clone(),
            env: self.environment(wanted.env.clone()),
            // As CAO starts them: what they may not do is kept from them by the list of tools.
            unattended: true,
            tools: wanted.tools.as_deref().filter(|_| !is_unlimited).map(tools),
            tools_as_said: wanted.tools.clone(),
            labels: wanted.labels.clone(),
            backend: self.config.place.backend(&wanted.session),
            creator,
            profiles: Some(self.profiles_variable()),
            cwd,
            ..LaunchSpec::default()
        })
    }

    /// What it runs on; `None` leaves it to the profile and the caller.
    fn provider(&self, wanted: &Wanted, creator: Option<TerminalId>, cwd: Option<&Path>) -> Option<String> {
        let of_profile = || {
            let found =
                self.yard.profiles(Some(&self.profiles_variable()), cwd).find(&wanted.profile).ok()?;
            found.parsed.profile.provider
        };
        let is_known = wanted.provider.is_some() || creator.is_some() || of_profile().is_some();
        wanted.provider.clone().or_else(|| (!is_known).then(|| USUAL_PROVIDER.to_owned()))
    }

    /// What its clients in the terminal need to find this server, and what the caller gives.
    pub(super) fn environment(&self, given: BTreeMap<String, String>) -> BTreeMap<String, String> {
        let address = self.config.address;
        let mut env = given;
        env.insert(name::HOST_VARIABLE.to_owned(), address.ip().to_string());
        env.insert(name::PORT_VARIABLE.to_owned(), address.port().to_string());
        env.insert(name::HOME_VARIABLE.to_owned(), self.config.home.display().to_string());
        env
    }

    /// Starts it, and gives it its first words, which are on disk when this returns. It goes on when the client is gone.
    pub(super) async fn start(&self, wanted: Wanted) -> Result<Member, Refusal> {
        let spec = self.launch_spec(&wanted)?;
        let yard = self.yard.clone();
        let work = async move {
            let Wanted { first, caller, is_task, .. } = wanted;
            let Some(first) = first else { return yard.launch(spec).await };
            let purpose = if is_task { Purpose::Assign } else { Purpose::Message };
            yard.start_verbatim(spec, SendSpec { purpose, ..verbatim(&first, caller) }).await
        };
        let started = tokio::spawn(work).await;
        let broke =
            |error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the start broke off: {error}"));
        Ok(started.map_err(broke)??.member)
    }
}

/// Words as a client gives them: it has put its own lines around them.
pub(super) fn verbatim(text: &str, Voice { terminal, origin }: Voice) -> SendSpec {
    SendSpec { from: terminal.map(TerminalRef::Id), origin, ..SendSpec::new(typed::clean(text).text) }
}

/// A list of tools in the yard's words: MCP servers, which stand in it with an `@`, are the profile's affair here.
fn tools(given: &[String]) -> Vec<String> {
    let mut tools = Vec::new();
    for tool in given {
        match tool.as_str() {
            "fs_*" => tools.extend(["fs_read", "fs_write", "fs_list"].map(str::to_owned)),
            server if server.starts_with('@') => {}
            one => tools.push(one.to_owned()),
        }
    }
    tools
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_told_in_the_yard_s_words() {
        let given = ["@builtin", "fs_*", "execute_bash", "@cao-mcp-server"].map(str::to_owned);
        assert_eq!(tools(&given), ["fs_read", "fs_write", "fs_list", "execute_bash"]);
    }

    #[test]
    fn a_name_is_reserved_once_until_it_is_dropped() {
        let names = Names::default();
        let first = names.reserve("cao-a");
        assert!(first.is_some() && names.reserve("cao-a").is_none() && names.reserve("cao-b").is_some());
        drop(first);
        assert!(names.reserve("cao-a").is_some());
    }
}
