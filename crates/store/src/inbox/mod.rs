//! The mail of terminals.
//!
//! ```text
//!            claim                 confirm
//!  pending --------> dispatching ----------> delivered
//!     ^  ^              |   |        fail
//!     |  +--- abort ----+   +---------------> failed
//!     |                     |        lose
//!     +------ retry         +---------------> uncertain --confirm--> delivered
//! ```
//!
//! `pending`, `failed` and `uncertain` mail can be cancelled, `failed`, `uncertain` and `cancelled` mail retried. What is
//! `pending` when its receiver is no more is a dead letter: `failed`.
//!
//! # Invariants
//! 1. The messages of a receiver are numbered 1, 2, 3, ... in the order in which they were accepted. Among those that are
//!    as urgent, nothing else orders them. A message keeps its number for good.
//! 2. A receiver has one attempt that is open, at most.
//! 3. A message is `dispatching` exactly while the attempt it belongs to is open.
//! 4. What is said about an attempt changes the messages of that attempt only.
//! 5. Nothing but `abort`, which says that not a byte was typed, and a person makes a message `pending` again.
//! 6. A claim takes the earliest of the most urgent that is due, and never one behind another that is due.

mod attempt;
mod message;
mod origin;
mod page;

pub use attempt::{Attempt, Batch, Claim, Due, OpenTurn, Receipt};
pub use message::{Batching, Message, MessageState, NewMessage, Posted, Purpose, Turn, Urgency};
pub use origin::{NoOrigin, Origin};
pub use page::{Mailbox, Page, Select};

use ptyard_core::{AttemptId, MessageId, TerminalId};

use crate::answer::Answer;
use crate::owner::Owner;

/// How many messages [`Inbox::give_up`] gives up at once: with the longest texts they take 64 MiB of memory.
pub const MOST_DEAD_LETTERS: u32 = 64;

/// Who is told of a message that was accepted.
pub type Tell = Box<dyn FnOnce(&Posted) + Send>;

/// The mail of terminals. Unless a call says otherwise its answer survives the machine. What is said about an attempt is
/// answered with its messages as they are then.
pub trait Inbox {
    /// Accepts a message. With a key that its receiver has seen with the same content, the answer is the message of then.
    ///
    /// Fails with [`InboxFull`], [`TextTooLong`] or [`KeyConflict`].
    ///
    /// [`InboxFull`]: crate::StoreError::InboxFull
    /// [`TextTooLong`]: crate::StoreError::TextTooLong
    /// [`KeyConflict`]: crate::StoreError::KeyConflict
    fn post(&self, message: NewMessage) -> Answer<'_, Posted>;

    /// The same, and `tell` is called as soon as the message is accepted: whoever waits for the answer or not, and before any
    /// call that came later is answered. It runs on the store's own thread, so it must not wait.
    fn post_and_tell(&self, message: NewMessage, tell: Tell) -> Answer<'_, Posted>;

    /// Takes the next batch of a receiver's mail for one attempt, in one step; `None` when nothing is due, or while an
    /// attempt is open. Survives the server: lost with the machine, it was never taken.
    fn claim(&self, claim: Claim) -> Answer<'_, Option<Attempt>>;

    /// It arrived, and how that is known. Takes an attempt that was given up as uncertain, too: evidence may come late.
    fn confirm(&self, attempt: AttemptId, receipt: Receipt) -> Answer<'_, Vec<Message>>;

    /// Not a byte was typed: its messages wait again, at their places.
    fn abort(&self, attempt: AttemptId, reason: String) -> Answer<'_, Vec<Message>>;

    /// It failed for good.
    fn fail(&self, attempt: AttemptId, reason: String) -> Answer<'_, Vec<Message>>;

    /// Only a person can tell what came of it.
    fn lose(&self, attempt: AttemptId, reason: String) -> Answer<'_, Vec<Message>>;

    /// The turn that an attempt began is over.
    fn complete_turn(&self, attempt: AttemptId) -> Answer<'_, Vec<Message>>;

    /// Takes over the attempts that other owners left open, for they are gone. Of each the caller has to find out whether
    /// anything was typed, and say so.
    fn take_over(&self, owner: Owner) -> Answer<'_, Vec<Attempt>>;

    /// The turn that the last delivered mail of a receiver began, if it is not known to be over.
    fn open_turn(&self, receiver: TerminalId) -> Answer<'_, Option<OpenTurn>>;

    /// A message.
    fn message(&self, id: MessageId) -> Answer<'_, Option<Message>>;

    /// Messages in the order of their ids.
    fn messages(&self, select: Select, page: Page) -> Answer<'_, Vec<Message>>;

    /// How much waits for a receiver.
    fn mailbox(&self, receiver: TerminalId) -> Answer<'_, Mailbox>;

    /// Whether urgent mail waits for a receiver.
    fn has_urgent(&self, receiver: TerminalId) -> Answer<'_, bool>;

    /// Says how much one attempt of a receiver takes from now on.
    fn set_batching(&self, receiver: TerminalId, batching: Batching) -> Answer<'_, ()>;

    /// Gives up what waits for a receiver that is no more: it failed, and this is why. At most
    /// [`MOST_DEAD_LETTERS`] of them, oldest first, which are the answer: to be repeated until it is none.
    fn give_up(&self, receiver: TerminalId, reason: String) -> Answer<'_, Vec<Message>>;

    /// The receivers for which mail waits.
    fn receivers_waiting(&self) -> Answer<'_, Vec<TerminalId>>;

    /// Takes back a message that was not delivered.
    ///
    /// Fails while it is being delivered, and once it was.
    fn cancel(&self, id: MessageId) -> Answer<'_, Message>;

    /// Lets a message that failed, was cancelled or is uncertain wait again, at its place. Of one that waits nothing
    /// changes.
    ///
    /// Fails while it is being delivered, and once it was.
    fn retry(&self, id: MessageId) -> Answer<'_, Message>;

    /// Forgets all but the newest `keep` messages that are delivered, failed or cancelled. Mail that waits, is being
    /// delivered or is uncertain is never forgotten. The answer is how many were.
    fn forget_settled(&self, keep: u32) -> Answer<'_, u64>;
}
