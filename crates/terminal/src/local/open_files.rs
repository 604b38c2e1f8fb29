//! How many descriptors this process may have, and its programs.

use std::sync::OnceLock;

use rustix::io;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit this process was started with, once it was raised.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Raises this process's limit of open files as far as it may. Programs started later get the limit from before: many
/// still use `select`, which knows no descriptor above 1,023, and some close all there could be.
pub fn raise_open_files() -> io::Result<()> {
    let before = getrlimit(Resource::Nofile);
    if before.current == before.maximum {
        return Ok(());
    }
    setrlimit(Resource::Nofile, Rlimit { current: before.maximum, maximum: before.maximum })?;
    BEFORE.get_or_init(|| before);
    Ok(())
}

/// Takes the limit that this process was started with when it was another program, which raised it.
pub(super) fn inherit(before: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    BEFORE.get_or_init(|| Rlimit { current: Some(before), maximum });
}

/// The soft limit for programs, when it is not this process's own.
pub(super) fn for_programs() -> Option<u64> {
    BEFORE.get().and_then(|before| before.current)
}
