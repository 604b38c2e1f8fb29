//! A real server over a real yard with real programs, spoken to through real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cao;
mod cao_rules;
mod errors;
mod events;
mod look;
mod mail;
mod shutdown;
mod site;
mod strangers;
mod streams;
mod tcp;
mod vanishing;
