//! What can go wrong between client and server.

use std::io;
use std::path::PathBuf;

use ptyard_core::ErrorCode;
use ptyard_server::api::{ErrorBody, PROTOCOL};
use tokio_tungstenite::tungstenite;

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing answers on the socket.
    #[error("no server answers on {}: {source}", socket.display())]
    NoServer {
        /// The socket.
        socket: PathBuf,
        /// What connecting to it said.
        source: io::Error,
    },
    /// The server speaks another protocol.
    #[error(
        "the server is version {server} (protocol {server_protocol}), this program is {} (protocol {PROTOCOL})",
        env!("CARGO_PKG_VERSION")
    )]
    Incompatible {
        /// Version of the server.
        server: String,
        /// Its protocol.
        server_protocol: u32,
    },
    /// The server refused.
    #[error("{}", .0.message)]
    Refused(Box<ErrorBody>),
    /// Another server takes the place of this one.
    #[error("another server takes the place of this one")]
    Replaced,
    /// The connection broke before the reply was there.
    #[error("the connection to the server broke: {0}")]
    Broken(String),
    /// The reply is not what was expected.
    #[error("the server's reply cannot be read: {0}")]
    Unreadable(String),
}

impl ClientError {
    /// The stable code. A refusal's own code may be one this version does not know; that one is `internal` here.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoServer { .. } => ErrorCode::NoServer,
            Self::Incompatible { .. } => ErrorCode::Incompatible,
            Self::Refused(body) => ErrorCode::ALL
                .iter()
                .copied()
                .find(|code| code.as_str() == body.code)
                .unwrap_or(ErrorCode::Internal),
            Self::Replaced => ErrorCode::Replaced,
            Self::Broken(_) => ErrorCode::Stopping,
            Self::Unreadable(_) => ErrorCode::Internal,
        }
    }

    /// Whether nothing listens on the socket (rather than that we may not connect to it).
    #[must_use]
    pub fn is_no_listener(&self) -> bool {
        // Reset: it was killed with us in its queue.
        let is_none = |kind| {
            matches!(
                kind,
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
            )
        };
        matches!(self, Self::NoServer { source, .. } if is_none(source.kind()))
    }

    /// Whether the server left before it answered.
    #[must_use]
    pub(crate) fn is_leaving(&self) -> bool {
        match self {
            Self::Broken(_) | Self::Replaced => true,
            Self::Refused(body) => body.code == ErrorCode::Replaced.as_str(),
            _ => false,
        }
    }

    pub(super) fn unreadable(path: &str, error: &serde_json::Error) -> Self {
        Self::Unreadable(format!("{path}: {error}"))
    }

    #[expect(clippy::needless_pass_by_value, reason = "fits map_err")]
    pub(super) fn request(error: hyper::http::Error) -> Self {
        Self::Unreadable(format!("the request cannot be made: {error}"))
    }
}

impl From<hyper::Error> for ClientError {
    fn from(error: hyper::Error) -> Self {
        Self::Broken(chain(&error))
    }
}

impl From<tungstenite::Error> for ClientError {
    fn from(error: tungstenite::Error) -> Self {
        match error {
            tungstenite::Error::Http(reply) => {
                super::refusal(reply.status().as_u16(), "stream", reply.body().as_deref().unwrap_or_default())
            }
            other => Self::Broken(chain(&other)),
        }
    }
}

/// An error and what caused it: hyper's own text alone says little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_went_while_it_was_called_is_none() {
        let failed = |kind: io::ErrorKind| ClientError::NoServer { socket: "s".into(), source: kind.into() };
        for kind in
            [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused, io::ErrorKind::ConnectionReset]
        {
            assert!(failed(kind).is_no_listener(), "{kind}");
        }
        assert!(!failed(io::ErrorKind::PermissionDenied).is_no_listener());
    }
}
