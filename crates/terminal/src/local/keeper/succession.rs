//! A keeper that becomes a newer program: the same process, with its children and its descriptors, executes it.
//!
//! ```text
//!   old program                               new program
//!     writes its estate into a memory file
//!     starts `... --check`, estate on stdin  -->  can it be taken? if not: says why, and the old program goes on
//!     leaves its descriptors open, executes
//!     `... --resume FD`                      -->  takes the estate, and goes on
//! ```
//!
//! The [`Heading`] of an estate and the two arguments never change; the rest is as the estate's format says. A new
//! program takes the formats from [`OLDEST`] to [`FORMAT`].

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use serde::{Deserialize, Serialize};

use super::opening::NewProgram;
use super::protocol::{KeptProgram, LogLimits};
use crate::sys;
use crate::sys::exec::Inherited;

/// The number of this form of an estate.
const FORMAT: u32 = 1;

/// The oldest form that this version takes.
const OLDEST: u32 = 1;

/// With this argument a program is asked whether it can take the estate on its stdin.
const CHECK: &str = "--check";

/// With this argument, and the number of a descriptor, a program takes an estate.
const RESUME: &str = "--resume";

/// How long a new program may take to say whether it can take an estate. Programs that print wait meanwhile.
const CHECK_LIMIT: Duration = Duration::from_secs(5);

/// Longest answer of a new program that is listened to.
const MOST_ANSWER_BYTES: u64 = 1 << 10;

/// What form an estate has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Heading {
    format: u32,
    /// The version that wrote it.
    version: String,
}

/// An estate as it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Document<T> {
    #[serde(flatten)]
    heading: Heading,
    estate: T,
}

/// All that a keeper is. Descriptors are numbers: they are open in the process that reads it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Estate {
    pub(super) limits: LogLimits,
    pub(super) next_number: u64,
    /// The soft limit of open files of programs.
    pub(super) program_open_files: Option<u64>,
    pub(super) lock: RawFd,
    pub(super) listener: RawFd,
    /// The server that asked.
    pub(super) seat: RawFd,
    pub(super) waiting: Vec<RawFd>,
    pub(super) home: Option<(PathBuf, RawFd)>,
    pub(super) homes: Vec<(PathBuf, RawFd)>,
    pub(super) programs: Vec<Bequest>,
}

/// A program in an estate.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Bequest {
    pub(super) number: u64,
    /// Whether a server may still speak of it.
    pub(super) known: bool,
    pub(super) program: KeptProgram,
    pub(super) descriptors: Vec<RawFd>,
}

impl Estate {
    fn descriptors(&self) -> Vec<RawFd> {
        let mut all = vec![self.lock, self.listener, self.seat];
        all.extend(&self.waiting);
        all.extend(self.home.iter().chain(&self.homes).map(|(_, lock)| lock));
        all.extend(self.programs.iter().flat_map(|bequest| &bequest.descriptors));
        all
    }

    fn write(&self) -> io::Result<File> {
        let heading = Heading { format: FORMAT, version: env!("CARGO_PKG_VERSION").to_owned() };
        let mut memory = File::from(rustix::fs::memfd_create(c"ptyard-estate", MemfdFlags::CLOEXEC)?);
        memory.write_all(&serde_json::to_vec(&Document { heading, estate: self })?)?;
        memory.rewind()?;
        Ok(memory)
    }

