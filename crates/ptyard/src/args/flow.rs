//! Arguments of the commands that are about flows.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

/// What is done with flows.
#[derive(Debug, Subcommand)]
pub(crate) enum FlowCommand {
    Add(Box<FlowAddArgs>),
    /// List all flows
    List,
    /// Show a flow and its runs, newest first: also those that were missed or skipped
    Show {
        /// Its name
        name: String,
        /// Most runs to show
        #[arg(long, value_name = "N", default_value_t = 20)]
        most: u32,
    },
    /// Run a flow now, also one that is paused
    ///
    /// Returns when its agent has the work. Refused while a run of it is still going.
    Run {
        /// Its name
        name: String,
    },
    /// Hold a flow: moments that come are passed over
    Pause {
        /// Its name
        name: String,
    },
    /// Let a flow run again, from its next moment on
    Resume {
        /// Its name
        name: String,
    },
    /// Forget a flow and its runs; an agent that is at work for it goes on
    Rm {
        /// Its name
        name: String,
    },
}

/// Add a flow: from now on an agent is started and given the prompt whenever its time comes
///
/// A moment that comes while no server runs is told as missed and not made up for; one that comes while the run before is
/// still going is skipped, and told. When its agent is done it is ended, unless --keep is given.
#[derive(Debug, Args)]
#[command(
    override_usage = "ptyard flow add [OPTIONS] --cron CRON --profile PROFILE NAME PROMPT [-- EXTRA ARGS]\n       ptyard flow add [OPTIONS] --cron CRON --provider P NAME PROMPT [-- EXTRA ARGS]"
)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["profile", "provider"])))]
pub(crate) struct FlowAddArgs {
    /// Its name: letters, digits, `_`, `-` and `.`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What its agent is told, or `-` for stdin
    #[arg(value_name = "PROMPT|-", allow_hyphen_values = true)]
    pub(crate) text: String,
    /// When it runs: five fields as in cron, for example '30 9 * * mon-fri', or @daily; CRON_TZ=ZONE may stand before them
    #[arg(long, value_name = "CRON")]
    pub(crate) cron: String,
    /// The time zone that is meant, for example Europe/Paris [default: that of the server, as it is now]
    #[arg(long, value_name = "ZONE")]
    pub(crate) tz: Option<String>,
    /// What its agent is started as; `ptyard profile list` shows the profiles
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// What its agent runs on; goes before what the profile says
    #[arg(long, value_name = "P")]
    pub(crate) provider: Option<String>,
    /// The session its agent works in [default: a new one for each run]
    #[arg(long, value_name = "S")]
    pub(crate) session: Option<String>,
    /// Working directory [default: yours]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The model; goes before what the profile says
    #[arg(long, value_name = "M")]
    pub(crate) model: Option<String>,
    /// Where it runs [default: local]
    #[arg(long, value_name = "B")]
    pub(crate) backend: Option<String>,
    /// Let it run tools without asking anybody
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Let its agent stay when it is done
    #[arg(long)]
    pub(crate) keep: bool,
    /// More arguments for its program; for the providers generic and shell the program itself
    #[arg(last = true, value_name = "EXTRA ARGS")]
    pub(crate) extra: Vec<String>,
}
