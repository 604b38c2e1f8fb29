//! The processes that carry the streams of programs elsewhere: see `shared::carried`.

use std::io::Write;

use crate::shared::carried::lost;

/// Carries the streams of one program until it is over, on this process's own. `argv` is what the backend put behind
/// the command that it was given for this: the kind of place, and what that kind needs to know. What this gives is the
/// status to exit with.
#[must_use]
pub fn carry(argv: &[String]) -> u8 {
    match argv.split_first() {
        #[cfg(feature = "docker")]
        Some((kind, rest)) if kind == "docker" => crate::docker::carry(rest),
        #[cfg(feature = "ssh")]
        Some((kind, rest)) if kind == "ssh" => crate::ssh::carry(rest),
        _ => {
            let _nobody =
                writeln!(std::io::stderr(), "this carries the streams of a program for a server of ptyard");
            lost()
        }
    }
}
