//! The network face of a yard: HTTP on a Unix socket and on loopback TCP, WebSocket streams and SSE events.
//!
//! [`api`] holds the wire types, which the client shares. Handlers translate between them and `ptyard-yard`, and
//! decide nothing themselves.

pub mod api;
