//! Signals by name.

use std::str::FromStr;

use ptyard_core::ErrorCode;

use crate::backend::Signal;

/// Linux's names on every architecture that Rust and we support; the numbers are the C library's for this one.
const NAMES: &[(&str, i32)] = &[
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("IOT", libc::SIGIOT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("SEGV", libc::SIGSEGV),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("STKFLT", libc::SIGSTKFLT),
    ("CHLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("URG", libc::SIGURG),
    ("XCPU", libc::SIGXCPU),
    ("XFSZ", libc::SIGXFSZ),
    ("VTALRM", libc::SIGVTALRM),
    ("PROF", libc::SIGPROF),
    ("WINCH", libc::SIGWINCH),
    ("IO", libc::SIGIO),
    ("POLL", libc::SIGPOLL),
    ("PWR", libc::SIGPWR),
    ("SYS", libc::SIGSYS),
];

/// The text names no signal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a signal")]
pub struct UnknownSignal(String);

impl UnknownSignal {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::UnknownSignal
    }
}

/// A name with or without `SIG`, in any case, or a number 1..=64.
impl FromStr for Signal {
    type Err = UnknownSignal;

    fn from_str(text: &str) -> Result<Self, UnknownSignal> {
        let unknown = || UnknownSignal(text.to_owned());
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = text.parse().map_err(|_| unknown())?;
            return if (1..=64).contains(&number) { Ok(Self(number)) } else { Err(unknown()) };
        }
        let upper = text.to_ascii_uppercase();
        let name = upper.strip_prefix("SIG").unwrap_or(&upper);
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, number)| Self(number)).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names_and_numbers() {
        for (text, number) in [("INT", 2), ("SIGTERM", 15), ("sigkill", 9), ("9", 9), ("64", 64), ("hup", 1)]
        {
            assert_eq!(text.parse(), Ok(Signal(number)), "{text}");
        }
    }

    #[test]
    fn what_is_no_signal_is_refused_with_what_was_given() {
        for text in ["", "0", "65", "-9", "SIG", "SIGSIGINT", "FOO", "9 ", "99999999999"] {
            let error = text.parse::<Signal>().unwrap_err();
            assert_eq!(error.code(), ErrorCode::UnknownSignal);
            assert_eq!(error.to_string(), format!("{text:?} is not a signal"));
        }
    }
}
