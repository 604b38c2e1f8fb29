//! Work that one terminal gave to another, and what came of it.

use std::time::SystemTime;

use ptyard_core::{HandoffId, MessageId, TerminalId};

use crate::answer::Answer;
use crate::inbox::{NewMessage, Posted};

/// Where a handoff stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandoffState {
    /// The worker is at it.
    Open,
    /// It has a result.
    Done,
    /// It came to nothing; the result says why.
    Failed,
}

/// A handoff to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHandoff {
    /// Who gave the work; `None` is a person.
    pub caller: Option<TerminalId>,
    /// Who works.
    pub worker: TerminalId,
    /// The message that carries it, once it was posted.
    pub message: Option<MessageId>,
    /// When, for people to read.
    pub at: SystemTime,
}

/// A handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffRow {
    /// Its id.
    pub id: HandoffId,
    /// What was written down.
    pub handoff: NewHandoff,
    /// Where it stands.
    pub state: HandoffState,
    /// What came of it.
    pub result: Option<String>,
}

/// The handoffs. Every answer survives the machine.
pub trait Handoffs {
    /// Posts the work of a handoff and writes the handoff down, in one step: there is never one without the other.
    /// [`NewHandoff::message`] is the message that was posted, whatever it says.
    ///
    /// Fails as [`post`](crate::Inbox::post) does.
    fn post_handoff(&self, message: NewMessage, handoff: NewHandoff) -> Answer<'_, (Posted, HandoffId)>;

    /// Gives it its result, once.
    ///
    /// Fails when it has one, and when there is no such handoff.
    fn close_handoff(&self, id: HandoffId, state: HandoffState, result: String) -> Answer<'_, ()>;

    /// A handoff.
    fn handoff(&self, id: HandoffId) -> Answer<'_, Option<HandoffRow>>;

    /// Up to `most` handoffs that a terminal, or a person, began; newest first.
    fn handoffs_of(&self, caller: Option<TerminalId>, most: u32) -> Answer<'_, Vec<HandoffRow>>;

    /// The handoffs that are open, oldest first.
    fn open_handoffs(&self) -> Answer<'_, Vec<HandoffRow>>;
}
