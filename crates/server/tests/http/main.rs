//! A real server over a real yard with real programs, spoken to through real sockets.

mod errors;
mod events;
mod look;
mod shutdown;
mod site;
mod streams;
mod tcp;
mod vanishing;
