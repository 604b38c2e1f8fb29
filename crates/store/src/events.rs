//! What happened, by number.

use std::time::SystemTime;

use ptyard_core::TerminalId;

use crate::answer::Answer;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its number.
    pub seq: u64,
    /// When, for people to read.
    pub at: SystemTime,
    /// What.
    pub kind: String,
    /// About which terminal.
    pub terminal: Option<TerminalId>,
    /// More, as JSON.
    pub data: String,
}

/// Some events that are kept, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<EventRow>,
    /// The number of the oldest event kept; `None` when none is.
    pub oldest: Option<u64>,
}

/// The events. Every answer survives the server.
pub trait Events {
    /// Takes numbers: after it no server gives one of `..=upto` again. The answer is the greatest number that was ever
    /// taken, `upto` included.
    fn reserve_events(&self, upto: u64) -> Answer<'_, u64>;

    /// Gives the numbers above `last` back, none of which was given to an event: what a server does last.
    fn release_events(&self, last: u64) -> Answer<'_, ()>;

    /// Writes events down and forgets those whose number is [`EVENTS_KEPT`] or more below the newest.
    ///
    /// [`EVENTS_KEPT`]: crate::sqlite::EVENTS_KEPT
    fn append_events(&self, events: Vec<EventRow>) -> Answer<'_, ()>;

    /// Up to `most` of the events with a number greater than `since`.
    fn events_since(&self, since: u64, most: u32) -> Answer<'_, EventPage>;
}
