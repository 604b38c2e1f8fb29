//! Starting programs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ptyard_core::window::{Call, QuietAfter};
use ptyard_core::{SessionId, TerminalId};
use ptyard_terminal::backend::{Backend, Grounds, Io, ProgramFrom, StartSpec};
use ptyard_terminal::local::Identity;
use ptyard_terminal::local::env::{clean_environment, environment_elsewhere};
use ptyard_terminal::log::LogWriter;
use ptyard_terminal::{KilledBy, Surroundings, Terminal, TextUse, WindowCall, WindowCursor};
use serde_json::json;

use crate::agents::launch::Furnishing;
use crate::delivery::{Delivery, InputOutcome};
use crate::entry::Entry;
use crate::error::YardError;
use crate::ids;
use crate::lane::LanesEnd;
use crate::limits::Granted;
use crate::policy::{MAX_TERMINALS, WARN_BELOW_MAX};
use crate::record::{Record, Stage};
use crate::request::WindowPlan;
use crate::spec::{ClientPolicy, ExecSpec, Login, Program};
use crate::state::unwritable;
use crate::variables::check_variables;
use crate::yard::Yard;

/// The backend of this machine.
pub(crate) const LOCAL: &str = "local";

/// Longest name of a terminal.
const NAME_BYTES: usize = 128;

impl Yard {
    /// Starts a program and takes its first window.
    ///
    /// A caller that is gone before the program was started leaves nothing behind; one that is gone later leaves a
    /// terminal whose first window is still to be had.
    pub async fn exec(&self, spec: ExecSpec) -> Result<Delivery, YardError> {
        let started = self.inner.clock.now();
        let plan = WindowPlan::of(&spec.window, Call::Exec)?;
        let naming = spec.naming;
        let (entry, warnings) = self.start_furnished(spec, |_, _, _| Ok(Furnishing::default())).await?;
        self.inner.config.pauses.point("exec.started").await;
        let call = WindowCall {
            cursor: WindowCursor::Shared,
            mark: None,
            cap_tokens: Some(plan.cap_tokens),
            deadline: Some(plan.deadline(started)),
            conditions: plan.conditions,
            quiet_after: QuietAfter::NewOutput,
            text: TextUse::Kept,
            started,
        };
        let ready = entry.terminal.window(call).await?;
        let outcome = InputOutcome::default();
        Ok(Delivery::new(self, entry, ready, started, outcome, warnings, naming))
    }

