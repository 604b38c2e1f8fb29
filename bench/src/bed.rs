//! What every case needs: the program, the peers, and a machine that is set up.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Outcome;
use crate::args::Args;
use crate::peers::unix_local;

/// What every case needs.
pub(crate) struct Bed {
    /// The `ptyard` program of the same build.
    pub(crate) ptyard: PathBuf,
    /// How often each contender has its turn.
    pub(crate) rounds: u32,
    /// Bytes of the corpus, about.
    pub(crate) corpus_bytes: usize,
    /// How long to wait until the machine is quiet.
    pub(crate) patience: Duration,
    /// A Python that has the `openai-agents` package.
    pub(crate) python: Option<PathBuf>,
}

impl Bed {
    /// Builds the program, raises the limit of descriptors (servers started from here inherit it) and finds the peers.
    pub(crate) fn prepare(args: &Args) -> Outcome<Self> {
        raise_descriptor_limit()?;
        let python = unix_local::python().inspect_err(|why| eprintln!("unix_local is left out: {why}")).ok();
        Ok(Self {
            ptyard: build_ptyard()?,
            rounds: args.rounds,
            corpus_bytes: args.corpus_mb as usize * 1_000_000,
            patience: Duration::from_secs(args.patience),
            python,
        })
    }
}

fn build_ptyard() -> Outcome<PathBuf> {
    eprintln!("building the release build of ptyard");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let status = Command::new(cargo)
        .args(["build", "--release", "--quiet", "-p", "ptyard", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .status()?;
    let program = std::env::current_exe()?.with_file_name("ptyard");
    if !status.success() || !program.exists() {
        return Err(format!("{} could not be built", program.display()).into());
    }
    Ok(program)
}

fn raise_descriptor_limit() -> Outcome<()> {
    let most = getrlimit(Resource::Nofile).maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })?)
}
