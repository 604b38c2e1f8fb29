//! A refusal as the command line shows it, and the exit status of every error code.

use ptyard_core::ErrorCode;
use ptyard_server::api::{ErrorBody, ErrorReply};
use ptyard_server::hint_of;

use crate::client::ClientError;

/// Exit statuses of the command line.
pub mod status {
    /// Done.
    pub const DONE: u8 = 0;
    /// Refused or failed.
    pub const FAILED: u8 = 1;
    /// The command line itself is wrong.
    pub const USAGE: u8 = 2;
    /// No server runs, and none was to be started.
    pub const NO_SERVER: u8 = 3;
    /// Whoever read stdout has left: what a shell shows for a program that SIGPIPE ended.
    pub const CLOSED_STDOUT: u8 = 141;
}

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", body.message)]
pub struct Failure {
    body: ErrorBody,
    status: u8,
}

impl Failure {
    /// A failure with the hint that belongs to `code`.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let body = ErrorBody {
            code: code.as_str().to_owned(),
            message: message.into(),
            hint: code.hint().to_owned(),
            retryable: code.is_retryable(),
        };
        Self { body, status: exit_status(code) }
    }

    /// A command line that cannot be followed.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, message).with_hint(hint)
    }

    /// Nobody reads stdout any more. That is how `| head` ends, and nothing to report.
    pub(crate) fn closed_stdout() -> Self {
        Self { status: status::CLOSED_STDOUT, ..Self::new(ErrorCode::Internal, "stdout is closed") }
    }

    /// The same failure with another next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = hint.into();
        self
    }

    /// What is told about it.
    #[must_use]
    pub fn body(&self) -> &ErrorBody {
        &self.body
    }

    /// The code, when this version knows it: a newer server may use others.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        code_of(&self.body)
    }

    /// The status the program exits with.
    #[must_use]
    pub fn status(&self) -> u8 {
        self.status
    }

    /// The failure as the JSON document of `--json`.
    #[must_use]
    pub fn reply(&self) -> ErrorReply {
        ErrorReply { error: self.body.clone() }
    }
}

impl From<ErrorBody> for Failure {
    fn from(mut body: ErrorBody) -> Self {
        let code = code_of(&body);
        // What the server says in HTTP's words is said in the command line's; what it says of this case stays.
        if let Some(code) = code.filter(|code| body.hint == hint_of(*code)) {
            code.hint().clone_into(&mut body.hint);
        }
        Self { body, status: code.map_or(status::FAILED, exit_status) }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(body) => (*body).into(),
            other => Self::new(other.code(), other.to_string()),
        }
    }
}

fn code_of(body: &ErrorBody) -> Option<ErrorCode> {
    ErrorCode::ALL.iter().copied().find(|code| code.as_str() == body.code)
}

/// The exit status of `code`: 2 when the value of an argument is wrong in itself, whoever noticed, 3 when there is no
/// server, 1 for everything that was refused or failed.
#[must_use]
pub fn exit_status(code: ErrorCode) -> u8 {
    use ErrorCode as C;
    match code {
        C::NoServer => status::NO_SERVER,
        C::InvalidArgument
        | C::InvalidSchedule
        | C::InvalidSize
        | C::InvalidRegex
        | C::UnsupportedCondition
        | C::UnknownSignal
        | C::UnknownKey => status::USAGE,
        C::UnknownTerminal
        | C::TerminalRemoved
        | C::TerminalExited
        | C::TerminalRunning
        | C::NameTaken
        | C::AmbiguousName
        | C::NoStdin
        | C::StdinClosed
        | C::NotATty
        | C::RawMode
        | C::InvalidRequest
        | C::NotFound
        | C::ProgramNotFound
        | C::ProgramNotExecutable
        | C::SpawnFailed
        | C::CwdNotFound
        | C::CwdNotAccessible
        | C::StateUnwritable
        | C::StateLocked
        | C::StateForeign
        | C::StoreDamaged
        | C::StoreNewer
        | C::DiskFull
        | C::OutputEvicted
        | C::OffsetBeyondEnd
        | C::InputTooLarge
        | C::InputQueueFull
        | C::KeyConflict
        | C::UnknownMessage
        | C::MessageSettled
        | C::InboxFull
        | C::IdsExhausted
        | C::LimitUnavailable
        | C::TooManyTerminals
        | C::Unsupported
        | C::BackendUnreachable
        | C::BackendNotSetUp
        | C::BackendUnauthorized
        | C::PlaceNotFound
        | C::Survivors
        | C::Unauthorized
        | C::Forbidden
        | C::Incompatible
        | C::IncompatibleKeeper
        | C::IncompatibleState
        | C::Replaced
        | C::UnknownProfile
        | C::InvalidProfile
        | C::UnknownSession
        | C::SelfSend
        | C::NoReceiver
        | C::TooDeep
        | C::UnknownHandoff
        | C::UnknownFlow
        | C::FlowTaken
        | C::FlowRunning
        | C::NotAsking
        | C::Stopping
        | C::Internal => status::FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_status_of_1_2_or_3_and_only_no_server_has_3() {
        for &code in ErrorCode::ALL {
            let status = exit_status(code);
            assert!((1..=3).contains(&status), "{code}");
            assert_eq!(status == status::NO_SERVER, code == ErrorCode::NoServer, "{code}");
        }
    }

    #[test]
    fn a_hint_in_the_words_of_http_becomes_one_of_the_command_line_and_any_other_stays() {
        let body = |hint: &str| ErrorBody {
            code: ErrorCode::CwdNotFound.as_str().into(),
            message: "m".into(),
            hint: hint.into(),
            retryable: false,
        };
        let shown = |hint: &str| Failure::from(body(hint)).body().hint.clone();
        assert!(!hint_of(ErrorCode::CwdNotFound).contains("--"));
        assert!(shown(hint_of(ErrorCode::CwdNotFound)).contains("`--cwd`"));
        assert_eq!(shown("try this"), "try this");
    }

    #[test]
    fn a_code_this_version_does_not_know_still_fails() {
        let body =
            ErrorBody { code: "of_tomorrow".into(), message: "m".into(), hint: "h".into(), retryable: true };
        let failure = Failure::from(body.clone());
        assert_eq!((failure.status(), failure.code()), (status::FAILED, None));
        assert_eq!(failure.reply().error, body);
    }
}
