//! Pure rules of ptyard: ids, sizes, error codes, exits, windows and the end rule.
//!
//! Nothing here does I/O, knows a runtime or reads a clock: bytes, offsets and moments come in as values and
//! decisions go out as values. That is what makes every rule testable for every interleaving.
//!
//! The way the data goes: bytes of an output log enter a [`window::Collector`], which decodes them
//! ([`utf8`]), truncates them once ([`truncate`]) and says when the window ends ([`window`]).

pub mod code;
pub mod end;
pub mod exit;
pub mod id;
pub mod limits;
pub mod moment;
pub mod plain;
pub mod size;
pub mod truncate;
pub mod turn;
pub mod typed;
pub mod utf8;
pub mod window;

pub use code::ErrorCode;
pub use exit::{Cause, Exit};
pub use id::{AttemptId, FlowRunId, HandoffId, MessageId, SessionId, TerminalId};
pub use limits::{Limit, Limits};
pub use moment::Moment;
pub use size::Size;
