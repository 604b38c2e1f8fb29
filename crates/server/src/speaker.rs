//! Who sends a request: a terminal that shows its token, else a person.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use ptyard_core::{ErrorCode, TerminalId};
use ptyard_yard::Yard;

use crate::error::ApiError;

/// The header with the full id of the terminal that speaks.
pub const TERMINAL_HEADER: &str = "ptyard-terminal";

/// The header with its token.
pub const TOKEN_HEADER: &str = "ptyard-terminal-token";

/// What a request says of its sender. Nothing is believed before [`terminal`](Speaker::terminal).
#[derive(Debug, Clone)]
pub(crate) struct Speaker {
    terminal: Option<String>,
    token: Option<String>,
}

impl Speaker {
    /// The terminal that speaks; `None` is a person. A claim that does not hold is refused, never taken for a person's.
    pub(crate) fn terminal(&self, yard: &Yard) -> Result<Option<TerminalId>, ApiError> {
        let (Some(terminal), Some(token)) = (&self.terminal, &self.token) else {
            return match (&self.terminal, &self.token) {
                (None, None) => Ok(None),
                _ => Err(ApiError::new(ErrorCode::Forbidden, "a terminal and its token go together")),
            };
        };
        let id = terminal
            .parse()
            .map_err(|_| ApiError::new(ErrorCode::Forbidden, format!("{terminal:?} is no terminal")))?;
        Ok(Some(yard.speaker(id, token)?))
    }
}

impl<S: Sync> FromRequestParts<S> for Speaker {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(Self {
            terminal: text(&parts.headers, TERMINAL_HEADER)?,
            token: text(&parts.headers, TOKEN_HEADER)?,
        })
    }
}

fn text(headers: &HeaderMap, name: &str) -> Result<Option<String>, ApiError> {
    let value = headers.get(name).map(|value| value.to_str().map(str::to_owned));
    value
        .transpose()
        .map_err(|_| ApiError::new(ErrorCode::Forbidden, format!("the header {name} is not readable")))
}