    /// Starts a program. `furnish` is told its id, its directory and its environment, and says what it runs and what
    /// stands in its directory before it does.
    pub(crate) async fn start_furnished(
        &self,
        spec: ExecSpec,
        furnish: impl FnOnce(TerminalId, &Path, &BTreeMap<String, String>) -> Result<Furnishing, YardError>,
    ) -> Result<(Arc<Entry>, Vec<String>), YardError> {
        let backend_name = spec.backend.as_deref().unwrap_or(LOCAL);
        let backend = self.backend(backend_name)?;
        check_whose_program(&spec.program, backend.as_ref(), backend_name)?;
        let grounds = backend.grounds();
        check_name(spec.name.as_deref())?;
        check_variables("env", &spec.env)?;
        check_variables("caller_env", &spec.caller_env)?;
        let mut limits = Granted::new(&spec.limits, self.inner.clock, self.inner.clock.now())?;
        let place = Place::take(self, spec.name.clone())?;
        let directory = self.inner.state.terminal(place.id);
        let environment = |given: &BTreeMap<String, String>| match grounds {
            Grounds::Here => clean_environment(place.id, &spec.caller_env, given, spec.io),
            Grounds::Elsewhere => environment_elsewhere(place.id, given, spec.io),
        };
        let furnishing = furnish(place.id, &directory, &environment(&spec.env))?;
        let mut given = spec.env.clone();
        given.extend(furnishing.env.clone());
        let program = furnishing.program.as_ref().unwrap_or(&spec.program);
        let (env, argv, cwd) = if *program == Program::Found {
            // Its own were given to it by somebody else, and are not known.
            (BTreeMap::new(), vec![backend_name.to_owned()], PathBuf::new())
        } else {
            let env = environment(&given);
            let (argv, cwd) = (argv(program, &env)?, cwd(spec.cwd.as_deref(), grounds, &env)?);
            (env, argv, cwd)
        };
        self.remove_overdue();

        let shown = shown_environment(&env, &given);
        let ceilings = limits.ceilings(spec.limits.unheld);
        let start = StartSpec {
            id: place.id,
            argv: argv.clone(),
            cwd: cwd.clone(),
            env,
            io: spec.io,
            ceilings,
            title: furnishing.title.clone(),
            placing: furnishing.placing(),
        };
        let log_config = limits.log(self.inner.config.log);
        let surroundings = Surroundings {
            clock: self.inner.clock,
            log: log_config,
            limits: limits.in_time(self.inner.clock),
            observer: Arc::new(self.observer(place.id)),
            pauses: self.inner.config.pauses.clone(),
        };
        let log = LogWriter::create(&directory, log_config)?;
        furnishing.place(&directory).map_err(|error| unwritable(&directory, &error))?;
        let mut record = Record {
            id: place.id,
            session_id: place.short,
            name: spec.name,
            backend: backend_name.to_owned(),
            argv,
            cwd: cwd.display().to_string(),
            tty: matches!(spec.io, Io::Tty(_)),
            size: spec.io.size(),
            env: shown,
            client: spec.policy.as_ref().map(|policy| policy.client.clone()),
            created_at: SystemTime::now(),
            process: None,
            stage: Stage::Starting,
            limits: limits.clone(),
        };
        // Before the program is there: if this server dies on the way, the next one knows whose it is.
        self.write_down(&record).await?;
        let starting = async move { Terminal::start(backend.as_ref(), start, log, surroundings).await };
        let terminal = self.inner.lanes.run(starting).await.map_err(|LanesEnd| YardError::Stopping)??;
        terminal.unheld().clone_into(&mut limits.unheld);
        record.limits = limits;
        record.stage = Stage::Started;
        record.process = terminal.pid().filter(|_| backend_name == LOCAL).and_then(Identity::of);
        self.write_down(&record).await?;
        let entry = Arc::new(Entry::new(terminal, record, self.inner.clock.now()));
        let mut warnings = self.make_room(spec.policy.as_ref());
        warnings.extend(entry.record.limits.warnings());
        place.fill(Arc::clone(&entry))?;
        // Not its arguments: they may hold what is nobody's business.
        tracing::info!(id = %entry.id(), pid = entry.terminal.pid(), "started a program");
        let data = json!({ "argv": entry.record.argv, "tty": entry.record.tty, "pid": entry.terminal.pid() });
        self.inner.events.push("started", Some(entry.id()), data);
        Ok((entry, warnings))
    }

    async fn write_down(&self, record: &Record) -> Result<(), YardError> {
        let row = record.row().map_err(|error| YardError::Internal(error.to_string()))?;
        Ok(self.inner.store.put_terminal(row).await?)
    }

    /// Ends one terminal of a client that has as many as it may, and says when there are nearly that many.
    fn make_room(&self, policy: Option<&ClientPolicy>) -> Vec<String> {
        let Some(policy) = policy else { return Vec::new() };
        let most = policy.max_terminals.unwrap_or(MAX_TERMINALS).max(1);
        let victim = self.registry().prune(&policy.client, most as usize);
        if let Some(victim) = victim {
            let data = json!({ "client": policy.client, "max_terminals": most });
            self.inner.events.push("pruned", Some(victim.id()), data);
            self.end_in_background(victim, KilledBy("prune"));
        }
        let count = self.registry().of_client(&policy.client).len() + 1;
        if count as u32 + WARN_BELOW_MAX >= most {
            vec![format!(
                "{count} of at most {most} terminals of this client are in use; the least used one is ended for the next"
            )]
        } else {
            Vec::new()
        }
    }
}

/// A place in the registry for a program that is being started. Dropped unfilled, it is free again.
struct Place<'a> {
    yard: &'a Yard,
    id: TerminalId,
    short: SessionId,
    name: Option<String>,
    filled: bool,
}

impl<'a> Place<'a> {
    fn take(yard: &'a Yard, name: Option<String>) -> Result<Self, YardError> {
        let mut registry = yard.registry();
        if registry.closed {
            return Err(YardError::Stopping);
        }
        if registry.starting + registry.running() >= yard.inner.config.max_running {
            return Err(YardError::TooManyTerminals(yard.inner.config.max_running));
        }
        if let Some(name) = &name {
            registry.reserve(name)?;
        }
        let Some(short) = registry.short_ids.give() else {
            if let Some(name) = &name {
                registry.unreserve(name);
            }
            return Err(YardError::IdsExhausted);
        };
        registry.starting += 1;
        let id = ids::new_terminal_id(registry.newest());
        Ok(Self { yard, id, short, name, filled: false })
    }

