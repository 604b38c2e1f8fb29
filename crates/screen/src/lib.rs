//! What a terminal shows, asks and is told: everything about escape sequences, and no I/O.
//!
//! The way the data goes. Output enters twice: the [`Scanner`] looks at every byte as it arrives and finds
//! [`Signal`]s (questions, titles, status reports) and [`Modes`]; a [`Screen`] is fed when somebody looks, and
//! can [catch up](catch_up) with a flood without drawing all of it. Input leaves through [`keys`], [`paste`] and
//! [`reply`], encoded as the modes demand.
//!
//! [`frames`] says when a screen that goes on changing is worth a look.
//!
//! Both readers share one parser, so they agree about every sequence, however the bytes were cut. Time comes in
//! as a value ([`ptyard_core::Moment`]).
//!
//! Width: a character takes the cells that `wcwidth` says, and an emoji sequence (joined with ZWJ, with a skin
//! tone, or with the emoji presentation selector) takes two. Its characters are all kept.

pub mod catch_up;
pub mod frames;
pub mod keys;
pub mod modes;
mod parse;
pub mod paste;
pub mod reply;
pub mod scan;
pub mod screen;

pub use modes::Modes;
pub use parse::Terminator;
pub use scan::{Event, Query, Scanner, Signal};
pub use screen::{Cursor, DEFAULT_SCROLLBACK_LINES, Line, Screen, View, new_screen};
