//! Starting agents.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptyard_core::{SessionId, Size, TerminalId};
use ptyard_providers::launch::{Door, PlanFile};
use ptyard_providers::{Dialog, Provider};
use ptyard_store::SessionName;
use ptyard_terminal::agent::Earlier;
use ptyard_terminal::backend::{Grounds, Io, Placing};
use tokio::sync::watch;

use super::deliver::Deliverer;
use super::dialogs::{AtStart, OnDialog};
use super::error::AgentError;
use super::labels::Labels;
use super::listen::{self, door::Served};
use super::mail::{Voice, abandoned_by_nobody};
use super::plan::{plan, wanted};
use super::profile::{Library, Profile};
use super::roster::Member;
use super::servers;
use super::team;
use super::token::{TOKEN_VARIABLE, Token};
use crate::entry::Entry;
use crate::error::YardError;
use crate::exec::LOCAL;
use crate::ids;
use crate::inbox::{self, SendSpec};
use crate::spec::{ExecSpec, Program, TerminalRef};
use crate::yard::Yard;

/// The provider of programs of no known kind.
pub(super) const GENERIC: &str = "generic";

/// The variable by which an agent knows its session.
const SESSION_VARIABLE: &str = "PTYARD_SESSION";

/// The variable by which programs find the state directory.
pub const STATE_VARIABLE: &str = "PTYARD_STATE";

/// The size of an agent's terminal: what every CLI was recorded with, and wide enough for their dialogs.
const COLUMNS_ROWS: (i64, i64) = (120, 40);

/// Says how another program's clients know an agent; `None` when they do not know it.
pub type Alias = fn(&Member) -> Option<Known>;

/// How another program's clients know an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Variables by which its program knows what it is called. The MCP servers of its profile get them, too: some
    /// programs start servers with few variables of their own.
    pub variables: Vec<(&'static str, String)>,
    /// Names of variables that these servers get as well, where the agent is given them.
    pub shared: &'static [&'static str],
    /// What people see it called at a place that shows programs by name.
    pub title: String,
}

impl Known {
    /// What the MCP servers of an agent are told that is given these variables.
    fn told(&self, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let variables = self.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let shared =
            self.shared.iter().filter_map(|name| Some(((*name).to_owned(), given.get(*name)?.clone())));
        shared.chain(variables).collect()
    }
}

/// An agent to start.
#[derive(Debug, Clone, Default)]
pub struct LaunchSpec {
    /// What it is started as.
    pub profile: Option<String>,
    /// What it runs on; goes before what the profile says.
    pub provider: Option<String>,
    /// The session it works in; `None` is that of its creator, else a new one.
    pub session: Option<String>,
    /// A unique name.
    pub name: Option<String>,
    /// Working directory.
    pub cwd: Option<PathBuf>,
    /// The model; goes before what the profile says.
    pub model: Option<String>,
    /// Where it runs; `None` is this machine.
    pub backend: Option<String>,
    /// Variables given by the caller; values are never shown again.
    pub env: BTreeMap<String, String>,
    /// Stated variables of the caller.
    pub caller_env: BTreeMap<String, String>,
    /// More arguments; for `generic` and `shell` the program itself.
    pub extra: Vec<String>,
    /// Whether it may run tools without asking.
    pub unattended: bool,
    /// What is done about dialogs at its start.
    pub on_dialog: OnDialog,
    /// The tools it may use; goes before what the profile says.
    pub tools: Option<Vec<String>>,
    /// The same in the words of a caller who has other words for them, to be told to that one again.
    pub tools_as_said: Option<Vec<String>>,
    /// What is written on it.
    pub labels: Labels,
    /// Who creates it.
    pub creator: Voice,
    /// The caller's `PTYARD_PROFILES`.
    pub profiles: Option<OsString>,
}

/// An agent that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launched {
    /// Its terminal.
    pub id: TerminalId,
    /// Its short id.
    pub short: SessionId,
    /// Who it works with.
    pub member: Member,
    /// What was wanted and cannot be enforced, and what else the caller should know.
    pub notices: Vec<String>,
}

