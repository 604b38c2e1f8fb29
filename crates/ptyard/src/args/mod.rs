//! The command line, as clap reads it.

mod agent;
mod flow;
mod hooks;
pub(crate) mod limit;
mod mail;
mod mcp;
mod program;
mod provider;
mod usage;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::logging::LogFilter;
pub(crate) use agent::{
    AnswerArgs, LaunchArgs, OnDialog, ProfileCommand, SessionCommand, StatusArgs, WorkArgs,
};

pub(crate) use flow::{FlowAddArgs, FlowCommand};
pub(crate) use hooks::HooksCommand;
pub(crate) use mail::{BatchingArg, InboxArgs, MessageAction, MessageArgs, SendArgs, UrgencyArg, WaitFor};
pub(crate) use mcp::McpCommand;
pub(crate) use program::{
    AdoptArgs, AttachArgs, ExecArgs, KillArgs, ReadArgs, ScreenArgs, ScreenFormat, SignalArgs, StdinArg,
    TypedArgs, WaitArgs, WindowArgs, WriteArgs,
};
pub(crate) use provider::{DetectArgs, ProviderCommand};
pub(crate) use usage::{explain, wants_json};

/// The terminal yard for AI agents.
///
/// Starts programs in terminals, types into them and gives back exactly what they print. The first command that
/// needs a server starts one in the background; it belongs to the state directory and goes on until `ptyard stop`.
///
/// Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 no server runs and --no-start was given.
#[derive(Debug, Parser)]
#[command(
    name = "ptyard",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for every command")]
