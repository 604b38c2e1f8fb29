//! Who may talk to the server.
//!
//! A peer of the Unix socket was let in when it connected: the socket lies in a directory of its user's own and the
//! kernel said which user connected; any other user is told so. On TCP every request is checked, in this order:
//!
//! 1. `Host` must name this machine's loopback and the server's port, so that a name a web site points at 127.0.0.1
//!    (DNS rebinding) gets nothing.
//! 2. `Origin`, which browsers send, must be that same host: no other page may call.
//! 3. The token, as `Authorization: Bearer TOKEN`. A browser's WebSocket cannot send that header; it offers the
//!    subprotocols `ptyard.v1` and `ptyard.token.TOKEN`, and the server selects the first. The token is never
//!    taken from the address, which ends up in logs and histories. `GET /healthz` needs none: it says nothing.
//!
//! A gate of clients that know no token lets in the connections of its own user and of root, whom the kernel names
//! ([`owner`]), and checks 1 and 2.

pub(crate) mod host;
pub(crate) mod owner;
pub(crate) mod token;

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ptyard_core::ErrorCode;

use crate::error::ApiError;
use crate::peer::{Entrance, Peer};
use host::Hosts;
use token::Token;

/// The path that needs no token.
pub(crate) const HEALTH_PATH: &str = "/healthz";

/// The subprotocol the server selects.
pub(crate) const STREAM_PROTOCOL: &str = "ptyard.v1";

/// Subprotocols that begin so carry the token.
const TOKEN_PROTOCOL_PREFIX: &str = "ptyard.token.";

/// The rules for peers of a TCP listener.
pub(crate) struct Gate {
    hosts: Hosts,
    /// `None`: the clients of this listener know no token.
    token: Option<Token>,
}

impl Gate {
    /// A gate for these hosts and this token.
    pub(crate) const fn new(hosts: Hosts, token: Token) -> Self {
        Self { hosts, token: Some(token) }
    }

    /// A gate for these hosts, for clients that know no token.
    pub(crate) const fn without_token(hosts: Hosts) -> Self {
        Self { hosts, token: None }
    }

    /// Whether its clients show a token. Those of a gate that asks for none are known by their user.
    pub(crate) const fn asks_for_token(&self) -> bool {
        self.token.is_some()
    }

    /// Lets a request in or says why not.
    pub(crate) fn check(&self, request: &Request) -> Result<(), ApiError> {
        let authority = request.uri().authority().map(axum::http::uri::Authority::as_str);
        self.hosts.check(authority, request.headers())?;
        if request.uri().path() == HEALTH_PATH || self.holds_token(request.headers()) {
            return Ok(());
        }
        Err(ApiError::new(ErrorCode::Unauthorized, "the token is missing or wrong"))
    }

    fn holds_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let bearer = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        bearer.or_else(|| offered_token(headers)).is_some_and(|given| token.matches(given))
    }
}

/// The token among the subprotocols a WebSocket offers.
fn offered_token(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(header::SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix(TOKEN_PROTOCOL_PREFIX))
}

/// Applies the gate the peer came through.
pub(crate) async fn guard(peer: Peer, request: Request, next: Next) -> Response {
    let checked = match peer.entrance() {
        Entrance::Unix => Ok(()),
        Entrance::Tcp(gate) => gate.check(&request),
        Entrance::Stranger => Err(ApiError::new(
            ErrorCode::Forbidden,
            "this server belongs to another user, and takes calls of that user and of root alone",
        )),
    };
    match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn check(path: &str, headers: &[(&str, &str)]) -> Result<(), ErrorCode> {
        let gate = Gate::new(
            Hosts::of("127.0.0.1:7000".parse().unwrap()),
            Token::from_hex(SECRET).expect("64 digits"),
        );
        let mut request = Request::builder().uri(path).header("host", "127.0.0.1:7000");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        gate.check(&request.body(Body::empty()).unwrap()).map_err(|error| error.code())
    }

    #[test]
    fn the_token_is_taken_from_the_header_or_the_subprotocol_and_never_from_the_address() {
        let bearer = format!("Bearer {SECRET}");
        let protocols = format!("ptyard.v1, ptyard.token.{SECRET}");
        assert_eq!(check("/v1/terminals", &[("authorization", &bearer)]), Ok(()));
        assert_eq!(check("/v1/terminals", &[("authorization", &bearer.replace("Bearer", "bearer"))]), Ok(()));
        assert_eq!(check("/v1/terminals", &[("sec-websocket-protocol", &protocols)]), Ok(()));
        for address in [format!("/v1/terminals?token={SECRET}"), "/v1/terminals".to_owned()] {
            assert_eq!(check(&address, &[]), Err(ErrorCode::Unauthorized));
        }
    }

    #[test]
    fn wrong_and_shortened_tokens_are_refused() {
        for wrong in [&SECRET[1..], "", "0", &SECRET.replace('0', "1"), &format!("{SECRET}0")] {
            let bearer = format!("Bearer {wrong}");
            assert_eq!(check("/", &[("authorization", &bearer)]), Err(ErrorCode::Unauthorized), "{wrong}");
        }
        assert_eq!(check("/", &[("authorization", SECRET)]), Err(ErrorCode::Unauthorized), "no scheme");
        assert_eq!(check("/", &[("authorization", "Basic Zm9v")]), Err(ErrorCode::Unauthorized));
    }

    #[test]
    fn health_needs_no_token_but_the_right_host() {
        assert_eq!(check(HEALTH_PATH, &[]), Ok(()));
        assert_eq!(check(HEALTH_PATH, &[("origin", "http://evil.example")]), Err(ErrorCode::Forbidden));
    }

    #[test]
    fn a_foreign_origin_is_refused_even_with_the_token() {
        let bearer = format!("Bearer {SECRET}");
        let headers = [("authorization", bearer.as_str()), ("origin", "http://evil.example")];
        assert_eq!(check("/v1/terminals", &headers), Err(ErrorCode::Forbidden));
    }
}
