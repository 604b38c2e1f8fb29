//! Between the wire and the yard.

pub(crate) mod agents;
pub(crate) mod flows;
mod mail;
mod reply;
mod request;
mod signal;

pub(crate) use mail::{batching, mailbox, message, message_id, send_spec};
pub(crate) use reply::{describe, done, event, exit, screen, time};
pub(crate) use request::{adopt_spec, grace, program_spec, write_spec};
pub(crate) use signal::parse as signal;
