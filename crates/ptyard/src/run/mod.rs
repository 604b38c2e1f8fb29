//! One module per command, or per few that are alike.

mod agent;
mod control;
mod debug;
mod demo;
mod detect;
mod doctor;
mod events;
mod exec;
mod flow;
mod gc;
mod hook;
mod list;
mod mail;
mod provider;
mod read;
mod screen;
mod version;
mod wait;
mod window;
mod write;

pub(crate) use agent::PROFILES_VARIABLE;
pub(crate) use exec::working_directory;
pub(crate) use list::table;
pub(crate) use window::{ended, remarks, shell_code};

use std::ffi::OsString;
use std::future::Future;

use clap::Parser;
use clap::error::ErrorKind;
use ptyard_core::ErrorCode;
use ptyard_server::Ground;

use crate::args::{self, Cli, Command, DebugCommand, HooksCommand, McpCommand};
use crate::client::Client;
use crate::environment;
use crate::failure::{Failure, status};
use crate::print::{self, Format};
use crate::serve::{self, Begin, ServeOptions};
use crate::start::{self, Policy};
use crate::state::State;
use crate::{attach, hooks, keep, mcp};

/// Where a command goes and how it answers.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) state: State,
    pub(crate) policy: Policy,
    pub(crate) format: Format,
}

impl Place {
    /// A connection to the server.
    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        start::connect(&self.state, self.policy).await
    }

    /// Prints `document` as JSON, or as the text that `text` makes of it.
    pub(crate) fn show<T: serde::Serialize>(
        &self,
        document: &T,
        text: impl Fn(&T) -> String,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Json => print::json(document),
            Format::Text => print::bytes(text(document).as_bytes()),
        }
    }
}

/// Runs one command line and gives back its exit status.
pub(crate) fn run(args: &[OsString]) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, args),
    };
    let format = if cli.global.json { Format::Json } else { Format::Text };
    dispatch(cli, format).unwrap_or_else(|failure| {
        print::failure(&failure, format);
        failure.status()
    })
}

fn usage(error: &clap::Error, args: &[OsString]) -> u8 {
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if asked_for || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // clap prints help that was asked for on stdout, and help instead of an error on stderr.
        let _ = error.print();
        return if asked_for { status::DONE } else { status::USAGE };
    }
    let format = if args::wants_json(args) { Format::Json } else { Format::Text };
    let failure = args::explain(error, args);
    print::failure(&failure, format);
    failure.status()
}

fn dispatch(cli: Cli, format: Format) -> Result<u8, Failure> {
    if let Command::Carry { argv } = &cli.command {
        // Its code is the far program's, not one of ours.
        return Ok(ptyard_backends::carry(argv));
    }
    if let Command::Debug { command: DebugCommand::Truncate { max_tokens } } = cli.command {
        return debug::truncate(max_tokens);
    }
    let state = State::locate(cli.global.state.as_deref())?;
    let policy = if cli.global.no_start { Policy::Never } else { Policy::Start };
    let place = Place { state, policy, format };
    match cli.command {
        Command::Serve { replace, daemon, given, listen, cao, log } => {
            let ground = if daemon { Ground::Background } else { Ground::Foreground };
            let begun = match given {
                Some(given) => environment::take_given(given),
                None => environment::leave_caller(ground),
            };
            if let Err(error) = begun {
                print::note(&format!("the server begins as its caller has it: {error}"));
            }
            let begin = if replace { Begin::Replace } else { Begin::Fresh };
            serve::serve(&place.state, &ServeOptions { ground, begin, listen, cao, log })?;
            Ok(status::DONE)
        }
        Command::Keeper { check: true, .. } => keep::check(),
        Command::Keeper { resume, log, .. } => {
            match resume {
                Some(estate) => keep::resume(&place.state, estate, log.as_ref())?,
                None => keep::keep(&place.state, log.as_ref())?,
            }
            Ok(status::DONE)
        }
        Command::Demo => demo::demo(),
        Command::Detect(args) => detect::detect(&place, &args),
        Command::Hooks { command } => match command {
            HooksCommand::Install { cli, dry_run } => {
                hooks::hooks(&place, cli, hooks::Change::Install, doing(dry_run))
            }
            HooksCommand::Remove { cli, dry_run } => {
                hooks::hooks(&place, cli, hooks::Change::Remove, doing(dry_run))
            }
            HooksCommand::Status { cli } => hooks::standing(&place, cli),
        },
        command => block_on(command_on(&place, command)),
    }
}