/// What stands in a terminal's directory before its program starts.
#[derive(Debug, Default)]
pub(crate) struct Furnishing {
    pub(crate) program: Option<Program>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) title: Option<String>,
    files: Vec<PlanFile>,
    token: Option<Token>,
    member: Option<Member>,
    served: Option<Served>,
}

impl Furnishing {
    /// What must be known of when something is typed into it: an agent's turns are told by that.
    pub(crate) fn placing(&self) -> Placing {
        if self.member.is_some() { Placing::Exact } else { Placing::Loose }
    }

    /// Writes it.
    pub(crate) fn place(&self, directory: &Path) -> io::Result<()> {
        if let Some(token) = &self.token {
            token.keep(directory)?;
        }
        if let Some(member) = &self.member {
            team::keep(member, directory)?;
        }
        if let Some(served) = &self.served {
            served.keep(directory)?;
        }
        for file in &self.files {
            if let Some(parent) = file.path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            }
            let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.path)?;
            open.write_all(file.text.as_bytes())?;
        }
        Ok(())
    }
}

impl Yard {
    /// Starts an agent: finds its profile and its provider, plans the start, and has its turns kept. It goes on when the
    /// caller is gone: an agent that nobody attends would get no mail.
    pub async fn launch(&self, spec: LaunchSpec) -> Result<Launched, YardError> {
        let yard = self.clone();
        abandoned_by_nobody(async move { yard.launch_attended(spec).await }).await
    }

    async fn launch_attended(&self, spec: LaunchSpec) -> Result<Launched, YardError> {
        let (profile, mut notices) = self.profile_of(&spec)?;
        let provider = self.provider_of(&spec, profile.as_ref())?;
        let session = session_name(spec.session.as_deref())?;
        let (session, depth) =
            self.inner.team.roster().place(spec.creator.terminal, session).map_err(AgentError::from)?;
        let session = session.map_or_else(|| format!("s-{}", ids::chunk_id()), |name| name.to_string());
        let io = Io::Tty(Size::new(COLUMNS_ROWS.0, COLUMNS_ROWS.1).unwrap_or(Size::DEFAULT));
        let exec = ExecSpec {
            program: Program::Argv(vec![provider.id().to_owned()]),
            backend: spec.backend.clone(),
            name: spec.name.clone(),
            io,
            cwd: spec.cwd.clone(),
            env: spec.env.clone(),
            caller_env: spec.caller_env.clone(),
            policy: None,
            limits: Default::default(),
            naming: Default::default(),
            window: crate::spec::WindowSpec::default(),
        };
        let mut planned = Planned::default();
        let member = |id| Member {
            id,
            session: session.clone(),
            creator: spec.creator.terminal,
            profile: profile.as_ref().map(|profile| profile.name.to_string()),
            provider: provider.id().to_owned(),
            depth,
            tools: spec.tools_as_said.clone().or_else(|| spec.tools.clone()),
            labels: spec.labels.clone(),
        };
        let state = self.inner.config.state.clone();
        let (of_profile, told) =
            servers::of_profile(profile.as_ref().map_or(&Default::default(), |profile| &profile.mcp_servers));
        notices.extend(told);
        // Elsewhere there is no `ptyard` that could reach this yard.
        let is_here = self.backend(spec.backend.as_deref().unwrap_or(LOCAL))?.grounds() == Grounds::Here;
        let program = self.inner.config.program.clone().filter(|_| is_here);
        let alias = self.inner.config.alias;
        let door = self.door(&spec, &provider).filter(|_| is_here);
        let furnish = |id: TerminalId, directory: &Path, env: &BTreeMap<String, String>| {
            let token = Token::draw();
            let member = member(id);
            let known = alias.and_then(|alias| alias(&member));
            let mut of_profile = of_profile;
            if let Some(known) = &known {
                servers::introduce(&mut of_profile, &known.told(&spec.env));
            }
            let mut wanted = wanted(&spec, profile.as_ref(), &provider, directory, env);
            wanted.mcp = program
                .iter()
                .map(|program| servers::own(program, &state, id, &token))
                .chain(of_profile)
                .collect();
            wanted.hook = program.as_deref().map(|program| program.display().to_string());
            wanted.door.clone_from(&door);
            let plan = plan(&provider, &wanted)?;
            let served = plan.events.zip(door.clone()).map(|(words, door)| Served { words, door });
            planned = Planned {
                notices: plan.advisory.clone(),
                first_message: plan.first_message.clone(),
                served: served.clone(),
            };
            let mut env = plan.env;
            env.extend(spec.env.clone());
            env.insert(TOKEN_VARIABLE.to_owned(), token.reveal());
            env.insert(SESSION_VARIABLE.to_owned(), session.clone());
            env.insert(STATE_VARIABLE.to_owned(), state.display().to_string());
            let title = known.map(|Known { variables, title, .. }| {
                env.extend(variables.into_iter().map(|(name, value)| (name.to_owned(), value)));
                title
            });
            Ok(Furnishing {
                program: Some(Program::Argv(plan.argv)),
                env,
                title,
                files: plan.files,
                token: Some(token),
                member: Some(member),
                served,
            })
        };
        let (entry, warnings) = self.start_furnished(exec, furnish).await?;
        let member = member(entry.id());
        notices.extend(warnings);
        notices.extend(planned.notices);
        {
            let mut roster = self.inner.team.roster();
            roster.join(member.clone());
            notices.extend(roster.crowd(&member.session));
        }
        let dialogs = self.attend(&entry, provider.id(), None).await;
        if let Some(served) = planned.served {
            listen::listen(&entry, served);
        }
        if let Some(dialogs) = dialogs {
            let (on_dialog, cwd) = (spec.on_dialog, spec.cwd.clone());
            let provider = Arc::clone(&provider);
            self.answer_at_start(&entry, AtStart { on_dialog, provider, cwd, dialogs });
        }
        if let Some(first) = &planned.first_message {
            let first = SendSpec { purpose: inbox::Purpose::Notice, ..SendSpec::new(first.clone()) };
            self.send(&TerminalRef::Id(entry.id()), first).await?;
        }
        Ok(Launched { id: entry.id(), short: entry.tell_short(), member, notices })
    }

