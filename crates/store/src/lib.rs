//! What outlives the server: terminals, sessions, events, idempotency keys, messages, handoffs and flows.
//!
//! The traits say what is kept and what an answer promises; [`sqlite`] keeps it in one file of one machine. No type of a
//! database stands in a trait, so that another database can be put behind them.
//!
//! The way the data goes: a call becomes a job for the one thread that writes. The thread takes every job that waits,
//! does them in one transaction, commits, and answers: whoever has an answer has it from the disk, and a hundred callers
//! share one wait for it. Reads go to a thread and a connection of their own and see what was committed.
//!
//! # Invariants
//! 1. What was answered with success is in the database, whole, whatever dies; a job that failed left nothing.
//! 2. Each call says what its answer survives: the death of the server ([`Survives::Server`]) or that of the machine
//!    ([`Survives::Machine`]). What is answered for the machine keeps everything answered before it, too.
//! 3. Nothing is ordered by a clock: messages by their number in their inbox, events by theirs, terminals by their id.

mod answer;
mod error;
mod events;
mod flows;
mod handoffs;
pub mod inbox;
mod keys;
mod owner;
mod sessions;
pub mod sqlite;
mod terminals;

pub use answer::{Answer, Survives, wait};
pub use error::StoreError;
pub use events::{EventPage, EventRow, Events};
pub use flows::{Cause, ClaimedFlow, DueFlow, FlowRow, FlowRunRow, FlowRunState, Flows, Run};
pub use handoffs::{HandoffRow, HandoffState, Handoffs, NewHandoff};
pub use inbox::Inbox;
pub use keys::{KeyClaim, Keys};
pub use owner::Owner;
pub use sessions::{SessionName, SessionRow, Sessions};
pub use terminals::{Stage, TerminalRow, Terminals};

/// Everything that is kept.
pub trait Store: Terminals + Sessions + Events + Keys + Inbox + Handoffs + Flows + Send + Sync {}

impl<T: Terminals + Sessions + Events + Keys + Inbox + Handoffs + Flows + Send + Sync> Store for T {}
