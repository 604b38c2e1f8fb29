//! What backends at vendors of sandboxes share: secrets, calls over HTTP, sockets, when a call may be made again, and how a
//! program in a sandbox is looked after.

pub(crate) mod address;
pub(crate) mod control;
pub mod credentials;
pub(crate) mod http;
pub(crate) mod input;
pub(crate) mod ledger;
#[cfg(any(feature = "cloudflare", feature = "daytona"))]
pub(crate) mod line;
pub(crate) mod listed;
pub(crate) mod lodging;
pub(crate) mod output;
#[cfg(feature = "cloudflare")]
pub(crate) mod replay;
#[cfg(feature = "socket")]
pub(crate) mod socket;
#[cfg(any(feature = "cloudflare", feature = "daytona", feature = "e2b"))]
pub(crate) mod sought;
#[cfg(any(feature = "cloudflare", feature = "daytona"))]
pub(crate) mod typist;
