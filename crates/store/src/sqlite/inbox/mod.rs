//! Mail.

mod change;
mod claim;
mod look;
pub(super) mod post;
mod recover;
mod settle;

use ptyard_core::{AttemptId, MessageId, TerminalId};

pub(super) use recover::receiver_removed;

use crate::answer::{Answer, Survives};
use crate::inbox::{
    Attempt, Batching, Claim, Inbox, Mailbox, Message, NewMessage, OpenTurn, Page, Posted, Receipt, Select,
    Tell,
};
use crate::owner::Owner;
use crate::sqlite::SqliteStore;
use rusqlite::Connection;

impl Inbox for SqliteStore {
    fn post(&self, message: NewMessage) -> Answer<'_, Posted> {
        self.write(Survives::Machine, move |connection| post::post(connection, &message))
    }

    fn post_and_tell(&self, message: NewMessage, tell: Tell) -> Answer<'_, Posted> {
        let post = move |connection: &Connection| post::post(connection, &message);
        Box::pin(self.writer.run_and_tell(Survives::Machine, post, tell))
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Option<Attempt>> {
        self.write(Survives::Server, move |connection| claim::claim(connection, &claim))
    }

    fn confirm(&self, attempt: AttemptId, receipt: Receipt) -> Answer<'_, Vec<Message>> {
        self.write(Survives::Machine, move |connection| settle::confirm(connection, attempt, &receipt))
    }

    fn abort(&self, attempt: AttemptId, reason: String) -> Answer<'_, Vec<Message>> {
        self.write(Survives::Machine, move |connection| settle::abort(connection, attempt, &reason))
    }

    fn fail(&self, attempt: AttemptId, reason: String) -> Answer<'_, Vec<Message>> {
        self.write(Survives::Machine, move |connection| settle::fail(connection, attempt, &reason))
    }

    fn lose(&self, attempt: AttemptId, reason: String) -> Answer<'_, Vec<Message>> {
        self.write(Survives::Machine, move |connection| settle::lose(connection, attempt, &reason))
    }

    fn complete_turn(&self, attempt: AttemptId) -> Answer<'_, Vec<Message>> {
        self.write(Survives::Machine, move |connection| settle::complete_turn(connection, attempt))
    }

    fn take_over(&self, owner: Owner) -> Answer<'_, Vec<Attempt>> {
        self.write(Survives::Server, move |connection| recover::take_over(connection, &owner))
    }

    fn open_turn(&self, receiver: TerminalId) -> Answer<'_, Option<OpenTurn>> {
        self.read(move |connection| look::open_turn(connection, receiver))
    }

    fn message(&self, id: MessageId) -> Answer<'_, Option<Message>> {
        self.read(move |connection| look::message(connection, id))
    }

    fn messages(&self, select: Select, page: Page) -> Answer<'_, Vec<Message>> {
        self.read(move |connection| look::messages(connection, &select, page))
    }

    fn mailbox(&self, receiver: TerminalId) -> Answer<'_, Mailbox> {
        self.read(move |connection| look::mailbox(connection, receiver))
    }

    fn has_urgent(&self, receiver: TerminalId) -> Answer<'_, bool> {
        self.read(move |connection| look::has_urgent(connection, receiver))
    }

    fn set_batching(&self, receiver: TerminalId, batching: Batching) -> Answer<'_, ()> {
        self.write(Survives::Machine, move |connection| change::set_batching(connection, receiver, batching))
    }

    fn give_up(&self, receiver: TerminalId, reason: String) -> Answer<'_, Vec<Message>> {
        self.write(Survives::Machine, move |connection| change::give_up(connection, receiver, &reason))
    }

    fn receivers_waiting(&self) -> Answer<'_, Vec<TerminalId>> {
        self.read(look::receivers_waiting)
    }

    fn cancel(&self, id: MessageId) -> Answer<'_, Message> {
        self.write(Survives::Machine, move |connection| change::cancel(connection, id))
    }

    fn retry(&self, id: MessageId) -> Answer<'_, Message> {
        self.write(Survives::Machine, move |connection| change::retry(connection, id))
    }

    fn forget_settled(&self, keep: u32) -> Answer<'_, u64> {
        self.write(Survives::Server, move |connection| change::forget_settled(connection, keep))
    }
}