    fn fill(mut self, entry: Arc<Entry>) -> Result<(), YardError> {
        let mut registry = self.yard.registry();
        if registry.closed {
            return Err(YardError::Stopping);
        }
        registry.insert(entry);
        registry.starting -= 1;
        self.filled = true;
        Ok(())
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.filled {
            return;
        }
        let mut registry = self.yard.registry();
        registry.starting -= 1;
        registry.short_ids.take_back(self.short);
        if let Some(name) = &self.name {
            registry.unreserve(name);
        }
        drop(registry);
        let directory = self.yard.inner.state.terminal(self.id);
        match std::fs::remove_dir_all(&directory) {
            Ok(()) => self.yard.forget_in_background(self.id),
            // It did not come as far as to be written down.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(%error, directory = %directory.display(), "left behind");
            }
        }
    }
}

/// Some places hold a program already, and others need one.
fn check_whose_program(program: &Program, backend: &dyn Backend, place: &str) -> Result<(), YardError> {
    let why = match (program, backend.abilities().program) {
        (Program::Found, ProgramFrom::Start) => {
            format!("{place} holds no program that could be taken over: start one there with exec")
        }
        (Program::Argv(_) | Program::Shell { .. }, ProgramFrom::Place) => {
            format!("{place} holds a program already: take it over with adopt")
        }
        _ => return Ok(()),
    };
    Err(YardError::InvalidArgument(why))
}

fn check_name(name: Option<&str>) -> Result<(), YardError> {
    let Some(name) = name else { return Ok(()) };
    let refused = |why: &str| Err(YardError::InvalidArgument(format!("the name {name:?} {why}")));
    if name.is_empty() || name.len() > NAME_BYTES {
        return refused("must have 1 to 128 bytes");
    }
    if name.chars().any(|c| c.is_control() || c.is_whitespace() || c == '/') {
        return refused("holds blanks, control characters or a slash");
    }
    if name.parse::<u32>().is_ok() || name.parse::<TerminalId>().is_ok() {
        return refused("would be taken for an id");
    }
    Ok(())
}

fn argv(program: &Program, env: &BTreeMap<String, String>) -> Result<Vec<String>, YardError> {
    match program {
        Program::Argv(argv) if argv.first().is_none_or(String::is_empty) => {
            Err(YardError::InvalidArgument("the program is empty".to_owned()))
        }
        Program::Argv(argv) => Ok(argv.clone()),
        Program::Found => Err(YardError::Internal("a program that was found is not started".to_owned())),
        Program::Shell { text, shell, login } => {
            let shell =
                shell.clone().or_else(|| env.get("SHELL").cloned()).unwrap_or_else(|| "/bin/sh".to_owned());
            let flags = match login {
                Login::Login => "-lc",
                Login::Plain => "-c",
            };
            Ok(vec![shell, flags.to_owned(), text.clone()])
        }
    }
}

/// The directory asked for, else the user's home here, and elsewhere the one the place has for its programs.
fn cwd(asked: Option<&Path>, grounds: Grounds, env: &BTreeMap<String, String>) -> Result<PathBuf, YardError> {
    if asked.is_none() && grounds == Grounds::Elsewhere {
        return Ok(PathBuf::new());
    }
    let cwd = asked
        .map_or_else(|| env.get("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from), Path::to_owned);
    if !cwd.is_absolute() {
        return Err(YardError::InvalidArgument(format!(
            "the working directory {} is not absolute",
            cwd.display()
        )));
    }
    Ok(cwd)
}

/// The environment as it may be shown: values the caller gave are left out.
fn shown_environment(
    env: &BTreeMap<String, String>,
    given: &BTreeMap<String, String>,
) -> BTreeMap<String, Option<String>> {
    env.iter()
        .map(|(name, value)| (name.clone(), (!given.contains_key(name)).then(|| value.clone())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_ids_or_cannot_be_typed_are_refused() {
        for bad in ["", "12345", "7", "a b", "a/b", "a\n", "t0192f0aabbcc7ddd8eeeffff00001111"] {
            assert!(check_name(Some(bad)).is_err(), "{bad:?}");
        }
        assert!(check_name(Some("build-1")).is_ok());
    }

    #[test]
    fn case_v05_arguments_stay_as_they_are() {
        let argv_in: Vec<String> = ["printf", "[%s]", "a b;c $HOME", "", "*"].map(String::from).to_vec();
        assert_eq!(argv(&Program::Argv(argv_in.clone()), &BTreeMap::new()).unwrap(), argv_in);
        assert!(argv(&Program::Argv(vec![]), &BTreeMap::new()).is_err());
    }
}