pub(crate) struct GlobalArgs {
    /// Print JSON on stdout and nothing else there; streams print one document a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// State directory [default: $PTYARD_STATE, $XDG_STATE_HOME/ptyard or ~/.local/state/ptyard]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Fail with status 3 instead of starting a server
    #[arg(long, global = true)]
    pub(crate) no_start: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Exec(ExecArgs),
    Adopt(AdoptArgs),
    Write(WriteArgs),
    Read(ReadArgs),
    Screen(ScreenArgs),
    Wait(WaitArgs),
    /// Change the size of a program's terminal
    Resize {
        #[command(flatten)]
        at: IdArg,
        /// Columns 2 to 1000, rows 1 to 1000, for example 120x40
        #[arg(value_name = "COLSxROWS", allow_hyphen_values = true)]
        size: String,
    },
    Signal(SignalArgs),
    /// End a program's input: end of file for a pipe, the end-of-file key for a terminal
    CloseStdin(IdArg),
    Kill(KillArgs),
    /// Remove a program that has ended, and its output
    Rm(IdArg),
    /// List all programs
    List,
    /// Show all that is known of a program
    Info(IdArg),
    Attach(AttachArgs),
    Send(SendArgs),
    Inbox(InboxArgs),
    Message(MessageArgs),
    /// Print what happens: starts, exits, resizes, ...
    Events {
        /// Begin after this event number [default: the oldest kept; with --follow: now]
        #[arg(long, value_name = "SEQ")]
        since: Option<u64>,
        /// Go on and print events as they happen
        #[arg(long)]
        follow: bool,
    },
    Detect(DetectArgs),
    /// Kinds of programs: what is known of them, and whether a manifest is right
    Provider {
        #[command(subcommand)]
        command: ProviderCommand,
    },
    Launch(LaunchArgs),
    /// Start a worker, give it work, and print what it answers
    ///
    /// The handoff goes on without you: when your time is over, or you are interrupted, the result is kept. Exit status 0
    /// answered, 1 failed or not done yet.
    Handoff {
        #[command(flatten)]
        work: WorkArgs,
        /// Seconds to wait for the answer [default: 600]
        #[arg(long, value_name = "S")]
        timeout: Option<f64>,
    },
    /// Print what came of a handoff
    Result {
        /// Its id
        #[arg(value_name = "HANDOFF")]
        id: String,
        /// Seconds to wait for it [default: 0]
        #[arg(long, value_name = "S")]
        timeout: Option<f64>,
    },
    /// Start a worker and give it work, whose result it sends as a message
    Assign(WorkArgs),
    Status(StatusArgs),
    Answer(AnswerArgs),
    /// Say that nothing is under way in an agent's terminal
    ///
    /// A message whose delivery was not confirmed is uncertain from now on; what is seen from now on counts.
    Reset(IdArg),
    /// Look at sessions, and end them
    Session {
        #[command(subcommand)]
        command: SessionCommand,
    },
    /// Look at profiles
    Profile {
        #[command(subcommand)]
        command: ProfileCommand,
    },
    /// Prompts that the calendar gives to an agent
    Flow {
        #[command(subcommand)]
        command: FlowCommand,
    },
    /// Serve the Model Context Protocol on stdin and stdout
    ///
    /// A server that listens on TCP (`ptyard serve --listen`) serves the same on /mcp.
    #[command(args_conflicts_with_subcommands = true)]
    Mcp {
        #[command(subcommand)]
        command: Option<McpCommand>,
        /// Serve the agent in this terminal, with tools to work with other agents; refused anywhere but in that terminal
        #[arg(long, value_name = "ID")]
        terminal: Option<String>,
    },
    /// Check the state directory, the server and the machine, in plain words
    Doctor {
        /// Look at this place only, as `exec --backend` takes it
        #[arg(long, value_name = "PLACE")]
        backend: Option<String>,
    },
    /// End what servers that died left at vendors and in Docker: what bears the mark of this state directory and no
    /// living terminal owns
    Gc {
        /// At this backend only; that it cannot be asked is a failure then
        #[arg(long, value_name = "BACKEND")]
        backend: Option<String>,
        /// End nothing and tell what there is
        #[arg(long)]
        dry_run: bool,
    },
    /// Run the server in the foreground
    ///
    /// SIGTERM or SIGINT stop it: every program is ended, then the server.
    Serve {
        /// Take the place of the server that runs, whatever its version: programs, ids and offsets stay as they are
        #[arg(long)]
        replace: bool,
        /// Go into the background: the way the other commands start a server
        #[arg(long, hide = true)]
        daemon: bool,
        /// The descriptor with what this server is given besides its environment
        #[arg(long, hide = true, value_name = "FD")]
        given: Option<i32>,
        /// Listen on this loopback address too, for example 127.0.0.1:7777; callers send the token of the state
        /// directory's `token` file
        #[arg(long, value_name = "ADDR:PORT")]
        listen: Option<SocketAddr>,
        /// Serve the clients of CLI Agent Orchestrator on this loopback address, by default where they look for their
        /// own server, 127.0.0.1:9889; they know no token: whatever runs as you may call
        #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:9889")]
        cao: Option<SocketAddr>,
        /// How much to log: error, warn, info, debug or trace, or TARGET=LEVEL,...; what programs print and are typed is
        /// never logged [default: $PTYARD_LOG, else warn,ptyard=info]
        #[arg(long, value_name = "LEVEL")]
        log: Option<LogFilter>,
    },
    /// Be the parent of all programs of a state directory: the way the server starts it, so that they outlive it
    #[command(hide = true)]
    Keeper {
        /// Say whether this version can take the keeper's state on stdin
        #[arg(long)]
        check: bool,
        /// Go on as the keeper that this process was, with the state in this descriptor
        #[arg(long, value_name = "FD")]
        resume: Option<i32>,
        /// How much to log
        #[arg(long, value_name = "LEVEL")]
        log: Option<LogFilter>,
    },
    /// Carry the streams of a program elsewhere: the way the server starts it, so that they outlive it
    #[command(hide = true)]
    Carry {
        /// What the backend says of the program
        #[arg(last = true, value_name = "ARGV")]
        argv: Vec<String>,
    },
    /// Tell the server what an agent tells a hook, on stdin: the way agents run it
    #[command(hide = true)]
    Hook {
        /// In which words it is told
        words: String,
        /// Which edition of an entry runs it: what `ptyard hooks` knows its entries by
        #[arg(long, value_name = "NAME")]
        entry: Option<String>,
    },
    /// Have a coding CLI tell of its turns wherever it runs in a terminal of an agent: entries in the settings of this user
    ///
    /// They confirm that a text was taken, whatever the screen shows. Outside terminals of agents they do nothing. Claude
    /// Code is given them with its start and needs none for that.
    Hooks {
        #[command(subcommand)]
        command: HooksCommand,
    },
    /// Start real programs in a state directory of their own and show what happens to them
    Demo,
    /// Stop the server: every program is ended, then the server
    Stop,
    /// Print the version of this program and of the server, if one runs
    Version,
    /// Look at single rules, without a server
    Debug {
        #[command(subcommand)]
        command: DebugCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum DebugCommand {
    /// Truncate stdin as a window is truncated, and print {"output_base64","original_token_count"}
    Truncate {
        /// Most tokens of 4 bytes
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        max_tokens: i64,
    },
}

/// Which program.
#[derive(Debug, Args)]
pub(crate) struct IdArg {
    /// Short id, full id, or unique name
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_of_every_command() {
        let mut command = Cli::command().term_width(100).disable_help_subcommand(true);
        command.build();
        let mut all = String::new();
        collect(&mut command, &mut all);
        insta::assert_snapshot!("help", all);
    }

    fn collect(command: &mut clap::Command, into: &mut String) {
        let help = command.render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        into.push_str(&format!(
            "===== {}\n{}\n",
            command.get_bin_name().unwrap_or("ptyard"),
            help.join("\n")
        ));
        for child in command.get_subcommands_mut() {
            collect(child, into);
        }
    }

    fn parse(line: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from([&["ptyard"], line].concat())
    }

    #[test]
    fn case_v05_arguments_after_the_dashes_are_taken_as_they_are() {
        let cli = parse(&["exec", "--tty", "--", "printf", "[%s]", "a 'b;c $HOME", "", "*", "--json", "--"])
            .unwrap();
        let Command::Exec(exec) = cli.command else { panic!("not exec") };
        assert_eq!(exec.argv, ["printf", "[%s]", "a 'b;c $HOME", "", "*", "--json", "--"]);
        assert!(!cli.global.json);
    }

    #[test]
    fn exec_takes_shell_text_or_an_argument_list_and_never_both_or_neither() {
        assert!(parse(&["exec", "-c", "ls"]).is_ok());
        for wrong in [
            &["exec"][..],
            &["exec", "-c", "ls", "--", "ls"],
            &["exec", "ls"],
            &["exec", "--shell", "sh", "--", "ls"],
        ] {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }

    #[test]
    fn write_types_one_thing_at_most() {
        let chars = |line: &[&str]| {
            let Command::Write(write) = parse(line).unwrap().command else { panic!("not write") };
            write.typed.chars
        };
        assert_eq!(chars(&["write", "1000", "--chars", "-x"]).as_deref(), Some("-x"));
        assert_eq!(chars(&["write", "1000", "--chars", ""]).as_deref(), Some(""));
        assert_eq!(chars(&["write", "1000"]), None);
        assert!(parse(&["write", "1000", "--chars", "a", "--keys", "C-c"]).is_err());
    }

    #[test]
    fn options_for_every_command_stand_before_or_after_it() {
        assert!(parse(&["--json", "list"]).unwrap().global.json);
        assert!(parse(&["list", "--json", "--state", "/s", "--no-start"]).unwrap().global.json);
    }
}
