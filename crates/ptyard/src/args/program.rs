//! Arguments of the commands that are about programs.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::IdArg;
use super::limit::LimitArg;
use crate::environment::EnvArg;

/// How long a window stays open, and how much it may hold.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WindowArgs {
    /// Milliseconds to wait for output [default: exec 10000, write 250]; held to 250..30000 (a write of nothing:
    /// 5000..30000) unless --until is given
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = milliseconds)]
    pub(crate) yield_ms: Option<i64>,
    /// Most tokens of 4 bytes to print; head and tail of what is longer are kept [default: 10000]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<i64>,
    /// End the window early: exit, quiet:MS, regex:RE (new output only), prompt or status:NAME; repeatable, the first
    /// that holds ends it
    #[arg(long, value_name = "COND", allow_hyphen_values = true)]
    pub(crate) until: Vec<String>,
}

/// Any whole number: what is too much or too little is held to what there can be, by the server.
fn milliseconds(text: &str) -> Result<i64, std::num::ParseIntError> {
    let ms = text.parse::<i128>()?;
    Ok(i64::try_from(ms).unwrap_or(if ms < 0 { 0 } else { i64::MAX }))
}

/// Start a program and print what it prints
///
/// The output goes to stdout as it is, then one line about the program to stderr. A program that still runs when the
/// window closes goes on in the background: `ptyard write ID` gives the next window.
#[derive(Debug, Args)]
#[command(override_usage = "ptyard exec [OPTIONS] -c 'SHELL TEXT'\n       ptyard exec [OPTIONS] -- ARGV...")]
#[command(group(ArgGroup::new("program").required(true).args(["command", "argv"])))]
pub(crate) struct ExecArgs {
    /// Where it runs [default: local]
    #[arg(long, value_name = "B")]
    pub(crate) backend: Option<String>,
    /// A unique name for it
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,
    /// Give it a terminal instead of pipes
    #[arg(long)]
    pub(crate) tty: bool,
    /// Size of that terminal [default: 80x24]
    #[arg(long, value_name = "COLSxROWS", allow_hyphen_values = true, requires = "tty")]
    pub(crate) size: Option<String>,
    /// What it reads without a terminal: nothing, or a pipe that `write` and `close-stdin` work on
    #[arg(long, value_name = "KIND", default_value = "null", conflicts_with = "tty")]
    pub(crate) stdin: StdinArg,
    /// Working directory [default: yours]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Set a variable, or with a bare name pass yours on; repeatable. Your PATH, HOME, LANG and the like are passed on
    /// anyway, anything else is not
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<EnvArg>,
    /// Shell that reads the text of -c [default: yours]
    #[arg(long, value_name = "SH", conflicts_with = "argv")]
    pub(crate) shell: Option<String>,
    /// Do not make it a login shell
    #[arg(long, conflicts_with = "argv")]
    pub(crate) no_login: bool,
    /// End it when it has lived this long (wall=30s), printed and read nothing this long (idle=10m), or with all it
    /// started uses this much (memory=512M, processes=100); or keep only so much of its output (log=64M). Repeatable
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    pub(crate) limits: Vec<LimitArg>,
    /// Start it also where a limit cannot be held, and say which
    #[arg(long, requires = "limits")]
    pub(crate) best_effort: bool,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
    /// Stream the output as it comes, return when the program ends, and exit with its code (128+N for signal N)
    ///
    /// Your stdin is not passed on. The first interrupt (C-c) is passed to the program; the second one returns with
    /// 130 and leaves the program running.
    #[arg(long, conflicts_with_all = ["yield_ms", "until"])]
    pub(crate) wait: bool,
    /// Text for a shell
    #[arg(short = 'c', value_name = "SHELL TEXT", allow_hyphen_values = true)]
    pub(crate) command: Option<String>,
    /// Program and arguments, passed as they are
    #[arg(last = true, value_name = "ARGV")]
    pub(crate) argv: Vec<String>,
}

