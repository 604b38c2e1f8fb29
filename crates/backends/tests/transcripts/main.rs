//! What the vendors' published clients said and were told on the wire, step by step, against the test servers: the same
//! requests get the same statuses, the same fields of the same kinds, the same frames in the same order.
//!
//! The recorded requests are changed in three things only: keys and ids are the server's, commands are `sh`, directories
//! are ones of this machine. What was recorded of parts that no backend uses is left out, and said where.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod blaxel;
mod cloudflare;
mod daytona;
mod e2b;
mod modal;
mod wire;
