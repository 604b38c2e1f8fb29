//! Servers that speak as vendors of sandboxes do, with real programs of this machine behind them.
//!
//! Each is held to the vendor's wire by the vendor's own published client (`crates/backends/tests`), and can be told to
//! do what networks and vendors do to clients: cut streams, split messages anywhere, refuse, lose an answer.

pub mod blaxel;
pub mod chance;
pub mod client;
pub mod cloudflare;
pub mod daytona;
pub mod e2b;
mod heard;
pub mod herdr;
pub mod later;
pub mod left;
pub mod modal;
pub mod play;
mod program;
mod refusal;
mod sandbox;

pub use refusal::Refusal;

use std::sync::{Mutex, MutexGuard, PoisonError};

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
