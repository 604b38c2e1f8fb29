//! Who sends a request: a terminal that shows its token, else a person, or a program that says what it is called.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use ptyard_core::{ErrorCode, TerminalId};
use ptyard_yard::Yard;
use ptyard_yard::agents::Voice;
use ptyard_yard::inbox::Origin;

use crate::error::ApiError;

/// The header with the full id of the terminal that speaks.
pub const TERMINAL_HEADER: &str = "ptyard-terminal";

/// The header with its token.
pub const TOKEN_HEADER: &str = "ptyard-terminal-token";

/// The header with the name that a program outside of all terminals gives itself, in UTF-8: one line of at most 128
/// characters. Nothing vouches for it.
pub const CLIENT_HEADER: &str = "ptyard-client";

/// What a request says of its sender. Nothing is believed before [`terminal`](Speaker::terminal).
#[derive(Debug, Clone)]
pub(crate) struct Speaker {
    terminal: Option<String>,
    token: Option<String>,
    client: Option<Origin>,
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

    /// The same, or what it says it is where it is no terminal.
    pub(crate) fn voice(&self, yard: &Yard) -> Result<Voice, ApiError> {
        Ok(Voice { terminal: self.terminal(yard)?, origin: self.client.clone() })
    }
}

impl<S: Sync> FromRequestParts<S> for Speaker {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Ok(Self {
            terminal: text(&parts.headers, TERMINAL_HEADER)?,
            token: text(&parts.headers, TOKEN_HEADER)?,
            client: client(&parts.headers)?,
        })
    }
}

fn text(headers: &HeaderMap, name: &str) -> Result<Option<String>, ApiError> {
    let value = headers.get(name).map(|value| value.to_str().map(str::to_owned));
    value
        .transpose()
        .map_err(|_| ApiError::new(ErrorCode::Forbidden, format!("the header {name} is not readable")))
}

fn client(headers: &HeaderMap) -> Result<Option<Origin>, ApiError> {
    let Some(value) = headers.get(CLIENT_HEADER) else { return Ok(None) };
    let named = std::str::from_utf8(value.as_bytes()).ok().and_then(Origin::client);
    named.map(Some).ok_or_else(|| {
        ApiError::argument(format!(
            "the header {CLIENT_HEADER} is a name in one line of at most 128 characters"
        ))
    })
}
