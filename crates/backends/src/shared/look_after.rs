//! Looking after the processes of one terminal with a script that runs where they run.
//!
//! It finds them by the variable they were born with, by their parents and by their sessions.

use std::time::Duration;

use ptyard_core::TerminalId;
use ptyard_terminal::backend::{KillReport, Target};
use ptyard_terminal::local::env::TERMINAL_VARIABLE;

/// The script, for `sh -c`. Its arguments: the mark, what to do, and for what.
pub(crate) const SCRIPT: &str = include_str!("look_after.sh");

/// The mark of all that are born in a terminal.
pub(crate) fn mark(id: TerminalId) -> String {
    format!("{TERMINAL_VARIABLE}={id}")
}

/// A grace as the script takes it.
pub(crate) fn tenths(grace: Duration) -> String {
    grace.as_millis().div_ceil(100).to_string()
}

/// A target as the script takes it.
pub(crate) const fn whom(target: Target) -> &'static str {
    match target {
        Target::Program => "program",
        Target::ForegroundGroup => "group",
    }
}

/// What the script says it did.
pub(crate) fn report(output: &str) -> KillReport {
    let words = |word: &'static str| output.lines().filter_map(move |line| line.strip_prefix(word));
    KillReport {
        found: words("found").find_map(|rest| rest.trim().parse().ok()).unwrap_or(0),
        last_signal: words("last").filter_map(|rest| rest.trim().parse().ok()).next_back(),
        survivors: words("left").flat_map(str::split_whitespace).filter_map(|pid| pid.parse().ok()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_says_is_understood() {
        let all = report("found 3\nlast 15\nlast 9\nleft 17 18 \n");
        assert_eq!(all, KillReport { found: 3, last_signal: Some(9), survivors: vec![17, 18] });
        assert_eq!(report("found 0\n"), KillReport::default());
        assert_eq!(report("sh: not found\n"), KillReport::default());
    }
}
