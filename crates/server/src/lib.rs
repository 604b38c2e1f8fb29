//! The network face of a yard: HTTP on a Unix socket and on loopback TCP, WebSocket streams and SSE events.
//!
//! [`api`] holds the wire types, which the client shares. Handlers translate between them and `ptyard-yard`, and
//! decide nothing themselves.
//!
//! The way a request goes: `listen` opens the sockets, `connection` serves one peer, `gate` lets it in (a TCP peer
//! needs the token; a Unix peer has proved its user), `routes` translates the call with `translate`, and a window
//! leaves through `handover`, which moves the cursor in the step that gives the last bytes to the connection. A
//! WebSocket lives on as a `viewer`. Another program's clients come in through a listener and routes of their own, `cao`.
//! Whatever goes wrong leaves through `error`, as an [`api::ErrorReply`].

pub mod api;
mod cao;
mod connection;
mod error;
mod extract;
mod gate;
mod handover;
mod listen;
mod openapi;
mod peer;
mod routes;
mod server;
mod speaker;
mod stop;
mod translate;
mod viewer;

pub use cao::{CAO_ADDRESS, CAO_ALIAS, CaoConfig, CaoPlace};
pub use error::{hint_of, status_of};
pub use gate::token::{Token, TokenError};
pub use openapi::openapi_json;
pub use server::{Ground, Served, Server, ServerConfig, ServerError};
pub use speaker::{CLIENT_HEADER, TERMINAL_HEADER, TOKEN_HEADER};

/// Most bytes of a request's body: 16 MiB, a paste nobody types and memory nobody misses.
pub const MAX_REQUEST_BYTES: usize = 16 << 20;
