//! Servers that speak as vendors of sandboxes do, with real programs of this machine behind them.
//!
//! Each is held to the vendor's wire by the vendor's own published client (`crates/backends/tests`), and can be told to
//! do what networks and vendors do to clients: cut streams, split messages anywhere, refuse, lose an answer.

pub mod cloudflare;
pub mod e2b;
pub mod modal;
mod program;
pub mod python;
mod sandbox;