    fn read(mut from: impl Read) -> Result<Self, String> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)
            .map_err(|error| format!("what is handed over cannot be read: {error}"))?;
        let unreadable = |error| format!("what is handed over cannot be understood: {error}");
        let Heading { format, version } = serde_json::from_slice(&bytes).map_err(unreadable)?;
        if !(OLDEST..=FORMAT).contains(&format) {
            let ours = env!("CARGO_PKG_VERSION");
            return Err(format!(
                "version {version} hands over format {format}, version {ours} takes {OLDEST} to {FORMAT}"
            ));
        }
        let document: Document<Self> = serde_json::from_slice(&bytes).map_err(unreadable)?;
        Ok(document.estate)
    }

    /// Takes the estate that this process was executed with.
    pub(super) fn inherit(fd: RawFd) -> io::Result<(Self, Inherited)> {
        let memory = File::from(Inherited::claim(&[fd])?.take(fd)?);
        let estate = Self::read(memory).map_err(io::Error::other)?;
        let descriptors = Inherited::claim(&estate.descriptors())?;
        Ok((estate, descriptors))
    }

    /// Becomes `new`. Returns only when it cannot: why.
    pub(super) fn pass_on(&self, new: &NewProgram) -> String {
        let memory = match self.write() {
            Ok(memory) => memory,
            Err(error) => return format!("what is to be handed over cannot be written: {error}"),
        };
        if let Err(why) = ask(new, &memory) {
            return why;
        }
        let fd = memory.as_raw_fd();
        let resume = [RESUME.to_owned(), fd.to_string()];
        let args = new.args.iter().chain(&resume).map(|arg| CString::new(arg.as_str()));
        let (Ok(args), Ok(program)) =
            (args.collect::<Result<Vec<_>, _>>(), CString::new(new.program.as_os_str().as_encoded_bytes()))
        else {
            return "a path or an argument of the new program holds a zero byte".to_owned();
        };
        let mut kept = self.descriptors();
        kept.push(fd);
        let error = sys::exec::become_program(&program, &args, &kept);
        format!("{} cannot be executed: {error}", new.program.display())
    }
}

/// Says whether this program can take the estate on its stdin; an error says why not.
///
/// # Errors
/// What a keeper that asks is to be told.
pub fn check() -> Result<(), String> {
    Estate::read(io::stdin().lock()).map(drop)
}

/// Asks a program whether it can take an estate; an error says why not.
fn ask(new: &NewProgram, estate: &File) -> Result<(), String> {
    let NewProgram { program, args } = new;
    let failed = |error: io::Error| format!("{} cannot be asked: {error}", program.display());
    let stdin = estate.try_clone().map_err(failed)?;
    let mut asked = Command::new(program);
    asked.args(args.iter().skip(1)).arg(CHECK).stdin(stdin).stdout(Stdio::piped());
    let mut child = asked.spawn().map_err(failed)?;
    let status = ended_in_time(&mut child).map_err(failed)?;
    let mut answer = String::new();
    if let Some(stdout) = child.stdout.take() {
        let _unreadable = stdout.take(MOST_ANSWER_BYTES).read_to_string(&mut answer);
    }
    let mut estate = estate;
    estate.rewind().map_err(failed)?;
    match (status, answer.trim()) {
        (Some(status), _) if status.success() => Ok(()),
        (Some(status), "") => Err(format!("{} does not take it: {status}", program.display())),
        (Some(_), answer) => Err(answer.to_owned()),
        (None, _) => Err(format!("{} does not answer", program.display())),
    }
}

/// Waits for its end, and ends it when that does not come in [`CHECK_LIMIT`]: `None` then.
fn ended_in_time(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let limit = Timespec::try_from(CHECK_LIMIT).expect("invariant: seconds fit");
    let pidfd = sys::spawn::open_pidfd(child.id())?;
    let ended = loop {
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&limit)) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other.is_ok_and(|count| count > 0),
        }
    };
    if !ended {
        let _ = child.kill();
    }
    let status = child.wait()?;
    Ok(ended.then_some(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estate_of_another_format_is_refused_with_both_versions() {
        let newer = format!(r#"{{"format":{},"version":"9.8.7","what":"ever"}}"#, FORMAT + 1);
        let refused = Estate::read(newer.as_bytes()).unwrap_err();
        for part in ["9.8.7", env!("CARGO_PKG_VERSION"), &(FORMAT + 1).to_string()] {
            assert!(refused.contains(part), "{part}: {refused}");
        }
        let older = format!(r#"{{"format":{},"version":"0.0.1"}}"#, OLDEST - 1);
        assert!(Estate::read(older.as_bytes()).unwrap_err().contains("0.0.1"));
        assert!(Estate::read(&b"no json"[..]).is_err());
    }
}
