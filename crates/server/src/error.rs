//! Refusals: every error code has one HTTP status, and every refusal one shape.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ptyard_core::ErrorCode;
use ptyard_core::size::SizeError;
use ptyard_yard::YardError;

use crate::api::{ErrorBody, ErrorReply};
use crate::stop::Ending;

/// The HTTP status of a code.
///
/// 4xx is for what the caller can change, 503 and 507 for what passes, 500 for what should not happen.
#[must_use]
pub const fn status_of(code: ErrorCode) -> StatusCode {
    use ErrorCode as C;
    match code {
        C::InvalidArgument
        | C::InvalidProfile
        | C::InvalidSchedule
        | C::InvalidRequest
        | C::InvalidSize
        | C::InvalidRegex
        | C::UnsupportedCondition
        | C::UnknownSignal
        | C::UnknownKey => StatusCode::BAD_REQUEST,
        C::Unauthorized => StatusCode::UNAUTHORIZED,
        C::Forbidden => StatusCode::FORBIDDEN,
        C::UnknownTerminal
        | C::UnknownMessage
        | C::UnknownProfile
        | C::UnknownSession
        | C::UnknownHandoff
        | C::UnknownFlow
        | C::NotFound => StatusCode::NOT_FOUND,
        C::TerminalExited
        | C::TerminalRunning
        | C::NameTaken
        | C::AmbiguousName
        | C::NoStdin
        | C::StdinClosed
        | C::NotATty
        | C::RawMode
        | C::KeyConflict
        | C::FlowTaken
        | C::FlowRunning
        | C::SelfSend
        | C::NoReceiver
        | C::TooDeep
        | C::NotAsking
        | C::MessageSettled
        | C::Incompatible
        | C::IncompatibleKeeper
        | C::IncompatibleState => StatusCode::CONFLICT,
        C::TerminalRemoved | C::OutputEvicted => StatusCode::GONE,
        C::InputTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        C::OffsetBeyondEnd => StatusCode::RANGE_NOT_SATISFIABLE,
        C::ProgramNotFound
        | C::ProgramNotExecutable
        | C::CwdNotFound
        | C::CwdNotAccessible
        | C::PlaceNotFound
        | C::BackendNotSetUp => StatusCode::UNPROCESSABLE_ENTITY,
        C::InputQueueFull | C::InboxFull | C::TooManyTerminals => StatusCode::TOO_MANY_REQUESTS,
        C::SpawnFailed
        | C::StateUnwritable
        | C::StateForeign
        | C::StoreDamaged
        | C::StoreNewer
        | C::Survivors
        | C::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        C::Unsupported | C::LimitUnavailable => StatusCode::NOT_IMPLEMENTED,
        C::BackendUnreachable | C::BackendUnauthorized => StatusCode::BAD_GATEWAY,
        C::StateLocked | C::IdsExhausted | C::NoServer | C::Stopping | C::Replaced => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        C::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
    }
}

/// The next step after a code, in the words of HTTP; empty when there is none.
///
/// The code's own hint names commands and options of the command line where these are what helps. What only whoever
/// runs the server can mend stays in those words.
#[must_use]
pub const fn hint_of(code: ErrorCode) -> &'static str {
    use ErrorCode as C;
    match code {
        C::UnknownTerminal => "GET /v1/terminals lists the terminals that exist",
        C::TerminalExited => "its output can still be read: GET /v1/terminals/{id}/output",
        C::TerminalRunning => "POST /v1/terminals/{id}/kill ends it first",
        C::NoStdin => "start the command with `tty: true` or `stdin: \"pipe\"`",
        C::NotATty => "start the command with `tty: true`",
        C::RawMode => "the program reads raw keys; send the key it ends on (`keys: C-d`) or kill it",
        C::ProgramNotFound => "give a path, or a PATH that holds it in `env`",
        C::CwdNotFound => "nothing was run; create the directory or give another `cwd`",
        C::OutputEvicted => "read from the oldest offset kept: `log.start` of GET /v1/terminals/{id}",
        C::OffsetBeyondEnd => "the end is `log.end` of GET /v1/terminals/{id}",
        C::InputTooLarge => "send it in parts",
        C::LimitUnavailable => "leave it out, or set `best_effort: true` to start without it",
        C::PlaceNotFound => "check what stands behind the colon of `backend`",
        C::UnknownMessage => "GET /v1/terminals/{id}/inbox shows the messages of a terminal",
        C::Replaced => {
            "ask again: programs, ids and offsets stay as they are; GET /v1/terminals/{id}/output shows what came"
        }
        C::MessageSettled => "GET /v1/messages/{mid} shows its state",
        C::UnknownSession => "GET /v1/sessions lists the sessions",
        C::UnknownHandoff => "GET /v1/handoffs lists the newest",
        C::UnknownFlow => "GET /v1/flows lists the flows",
        C::FlowTaken => "choose another name, or DELETE /v1/flows/{name}",
        C::FlowRunning => {
            "GET /v1/flows/{name} tells where it stands; it ends by itself, or with its terminal"
        }
        C::UnknownProfile => "GET /v1/profiles lists the profiles and where they are looked for",
        C::NotAsking => "GET /v1/terminals/{id}/status tells what it does; a message waits until it is ready",
        C::TooManyTerminals => "end some with POST /v1/terminals/{id}/kill, or DELETE ended ones",
        _ => code.hint(),
    }
}