    /// Where the program is to serve its events. Whoever gives it a secret of their own keeps it to themselves.
    fn door(&self, spec: &LaunchSpec, provider: &Provider) -> Option<Door> {
        let recipe = provider.launch().events.as_ref()?;
        let is_theirs = recipe.env.keys().any(|name| spec.env.contains_key(name));
        if is_theirs { None } else { self.inner.team.doors.find() }
    }

    /// Whether an agent could be started like this now: its profile, provider and session are looked at.
    pub(crate) fn check_launch(&self, spec: &LaunchSpec) -> Result<(), YardError> {
        let (profile, _) = self.profile_of(spec)?;
        self.provider_of(spec, profile.as_ref())?;
        session_name(spec.session.as_deref())?;
        Ok(())
    }

    /// Has the turns of an agent kept, and its mail handed over.
    /// The dialogs it shows from now on.
    async fn attend(
        &self,
        entry: &Arc<Entry>,
        provider: &str,
        earlier: Option<Earlier>,
    ) -> Option<watch::Receiver<Option<Dialog>>> {
        let (turns, dialogs) =
            self.inner.team.attend(&self.inner.config.state, entry, provider, earlier).await?;
        let deliverer = Deliverer::new(entry, turns);
        if let Err(error) = self.hand_over_mail(&TerminalRef::Id(entry.id()), deliverer) {
            tracing::debug!(%error, id = %entry.id(), "it was removed before its mail was handed over");
        }
        Some(dialogs)
    }

