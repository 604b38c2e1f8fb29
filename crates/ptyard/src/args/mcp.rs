//! `ptyard mcp`.

use clap::Subcommand;

use crate::mcp::McpClient;

/// What else there is about MCP than serving it.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum McpCommand {
    /// Let a client start `ptyard mcp` by itself: writes one entry into its configuration, and nothing else
    Install {
        /// Which client
        #[arg(value_name = "CLIENT")]
        client: McpClient,
        /// Take the entry out again
        #[arg(long, conflicts_with = "print")]
        remove: bool,
        /// Print what would stand in the configuration, and change nothing
        #[arg(long)]
        print: bool,
    },
}