/// A refusal on its way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    code: ErrorCode,
    status: StatusCode,
    message: String,
    hint: Option<&'static str>,
}

impl ApiError {
    /// A refusal with the code's own status and hint.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, status: status_of(code), message: message.into(), hint: None }
    }

    /// An argument that cannot be used.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, message)
    }

    /// A request this endpoint does not take.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidRequest, message)
    }

    /// A body of another content type.
    pub(crate) fn content_type(given: Option<&HeaderValue>) -> Self {
        let given =
            given.map_or("none".to_owned(), |value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        Self {
            status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
            hint: Some("send JSON with `Content-Type: application/json`"),
            ..Self::request(format!("content type is {given}, expected application/json"))
        }
    }

    /// An endpoint that does not know the method.
    pub(crate) fn method(method: &axum::http::Method, path: &str) -> Self {
        Self {
            status: StatusCode::METHOD_NOT_ALLOWED,
            hint: Some("the `Allow` header lists the methods of this endpoint"),
            ..Self::request(format!("{path} does not take {method}"))
        }
    }

    /// A plain request where only a WebSocket upgrade makes sense.
    pub(crate) fn upgrade_required(message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::UPGRADE_REQUIRED,
            hint: Some("connect with a WebSocket client, version 13"),
            ..Self::request(message)
        }
    }

    /// The server is on its way out.
    pub(crate) fn stopping(ending: Ending) -> Self {
        match ending {
            Ending::Stop => Self::new(ErrorCode::Stopping, "the server is shutting down"),
            Ending::Leave => Self::new(ErrorCode::Replaced, "another server takes the place of this one"),
        }
    }

    /// The stable code.
    pub(crate) const fn code(&self) -> ErrorCode {
        self.code
    }
}

impl From<YardError> for ApiError {
    fn from(error: YardError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}

impl From<SizeError> for ApiError {
    fn from(error: SizeError) -> Self {
        Self::new(ErrorCode::InvalidSize, error.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let reply = ErrorReply {
            error: ErrorBody {
                code: self.code.as_str().to_owned(),
                message: self.message,
                hint: self.hint.unwrap_or(hint_of(self.code)).to_owned(),
                retryable: self.code.is_retryable(),
            },
        };
        let mut response = (self.status, axum::Json(reply)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(self.code, ErrorCode::Stopping | ErrorCode::Replaced) {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if self.status == StatusCode::UPGRADE_REQUIRED {
            response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_maps_to_an_error_status_and_a_retryable_one_never_blames_a_lasting_cause() {
        for &code in ErrorCode::ALL {
            let status = status_of(code);
            assert!(status.is_client_error() || status.is_server_error(), "{code} is {status}");
            if code.is_retryable() {
                assert!(status.as_u16() == 429 || status.is_server_error(), "{code} is {status}");
            }
        }
    }

    #[test]
    fn hints_to_callers_name_nothing_of_the_command_line() {
        use ErrorCode as C;
        let operators = [
            C::StateUnwritable,
            C::StateLocked,
            C::StateForeign,
            C::StoreDamaged,
            C::StoreNewer,
            C::BackendUnreachable,
            C::BackendNotSetUp,
            C::BackendUnauthorized,
            C::NoServer,
            C::Incompatible,
            C::IncompatibleKeeper,
            C::IncompatibleState,
        ];
        for &code in ErrorCode::ALL.iter().filter(|code| !operators.contains(code)) {
            let hint = hint_of(code);
            assert!(!hint.contains("--") && !hint.contains("ptyard "), "{code}: {hint}");
        }
    }

    #[test]
    fn case_api04_unknown_removed_foreign_and_bad_arguments_have_codes_of_their_own() {
        use ErrorCode as C;
        let causes =
            [C::UnknownTerminal, C::TerminalRemoved, C::Unauthorized, C::Stopping, C::InvalidArgument];
        let statuses: std::collections::BTreeSet<_> = causes.iter().map(|&c| status_of(c).as_u16()).collect();
        assert_eq!(statuses.len(), causes.len(), "{statuses:?}");
    }

    #[tokio::test]
    async fn a_refusal_is_an_error_reply_with_code_hint_and_retryable() {
        let response = ApiError::new(ErrorCode::Stopping, "no more").into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
        let reply: ErrorReply = serde_json::from_slice(&body).unwrap();
        assert_eq!(reply.error.code, "stopping");
        assert_eq!(reply.error.message, "no more");
        assert_eq!(reply.error.hint, ErrorCode::Stopping.hint());
        assert!(reply.error.retryable);
    }
}
