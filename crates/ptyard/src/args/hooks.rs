//! `ptyard hooks`.

use clap::Subcommand;

use crate::hooks::HookedCli;

/// What becomes of the hooks in a CLI's settings.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum HooksCommand {
    /// Write them into the settings of a CLI, in place of earlier ones, and show them
    Install {
        /// Which CLI, by its provider
        #[arg(value_name = "PROVIDER")]
        cli: HookedCli,
        /// Write nothing, and show what would be written
        #[arg(long)]
        dry_run: bool,
    },
    /// Take them out again; what else stands there stays as it is
    Remove {
        /// Which CLI, by its provider
        #[arg(value_name = "PROVIDER")]
        cli: HookedCli,
        /// Write nothing, and tell whether something would be taken out
        #[arg(long)]
        dry_run: bool,
    },
    /// Tell whether they are installed, outdated or absent, and where
    Status {
        /// Which CLI, by its provider [default: all that have hooks]
        #[arg(value_name = "PROVIDER")]
        cli: Option<HookedCli>,
    },
}
