//! What may happen in a world, and how often.

/// What may happen, how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chances {
    /// Callers that come by at any time (a request, a sweep, a poller).
    pub(crate) callers: u8,
    /// Writes that fail before a byte.
    pub(crate) fail_before: u8,
    /// Writes that fail after the paste.
    pub(crate) fail_after: u8,
    pub(crate) crashes: u8,
    pub(crate) resets: u8,
    pub(crate) restarts: u8,
    pub(crate) removals: u8,
    /// Texts typed by a person.
    pub(crate) people: u8,
    /// Times at which a bare shell takes the agent's place.
    pub(crate) shells: u8,
    /// Times at which the agent's reports are found silent.
    pub(crate) silences: u8,
    /// Times at which mail comes that does not wait for the end of a turn.
    pub(crate) hurries: u8,
    /// Times at which the composer of a frame is told before its status.
    pub(crate) debounces: u8,
    /// When the Enter may be pressed.
    pub(crate) enter: Enter,
}

/// When the Enter behind a paste may be pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Enter {
    /// When the text was seen, or the agent has read it and nothing is to be seen.
    WhenSeen,
    /// Also before the agent has read the paste, but not before what it printed was judged.
    WhenQuiet,
    /// At any moment.
    AnyTime,
}

impl Chances {
    /// Nothing but what has to happen.
    pub(crate) const NONE: Self = Self {
        callers: 0,
        fail_before: 0,
        fail_after: 0,
        crashes: 0,
        resets: 0,
        restarts: 0,
        removals: 0,
        people: 0,
        shells: 0,
        silences: 0,
        hurries: 0,
        debounces: 0,
        enter: Enter::WhenSeen,
    };
}
