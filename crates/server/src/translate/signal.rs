//! Names of signals.

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::Signal;
use rustix::process::Signal as Os;

use crate::error::ApiError;

/// The signals with a name, as the operating system numbers them.
const NAMED: &[(&str, Os)] = &[
    ("HUP", Os::HUP),
    ("INT", Os::INT),
    ("QUIT", Os::QUIT),
    ("ILL", Os::ILL),
    ("TRAP", Os::TRAP),
    ("ABRT", Os::ABORT),
    ("IOT", Os::ABORT),
    ("BUS", Os::BUS),
    ("FPE", Os::FPE),
    ("KILL", Os::KILL),
    ("USR1", Os::USR1),
    ("SEGV", Os::SEGV),
    ("USR2", Os::USR2),
    ("PIPE", Os::PIPE),
    ("ALRM", Os::ALARM),
    ("TERM", Os::TERM),
    #[cfg(target_os = "linux")]
    ("STKFLT", Os::STKFLT),
    ("CHLD", Os::CHILD),
    ("CLD", Os::CHILD),
    ("CONT", Os::CONT),
    ("STOP", Os::STOP),
    ("TSTP", Os::TSTP),
    ("TTIN", Os::TTIN),
    ("TTOU", Os::TTOU),
    ("URG", Os::URG),
    ("XCPU", Os::XCPU),
    ("XFSZ", Os::XFSZ),
    ("VTALRM", Os::VTALARM),
    ("PROF", Os::PROF),
    ("WINCH", Os::WINCH),
    ("IO", Os::IO),
    ("POLL", Os::IO),
    #[cfg(target_os = "linux")]
    ("PWR", Os::POWER),
    ("SYS", Os::SYS),
];

/// Largest signal number: the real-time signals end here.
const MAX: i32 = 64;

/// A signal from `INT`, `sigint` or `2`.
pub(crate) fn parse(text: &str) -> Result<Signal, ApiError> {
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let named = NAMED.iter().find(|(known, _)| *known == name).map(|(_, signal)| signal.as_raw());
    let number = || {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| digits && (1..=MAX).contains(number))
    };
    named
        .or_else(number)
        .map(Signal)
        .ok_or_else(|| ApiError::new(ErrorCode::UnknownSignal, format!("{text:?} is not a signal")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_taken_by_name_in_any_case_and_by_number() {
        for (text, number) in [("INT", 2), ("SIGTERM", 15), ("sigKill", 9), ("9", 9), ("64", 64), ("hup", 1)]
        {
            assert_eq!(parse(text), Ok(Signal(number)), "{text}");
        }
        for bad in ["", "0", "65", "-9", "+9", "SIG", "SIGSIGINT", "INTX", "SIG9"] {
            assert_eq!(parse(bad).unwrap_err().code(), ErrorCode::UnknownSignal, "{bad}");
        }
    }
}
