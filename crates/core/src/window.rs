//! Windows: what one call returns of a terminal's output, and when.
//!
//! A window begins at a cursor. Bytes of the log are fed to its [`Collector`], which decodes them ([`crate::utf8`]),
//! cuts them once ([`crate::truncate`]) and says when the window ends: at the program's end, at the deadline, or when
//! the first [`Condition`] holds. [`WindowLimits`] turns what a caller asked for into times and caps.
//!
//! A collector is only a value. It takes nothing out of the log, so dropping it at any point costs nothing: the next
//! one, made from the same cursor, sees the same bytes.

mod collector;
mod condition;
mod limits;
mod matcher;
mod outcome;
mod watch;

pub use collector::{Collector, CollectorSpec, QuietAfter};
pub use condition::{Condition, ConditionError, Pattern, STATUS_NAMES};
pub use limits::{Call, Ends, LimitError, WindowLimits};
pub use matcher::MATCH_SPAN_BYTES;
pub use outcome::{Collected, EndedBy, Step};