    fn profile_of(&self, spec: &LaunchSpec) -> Result<(Option<Profile>, Vec<String>), YardError> {
        let Some(name) = &spec.profile else { return Ok((None, Vec::new())) };
        let found = self
            .profiles(spec.profiles.as_deref(), spec.cwd.as_deref())
            .find(name)
            .map_err(AgentError::from)?;
        let notices = found
            .parsed
            .notices
            .iter()
            .map(|notice| format!("the profile {name}, line {}: {}", notice.line, notice.text));
        Ok((Some(found.parsed.profile.clone()), notices.collect()))
    }

    /// The profiles, for a caller with this `PTYARD_PROFILES` in this directory.
    #[must_use]
    pub fn profiles(&self, variable: Option<&std::ffi::OsStr>, project: Option<&Path>) -> Library {
        Library::of(variable, &self.inner.config.state, project)
    }

    fn provider_of(&self, spec: &LaunchSpec, profile: Option<&Profile>) -> Result<Arc<Provider>, YardError> {
        let of_creator = || {
            let roster = self.inner.team.roster();
            spec.creator.terminal.and_then(|id| Some(roster.member(id)?.provider.clone()))
        };
        let wanted = spec.provider.clone().or_else(|| profile?.provider.clone()).or_else(of_creator);
        let wanted = wanted.ok_or_else(|| {
            YardError::InvalidArgument(
                "no provider is named, and no profile that names one: `claude_code`, `codex` and `shell` are some".to_owned(),
            )
        })?;
        let known = self.providers();
        let library = &known.library;
        library.get(&wanted).cloned().ok_or_else(|| {
            let known: Vec<&str> = library.iter().map(|provider| provider.id()).collect();
            YardError::InvalidArgument(format!(
                "no provider is called {wanted:?}; there are {}",
                known.join(", ")
            ))
        })
    }

    /// The terminal that shows this token.
    ///
    /// # Errors
    /// When it is not the token of that terminal: then nobody speaks for it.
    pub fn speaker(&self, terminal: TerminalId, token: &str) -> Result<TerminalId, YardError> {
        let shown: Token = token.parse().map_err(|_| AgentError::NotThatTerminal)?;
        let kept = Token::kept(&self.inner.state.terminal(terminal));
        match kept.filter(|kept| kept.is(&shown)) {
            Some(_) => Ok(terminal),
            None => Err(AgentError::NotThatTerminal.into()),
        }
    }

    /// Takes up an agent of an earlier server.
    pub(crate) fn find_earlier_member(&self, directory: &Path) {
        if let Some(member) = team::kept(directory) {
            self.inner.team.roster().join(member);
        }
    }

    /// Goes on with the turns and the mail of agents that an earlier server ran. After [`Yard::find_earlier_mail`], which
    /// says what is doubtful.
    pub(crate) fn attend_earlier_members(&self) {
        let entries: Vec<_> = self.registry().all().filter(|entry| !entry.has_exited()).cloned().collect();
        for entry in entries {
            let provider = self.inner.team.roster().member(entry.id()).map(|member| member.provider.clone());
            let Some(provider) = provider else { continue };
            let yard = self.clone();
            tokio::spawn(async move {
                match yard.on_record(&entry).await {
                    Ok(earlier) => {
                        drop(yard.attend(&entry, &provider, Some(earlier)).await);
                        if let Some(served) = Served::kept(&yard.inner.state.terminal(entry.id())) {
                            listen::listen(&entry, served);
                        }
                    }
                    // Without it mail could overtake what is in doubt: better none than wrong.
                    Err(error) => {
                        tracing::error!(id = %entry.id(), %error, "no mail is handed over to this agent");
                    }
                }
            });
        }
    }
}

fn session_name(name: Option<&str>) -> Result<Option<SessionName>, YardError> {
    let Some(name) = name else { return Ok(None) };
    let session = SessionName::new(name);
    session.map(Some).ok_or_else(|| {
        YardError::InvalidArgument(format!(
            "{name:?} is no name of a session: letters, digits, `_`, `-` and `.`"
        ))
    })
}

#[derive(Default)]
struct Planned {
    notices: Vec<String>,
    first_message: Option<String>,
    served: Option<Served>,
}
