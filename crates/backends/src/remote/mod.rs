//! What backends at vendors of sandboxes share: secrets, calls over HTTP, sockets, and when a call may be made again.

pub mod credentials;
pub(crate) mod http;
#[cfg(feature = "socket")]
pub(crate) mod socket;