const fn doing(dry_run: bool) -> hooks::Doing {
    if dry_run { hooks::Doing::Tell } else { hooks::Doing::Write }
}

async fn command_on(place: &Place, command: Command) -> Result<u8, Failure> {
    match command {
        Command::Exec(args) => exec::exec(place, args).await,
        Command::Adopt(args) => exec::adopt(place, args).await,
        Command::Write(args) => write::write(place, args).await,
        Command::Read(args) => read::read(place, &args).await,
        Command::Screen(args) => again(|| screen::screen(place, &args)).await,
        Command::Wait(args) => again(|| wait::wait(place, &args)).await,
        Command::Resize { at, size } => control::resize(place, &at.id, &size).await,
        Command::Signal(args) => control::signal(place, args).await,
        Command::CloseStdin(at) => control::close_stdin(place, &at.id).await,
        Command::Kill(args) => control::kill(place, &args).await,
        Command::Rm(at) => control::remove(place, &at.id).await,
        Command::List => again(|| list::list(place)).await,
        Command::Info(at) => again(|| list::info(place, &at.id)).await,
        Command::Attach(args) => attach::attach(place, &args).await,
        Command::Send(args) => mail::send(place, args).await,
        Command::Inbox(args) => mail::inbox(place, &args).await,
        Command::Message(args) => mail::message(place, &args).await,
        Command::Events { since, follow } => events::events(place, since, follow).await,
        Command::Launch(args) => agent::launch(place, args).await,
        Command::Handoff { work, timeout } => agent::hand_off(place, work, timeout).await,
        Command::Result { id, timeout } => agent::handoff_result(place, &id, timeout).await,
        Command::Assign(args) => agent::assign(place, args).await,
        Command::Status(args) => agent::state_of(place, &args).await,
        Command::Answer(args) => agent::answer(place, args).await,
        Command::Reset(at) => agent::reset(place, &at.id).await,
        Command::Session { command } => agent::session(place, command).await,
        Command::Profile { command } => agent::profile(place, &command).await,
        Command::Hook { words, entry: _ } => Ok(hook::hook(place, &words).await),
        Command::Provider { command } => provider::provider(place, &command).await,
        Command::Flow { command } => flow::flow(place, command).await,
        Command::Mcp { command: Some(McpCommand::Install { client, remove, print }), .. } => {
            let change = match (remove, print) {
                (true, _) => mcp::Change::Remove,
                (_, true) => mcp::Change::Print,
                _ => mcp::Change::Install,
            };
            mcp::install(place, client, change)
        }
        Command::Mcp { command: None, terminal } => mcp::serve(place, terminal.as_deref()).await,
        Command::Doctor { backend } => doctor::doctor(place, backend.as_deref()).await,
        Command::Gc { backend, dry_run } => gc::gc(place, backend, dry_run).await,
        Command::Stop => control::stop(place).await,
        Command::Version => version::version(place).await,
        Command::Serve { .. }
        | Command::Debug { .. }
        | Command::Keeper { .. }
        | Command::Carry { .. }
        | Command::Demo
        | Command::Hooks { .. }
        | Command::Detect(_) => Err(Failure::new(ErrorCode::Internal, "this command needs no client")),
    }
}

/// Asks the next server when one was replaced before it answered, or was gone when it was asked. For questions, which
/// change nothing.
async fn again<F: Future<Output = Result<u8, Failure>>>(mut ask: impl FnMut() -> F) -> Result<u8, Failure> {
    /// A connection that broke as often as this does not break because a server left.
    const MOST_BROKEN: u32 = 3;
    let mut broken = 0;
    loop {
        match ask().await {
            Err(failure) if failure.code() == Some(ErrorCode::Replaced) => {}
            Err(failure) if failure.code() == Some(ErrorCode::Stopping) && broken < MOST_BROKEN => {
                broken += 1;
            }
            answered => return answered,
        }
    }
}

/// Runs a command on this thread. What it left waiting (a read of stdin, say) is not waited for.
fn block_on<T>(command: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("no event loop: {error}")))?;
    let outcome = runtime.block_on(command);
    runtime.shutdown_background();
    outcome
}
