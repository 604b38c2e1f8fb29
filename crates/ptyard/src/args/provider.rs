//! Arguments about kinds of programs.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Judge a recording or a capture by a provider's rules, without a server
///
/// A capture is a screen as text, with or without its escape sequences. An asciinema recording (version 2) is replayed
/// on its own clock; an Enter that was typed while the agent was ready counts as a message.
#[derive(Debug, Args)]
pub(crate) struct DetectArgs {
    /// Which kind of program it shows, as in `ptyard provider list`
    #[arg(long, value_name = "ID")]
    pub(crate) provider: String,
    /// Size of a capture's screen [default: as large as it needs]
    #[arg(long, value_name = "COLSxROWS")]
    pub(crate) size: Option<String>,
    /// The recording or capture; `-` is stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// List the kinds of programs that are known
    List,
    /// Show what is known of one
    Show {
        /// Its id
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Check a manifest and run the tests it carries
    Check {
        /// The manifest, a TOML file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}
