//! Refusals, as CAO's clients read them: a status and `{"detail": ...}`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hyper::ext::ReasonPhrase;
use ptyard_core::ErrorCode;
use ptyard_yard::YardError;
use serde_json::{Value, json};

use crate::error::{ApiError, status_of};

/// A refusal on its way out.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    detail: Value,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, detail: impl Into<Value>) -> Self {
        Self { status, detail: detail.into() }
    }

    /// There is no such thing.
    pub(super) fn unknown(what: &str, name: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("{what} '{name}' not found"))
    }

    /// What is given cannot be used.
    pub(super) fn bad(message: impl Into<Value>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// A part of the request has not the shape it must have.
    pub(super) fn shape(place: &[&str], message: &str) -> Self {
        let one = json!({"type": "value_error", "loc": place, "msg": message});
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, vec![one])
    }

    /// The same with another status, where the yard's error says that the caller is at fault.
    pub(super) fn caller_s_fault(self, status: StatusCode) -> Self {
        if self.status.is_client_error() { Self { status, ..self } } else { self }
    }
}

impl From<YardError> for Refusal {
    fn from(error: YardError) -> Self {
        let status = match error.code() {
            // What is gone is not known any more.
            ErrorCode::TerminalRemoved => StatusCode::NOT_FOUND,
            ErrorCode::NameTaken => StatusCode::BAD_REQUEST,
            code => status_of(code),
        };
        Self::new(status, error.to_string())
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::new(status_of(error.code()), error.to_string())
    }
}

/// What went wrong as the words beside the status: CAO's command line shows these, and nothing of the document.
fn reason(detail: &str) -> Option<ReasonPhrase> {
    let line: String = detail.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    ReasonPhrase::try_from(line.into_bytes()).ok()
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let reason = self.detail.as_str().and_then(reason);
        let mut response = (self.status, Json(json!({"detail": self.detail}))).into_response();
        if let Some(reason) = reason {
            response.extensions_mut().insert(reason);
        }
        response
    }
}
