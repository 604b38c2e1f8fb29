//! What a server and a keeper say about themselves.
//!
//! What programs print and are typed, the values of variables, and tokens are nobody's business but their owner's: no line
//! of ours names them, at any level (a test reads all of them). What other people's crates would say below a warning is
//! left out for that reason: at their finest levels they print what they carry.

use std::fmt;
use std::io;
use std::str::FromStr;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// Where the filter comes from when no option says it.
const VARIABLE: &str = "PTYARD_LOG";

/// What is logged when nobody says anything: what an owner should know.
const DEFAULT: &str = "warn,ptyard=info";

/// How much is logged: `error`, `warn`, `info`, `debug` or `trace`, or such a level for each of several targets, as in
/// `info,ptyard_terminal=debug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFilter(String);

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usable = EnvFilter::builder().parse(text);
        usable.map(|_| Self(text.to_owned())).map_err(|error| {
            format!("{error}; give error, warn, info, debug or trace, or TARGET=LEVEL with commas between")
        })
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl LogFilter {
    /// What the option says, else what the environment says, if that can be used, else the usual.
    fn effective(option: Option<&Self>) -> EnvFilter {
        let said = option.map(ToString::to_string).or_else(|| std::env::var(VARIABLE).ok());
        said.and_then(|text| EnvFilter::builder().parse(text).ok()).unwrap_or_else(|| EnvFilter::new(DEFAULT))
    }
}

/// Whether a line may be written whatever the filter says.
fn is_discreet(line: &Metadata<'_>) -> bool {
    line.target().starts_with("ptyard") || *line.level() <= Level::WARN
}

/// Log lines go to stderr from here on: its own terminal, or the log.
pub(crate) fn to_stderr(filter: Option<&LogFilter>) {
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false);
    // On a full disk the log is lost. Saying so on stderr, which is the log, would be a panic.
    let lines = lines.log_internal_errors(false);
    let lines = lines.with_filter(filter_fn(is_discreet));
    // It fails only when it was set already.
    let _ = tracing_subscriber::registry().with(LogFilter::effective(filter)).with(lines).try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_level_or_levels_of_targets_and_anything_else_is_refused() {
        for good in ["debug", "warn,ptyard=info", "ptyard_terminal=trace"] {
            assert_eq!(good.parse::<LogFilter>().unwrap().to_string(), good);
        }
        for bad in ["ptyard=loud", "a=b=c"] {
            assert!(bad.parse::<LogFilter>().is_err(), "{bad}");
        }
    }
}
