//! Arguments of the commands that are about agents.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::IdArg;
use crate::environment::EnvArg;

/// Start an agent from a profile, or on a provider
///
/// It works in a session of its own unless one is named; an agent that starts another takes it into its own session.
#[derive(Debug, Args)]
#[command(
    override_usage = "ptyard launch [OPTIONS] PROFILE [-- EXTRA ARGS]\n       ptyard launch [OPTIONS] --provider P [-- EXTRA ARGS]"
)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["profile", "provider"])))]
pub(crate) struct LaunchArgs {
    /// What it is started as; `ptyard profile list` shows the profiles
    #[arg(value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// What it runs on; goes before what the profile says
    #[arg(long, value_name = "P")]
    pub(crate) provider: Option<String>,
    /// The session it works in
    #[arg(long, value_name = "S")]
    pub(crate) session: Option<String>,
    /// A unique name for it
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,
    /// Working directory [default: yours]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The model; goes before what the profile says
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// Its first message, or `-` for stdin: on disk when this returns, handed over once it is ready
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
    /// Where it runs [default: local]
    #[arg(long, value_name = "B")]
    pub(crate) backend: Option<String>,
    /// Set a variable, or with a bare name pass yours on; repeatable
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<EnvArg>,
    /// Let it run tools without asking anybody
    #[arg(long)]
    pub(crate) unattended: bool,
    /// What is done about dialogs at its start: ask a person, or trust the working directory
    #[arg(
        long,
        value_name = "ask|trust-cwd",
        default_value = "ask",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(crate) on_dialog: OnDialog,
    /// More arguments for its program; for the providers generic and shell the program itself
    #[arg(last = true, value_name = "EXTRA ARGS")]
    pub(crate) extra: Vec<String>,
}

/// What is done about dialogs that come up at the start of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDialog {
    Ask,
    TrustCwd,
}

/// Answer what an agent asks; an agent that asks nothing is typed nothing
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("answer").required(true).args(["text", "keys"])))]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    /// Words or a choice, typed as text and entered
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Keys by name instead, for example 'Down Enter'
    #[arg(long, value_name = "KEYS", allow_hyphen_values = true)]
    pub(crate) keys: Option<String>,
}

/// Show what an agent does
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    /// With the reasons: what each source says, and why mail would wait
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List all sessions
    List,
    /// Show who is in a session
    Show {
        /// Its name
        name: String,
    },
    /// End all programs of a session and remove its terminals
    Shutdown {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the profiles and where they are
    List,
}

/// A worker and its work.
#[derive(Debug, Args)]
pub(crate) struct WorkArgs {
    /// What the worker is started as
    #[arg(value_name = "PROFILE")]
    pub(crate) profile: String,
    /// The work, in words
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: String,
    /// What it runs on; goes before what the profile says
    #[arg(long, value_name = "P")]
    pub(crate) provider: Option<String>,
    /// The session it works in
    #[arg(long, value_name = "S")]
    pub(crate) session: Option<String>,
    /// Working directory [default: yours]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The model; goes before what the profile says
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// Let it run tools without asking anybody
    #[arg(long)]
    pub(crate) unattended: bool,
    /// What is done about dialogs at its start: ask a person, or trust the working directory
    #[arg(
        long,
        value_name = "ask|trust-cwd",
        default_value = "ask",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(crate) on_dialog: OnDialog,
    /// Let it stay when it has answered
    #[arg(long)]
    pub(crate) keep: bool,
    /// More arguments for its program
    #[arg(last = true, value_name = "EXTRA ARGS")]
    pub(crate) extra: Vec<String>,
}
