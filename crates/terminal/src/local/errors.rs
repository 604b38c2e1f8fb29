//! Why programs do not start, as codes and as words.

use std::io;
use std::path::Path;

use ptyard_core::ErrorCode;

use crate::backend::{StartError, StartSpec};
use crate::sys::spawn::{Failure, Stage};

/// A spec that no program could be started from.
pub(super) fn invalid(message: impl Into<String>) -> StartError {
    StartError { code: ErrorCode::InvalidArgument, message: message.into() }
}

/// The server could not do its part; it may be able to later.
pub(super) fn spawn_failed(action: &str, error: &io::Error) -> StartError {
    StartError { code: ErrorCode::SpawnFailed, message: format!("{action}: {error}") }
}

/// A child that was forked and did not become the program.
pub(super) fn child_failed(failure: Failure, spec: &StartSpec) -> StartError {
    let error = io::Error::from_raw_os_error(failure.errno);
    match failure.stage {
        Stage::Setup => spawn_failed("cannot set the new process up", &error),
        Stage::Chdir => StartError {
            code: chdir_code(failure.errno),
            message: format!("cannot enter the working directory {:?}: {error}", spec.cwd),
        },
        Stage::Exec => {
            let program = spec.argv.first().map_or("", String::as_str);
            let mut message = format!("cannot execute {program:?}: {error}");
            if failure.errno == libc::ENOENT && program.contains('/') && spec.cwd.join(program).exists() {
                message.push_str("; the file exists, so it is its interpreter that is missing");
                if let Some(line) = interpreter_line(&spec.cwd.join(program)) {
                    message.push_str(&format!(" ({line})"));
                }
            } else if failure.errno == libc::ENOENT && !program.contains('/') {
                message.push_str(&format!("; PATH is {:?}", spec.env.get("PATH").map_or("", String::as_str)));
            } else if failure.errno == libc::E2BIG {
                message.push_str("; one argument has at most 128 KiB: put it into a file, and run that");
            }
            StartError { code: exec_code(failure.errno), message }
        }
    }
}

/// What a child that could not enter its working directory means.
const fn chdir_code(errno: i32) -> ErrorCode {
    match errno {
        libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP => ErrorCode::CwdNotFound,
        _ => ErrorCode::CwdNotAccessible,
    }
}

/// What a child that could not execute its program means.
const fn exec_code(errno: i32) -> ErrorCode {
    match errno {
        libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP => ErrorCode::ProgramNotFound,
        libc::EACCES | libc::EPERM | libc::ENOEXEC | libc::EISDIR | libc::EINVAL | libc::ELIBBAD => {
            ErrorCode::ProgramNotExecutable
        }
        libc::E2BIG => ErrorCode::InvalidArgument,
        // ETXTBSY (somebody still writes the file), EAGAIN, ENOMEM, EMFILE, EIO: may pass.
        _ => ErrorCode::SpawnFailed,
    }
}

/// The `#!` line of a script.
fn interpreter_line(file: &Path) -> Option<String> {
    use std::io::Read;
    /// What the kernel looks at.
    const LINE_LIMIT_BYTES: u64 = 256;
    let mut start = Vec::new();
    std::fs::File::open(file).ok()?.take(LINE_LIMIT_BYTES).read_to_end(&mut start).ok()?;
    let line = String::from_utf8_lossy(&start);
    line.lines().next().filter(|line| line.starts_with("#!")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_x04_each_errno_has_the_code_that_says_whose_fault_it_is() {
        assert_eq!(exec_code(libc::ENOENT), ErrorCode::ProgramNotFound);
        assert_eq!(exec_code(libc::EACCES), ErrorCode::ProgramNotExecutable);
        assert_eq!(exec_code(libc::ENOEXEC), ErrorCode::ProgramNotExecutable);
        assert_eq!(exec_code(libc::E2BIG), ErrorCode::InvalidArgument);
        assert_eq!(exec_code(libc::EMFILE), ErrorCode::SpawnFailed);
        assert_eq!(exec_code(libc::EAGAIN), ErrorCode::SpawnFailed);
        assert!(ErrorCode::SpawnFailed.is_retryable());
        assert_eq!(chdir_code(libc::ENOENT), ErrorCode::CwdNotFound);
        assert_eq!(chdir_code(libc::EACCES), ErrorCode::CwdNotAccessible);
    }
}
