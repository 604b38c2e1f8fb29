//! Mail between terminals.
//!
//! The way the data goes: [`Yard::send`] writes the message into the store and answers; whoever hands mail over to the
//! receiver (the pump of its agent) is woken, claims what comes next, and has the terminal's actor type it. It is woken
//! twice: while the message is being written, so that the claim is answered right behind it, and by the store's own
//! thread when it is written, so that nothing depends on the caller. Nobody else delivers: every other path only wakes it. What becomes of an attempt comes back as a [`Word`] and is
//! written into the store before anything else of that receiver is claimed.
//!
//! Urgent mail goes before all other, and has the turn that runs stopped, where the receiver's provider says how. What
//! waits for a program that has ended is given up (`dead`), whoever handed it over or nobody did.

mod dead;
mod handover;
mod look;
mod pump;
mod send;

use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) use dead::Ended;
pub use handover::{Handover, Refused, Word};
pub use look::{Inbox, Which};
pub use ptyard_store::inbox::{
    Batching, Mailbox, Message, MessageState, Origin, Page, Purpose, Turn, Urgency,
};
pub(crate) use pump::typed;
pub use send::{SendSpec, Until};

use ptyard_core::TerminalId;
use ptyard_store::wait;
use ptyard_terminal::Terminal;
use serde_json::json;

use crate::entry::Entry;
use crate::error::YardError;
use crate::spec::TerminalRef;
use crate::yard::Yard;

/// How many messages that are delivered, failed or cancelled are kept, of all terminals together. Of more, the oldest
/// are forgotten; mail that waits or is uncertain never is.
const SETTLED_KEPT: u32 = 20_000;

impl Yard {
    /// Settles what an earlier server left half done. An attempt is noted beside the log before its first byte is typed: one
    /// without a note waits again; any other is uncertain, until its terminal's actor finds evidence.
    pub(crate) fn find_earlier_mail(&self) -> Result<(), YardError> {
        let store = &self.inner.store;
        for left in wait(store.take_over(self.inner.owner.clone()))? {
            let note = Terminal::noted(&self.inner.state.terminal(left.receiver));
            let why = "server_died".to_owned();
            if note.is_some_and(|note| note.attempt == left.id) {
                wait(store.lose(left.id, why))?;
                tracing::warn!(to = %left.receiver, attempt = %left.id, "mail may have been delivered while the server died");
            } else {
                wait(store.abort(left.id, why))?;
            }
        }
        wait(store.forget_settled(SETTLED_KEPT))?;
        Ok(())
    }

    /// Tells everybody who waits for mail of this receiver, and those who follow the events.
    fn tell_mail(&self, messages: &[Message]) {
        for message in messages {
            let data = json!({
                "message": message.id,
                "state": message.state.as_str(),
                "from": message.from,
                "origin": message.origin.as_ref().map(ToString::to_string),
                "reason": message.reason,
            });
            self.inner.events.push("message", Some(message.to), data);
        }
        if let Some(entry) = messages.first().and_then(|message| self.receiver(message.to)) {
            if messages[0].state == MessageState::Pending && entry.has_exited() {
                // It came, or came back, while the program ended: nobody else sees that it waits in vain.
                self.inner.ended.note(entry.id());
            }
            entry.mail.send_modify(|changes| *changes += 1);
        }
    }

    /// The same of a message that waits from now on; whoever hands it over is woken.
    fn tell_arrival(&self, message: &Message) {
        self.tell_mail(std::slice::from_ref(message));
        if let Some(entry) = self.receiver(message.to) {
            if message.urgency == Urgency::Now {
                entry.urgent.store(true, Ordering::Release);
            }
            entry.arrivals.send_modify(|arrivals| *arrivals += 1);
        }
    }

    fn receiver(&self, id: TerminalId) -> Option<Arc<Entry>> {
        self.find(&TerminalRef::Id(id)).ok()
    }
}