/// Take over a program that runs in a pane of tmux already
///
/// Its terminal begins with what the pane shows, and people go on using the pane. `ptyard rm` lets the program go and
/// `ptyard kill` ends it.
#[derive(Debug, Args)]
pub(crate) struct AdoptArgs {
    /// tmux:SESSION:WINDOW.PANE or tmux:%N
    #[arg(value_name = "PLACE")]
    pub(crate) place: String,
    /// A unique name for it
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StdinArg {
    Null,
    Pipe,
}

/// What is typed: one of these, or nothing.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct TypedArgs {
    /// Type this text as it is, control characters included
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) chars: Option<String>,
    /// Press keys, for example 'C-c Enter', encoded as the program expects them
    #[arg(long, value_name = "KEYS", allow_hyphen_values = true)]
    pub(crate) keys: Option<String>,
    /// Type the bytes of a file, or of stdin for -; stops when the program no longer reads
    #[arg(long, value_name = "F|-")]
    pub(crate) file: Option<PathBuf>,
    /// Paste this text: bracketed where the program asked for that
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) paste: Option<String>,
}

/// Type into a program, or nothing, and print what it printed since the last window
#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    #[command(flatten)]
    pub(crate) typed: TypedArgs,
    /// A key of your choice: the same write with the same key types nothing a second time
    #[arg(long, value_name = "IDEMPOTENCY")]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) window: WindowArgs,
}

/// Print any range of a program's output that is still kept, as often as wanted
#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    /// Offset of the first byte [default: the oldest kept]
    #[arg(long, value_name = "OFFSET")]
    pub(crate) since: Option<u64>,
    /// Most bytes to print [default: all there are now; with --json: 1048576]
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<u64>,
    /// Print the bytes as they are; otherwise bytes that are not text are shown as U+FFFD
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Print what a person would see on a program's terminal now
#[derive(Debug, Args)]
pub(crate) struct ScreenArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    /// How to print it [default: text; with --json: json]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<ScreenFormat>,
    /// Lines above the screen to print as well
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) scrollback: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScreenFormat {
    /// The rows as plain text
    Text,
    /// The rows with their colours, for a terminal
    Ansi,
    /// Rows, cursor, title and modes
    Json,
}

/// Wait until something holds for a program
///
/// Exits 0 when a condition held, 1 when the time was up or the program ended first.
#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    /// exit, quiet:MS, regex:RE (new output only), prompt or status:NAME; repeatable, the first that holds counts
    #[arg(long, value_name = "COND", required = true, allow_hyphen_values = true)]
    pub(crate) until: Vec<String>,
    /// Seconds to wait at most [default: as long as it takes]
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<f64>,
}

/// Send a signal to a program
#[derive(Debug, Args)]
pub(crate) struct SignalArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    /// INT, SIGTERM, 9, ...
    #[arg(value_name = "NAME", allow_hyphen_values = true)]
    pub(crate) signal: String,
    /// Send it to the process group in the foreground of its terminal
    #[arg(long)]
    pub(crate) group: bool,
}

/// End a program and everything it started
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    /// Milliseconds between asking (TERM) and forcing (KILL) [default: 2000]
    #[arg(long, value_name = "MS")]
    pub(crate) grace: Option<u64>,
}

/// Show a program on your terminal and type into it
///
/// Detach with C-\ d (or C-\ C-d); C-\ C-\ types one C-\. The program's own size is kept unless --resize is given.
/// Whatever the program switched on in your terminal is switched off again when you leave, however you leave.
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    #[command(flatten)]
    pub(crate) at: IdArg,
    /// Look only: nothing is typed and nothing resized
    #[arg(long, conflicts_with = "resize")]
    pub(crate) read_only: bool,
    /// Give the program the size of your terminal, now and whenever that changes
    #[arg(long)]
    pub(crate) resize: bool,
    /// Be what shows a terminal in a pane of another multiplexer: wait for one that is being started, and succeed only
    /// when its program has ended
    #[arg(long, hide = true)]
    pub(crate) pane: bool,
}
