//! Recordings and captures judged offline, by the code that judges live terminals.

mod cast;
mod detect;

pub use cast::{Cast, CastError, CastEvent, Kind};
pub use detect::{Detected, detect_capture, detect_cast};
