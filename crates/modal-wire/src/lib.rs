//! The part of Modal's wire that is spoken here: messages and the methods they belong to, written by hand, so that
//! nothing has to be generated when this is built.
//!
//! Two services: the vendor's own ([`control`]), and the one of the machine on which a sandbox runs ([`router`]). Fields
//! that nobody here reads or sets are left out, as the encoding allows. The backend and its test server share this; the
//! vendor's published client holds the test server to it.

#![expect(missing_docs, reason = "the fields are the vendor's own, under its own names")]

pub mod control;
pub mod router;

use prost::Message;

/// A request, which belongs to one method.
pub trait Call: Message + Default + 'static {
    /// Service and method, as a path.
    const PATH: &'static str;
    /// What comes back: once, or several times as a stream.
    type Answer: Message + Default + 'static;
}

/// Says to which method a request belongs.
macro_rules! calls {
    ($service:literal: $($method:literal $request:ty => $answer:ty;)+) => {$(
        impl crate::Call for $request {
            const PATH: &'static str = concat!("/", $service, "/", $method);
            type Answer = $answer;
        }
    )+};
}
pub(crate) use calls;
