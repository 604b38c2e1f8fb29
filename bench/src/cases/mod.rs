//! What is measured, one module each.

mod agents;
mod crowd;
mod drain;
mod echo;
mod flood;
mod keeper;
mod mail;
mod places;
mod repl;
mod restart;
mod start;
mod vendors;

use clap::ValueEnum;

use crate::Outcome;
use crate::bed::Bed;
use crate::quiet::Noise;
use crate::report::Report;

/// A case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Case {
    /// Megabytes a second out of a terminal
    Drain,
    /// From a key to the program's answer
    Echo,
    /// From a question to the whole answer of a REPL
    Repl,
    /// A program that prints without end
    Flood,
    /// A thousand idle terminals
    Crowd,
    /// From a message to the agent that gets it
    Mail,
    /// What it costs to know what a hundred busy agents do
    Agents,
    /// From nothing to the first answer
    Start,
    /// What it costs that programs outlive the server
    Keeper,
    /// From the server's death to the next answer
    Restart,
    /// Programs elsewhere, against the plain clients of the same wire
    Places,
    /// Programs at vendors of sandboxes, against plain clients of the same wires
    Vendors,
}

impl Case {
    pub(crate) const ALL: [Self; 12] = [
        Self::Drain,
        Self::Echo,
        Self::Repl,
        Self::Flood,
        Self::Crowd,
        Self::Mail,
        Self::Agents,
        Self::Start,
        Self::Keeper,
        Self::Restart,
        Self::Places,
        Self::Vendors,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::Echo => "echo",
            Self::Repl => "repl",
            Self::Flood => "flood",
            Self::Crowd => "crowd",
            Self::Mail => "mail",
            Self::Agents => "agents",
            Self::Start => "start",
            Self::Keeper => "keeper",
            Self::Restart => "restart",
            Self::Places => "places",
            Self::Vendors => "vendors",
        }
    }

    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Drain => "megabytes a second out of a terminal",
            Self::Echo => "from a key to the program's answer",
            Self::Repl => "from a question to the whole answer of a REPL",
            Self::Flood => "a program that prints without end",
            Self::Crowd => "a thousand idle terminals",
            Self::Mail => "from a message to the agent that gets it",
            Self::Agents => "what it costs to know what a hundred busy agents do",
            Self::Start => "from nothing to the first answer",
            Self::Keeper => "what it costs that programs outlive the server",
            Self::Restart => "from the server's death to the next answer",
            Self::Places => "programs elsewhere, against the plain clients of the same wire",
            Self::Vendors => "programs at vendors of sandboxes, against plain clients of the same wires",
        }
    }

    pub(crate) async fn run(self, bed: &Bed, report: &mut Report) -> Outcome<()> {
        report.noise(self.name(), Noise::settled(bed.patience).await?);
        match self {
            Self::Drain => drain::run(bed, report).await,
            Self::Echo => echo::run(bed, report).await,
            Self::Repl => repl::run(bed, report).await,
            Self::Flood => flood::run(bed, report).await,
            Self::Crowd => crowd::run(bed, report).await,
            Self::Mail => mail::run(bed, report).await,
            Self::Agents => agents::run(bed, report).await,
            Self::Start => start::run(bed, report).await,
            Self::Keeper => keeper::run(bed, report).await,
            Self::Restart => restart::run(bed, report).await,
            Self::Places => places::run(bed, report).await,
            Self::Vendors => vendors::run(bed, report).await,
        }
    }
}
