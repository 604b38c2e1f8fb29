//! The task that follows what herdr tells.
//!
//! It subscribes first and looks then, so that nothing falls between the two; it looks again when something was closed
//! (ids of panes may have moved), when somebody came, and behind each Enter. One look at a time, and one more when it
//! was wanted meanwhile. A connection that breaks is made again after a pause.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::cli::HerdrError;
use super::look::{Begun, Found, look};
use super::seat::{Missing, Seat, Seen};
use super::session::Session;
use super::stream::{Line, Read, Stream};
use super::wire::{Event, Pane, event};

/// A look under way.
type Looking = Pin<Box<dyn Future<Output = Result<Vec<Found>, HerdrError>> + Send>>;

impl Session {
    /// Follows until nobody sits here.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut pause = self.first_pause;
        while !self.is_over() {
            match Stream::open(&self.socket).await {
                Ok(stream) => {
                    let mut listener = Listener::new(Arc::clone(&self), stream);
                    let broke = listener.listen().await;
                    if listener.has_looked {
                        pause = self.first_pause;
                    }
                    self.seats().iter().for_each(|seat| seat.herdr_is_gone());
                    if let Err(error) = broke {
                        tracing::debug!(session = self.cli().session, %error, "herdr's events broke off");
                    }
                }
                Err(error) => {
                    tracing::debug!(session = self.cli().session, %error, "herdr is not there");
                }
            }
            if self.is_empty() {
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(self.longest_pause),
                // Somebody who starts has seen a server.
                () = self.arrivals.notified() => pause = self.first_pause,
            }
        }
    }
}

/// One connection.
///
/// # Invariants
/// 1. `covered` never exceeds `closes`.
struct Listener {
    session: Arc<Session>,
    stream: Stream,
    /// Closes that were told.
    closes: u64,
    /// Those of them behind which panes were looked at.
    covered: u64,
    wants_look: bool,
    has_looked: bool,
    /// A look failed: not before this moment.
    look_at: Option<Instant>,
    look_pause: Duration,
}

/// What a listener waits for.
enum Heard {
    Lines,
    Looked(Result<Vec<Found>, HerdrError>),
    Arrival,
    Write,
    Again,
}

impl Listener {
    fn new(session: Arc<Session>, stream: Stream) -> Self {
        let look_pause = session.first_pause;
        Self {
            session,
            stream,
            closes: 0,
            covered: 0,
            wants_look: true,
            has_looked: false,
            look_at: None,
            look_pause,
        }
    }

    /// Listens until the connection breaks, or nobody sits here.
    async fn listen(&mut self) -> io::Result<()> {
        let mut looking: Option<(Begun, Looking)> = None;
        loop {
            if self.session.is_empty() {
                return Ok(());
            }
            if self.wants_look && looking.is_none() && self.look_at.is_none() {
                looking = Some(self.begin_look());
            }
            let heard = tokio::select! {
                readable = self.stream.readable() => readable.map(|()| Heard::Lines)?,
                looked = until_looked(&mut looking) => Heard::Looked(looked),
                () = self.session.arrivals.notified() => Heard::Arrival,
                () = self.session.writes.notified() => Heard::Write,
                () = until(self.look_at) => Heard::Again,
            };
            match heard {
                Heard::Lines => {
                    self.take_lines()?;
                }
                Heard::Looked(result) => {
                    // What herdr told before it answered may be from before the writes.
                    let read = self.take_lines()?;
                    match (looking.take(), read) {
                        (Some((begun, _)), Read::All) => self.looked(begun, result),
                        _ => self.wants_look = true,
                    }
                }
                Heard::Arrival | Heard::Write => self.wants_look = true,
                Heard::Again => self.look_at = None,
            }
        }
    }

    fn begin_look(&mut self) -> (Begun, Looking) {
        self.wants_look = false;
        let seats = self.session.seats().into_iter().map(|seat| {
            let before = seat.before();
            (seat, before)
        });
        let begun = Begun { seats: seats.collect(), closes: self.closes };
        (begun, Box::pin(look(self.session.cli().clone())))
    }

    fn looked(&mut self, begun: Begun, result: Result<Vec<Found>, HerdrError>) {
        let panes = match result {
            Ok(panes) => panes,
            Err(error) => {
                // Nothing is known, so nothing is done.
                tracing::warn!(session = self.session.cli().session, %error, "herdr's panes cannot be looked at");
                self.wants_look = true;
                self.look_at = Some(Instant::now() + self.look_pause);
                self.look_pause = (self.look_pause * 2).min(self.session.longest_pause);
                return;
            }
        };
        self.look_pause = self.session.first_pause;
        self.has_looked = true;
        self.covered = begun.closes;
        debug_assert!(self.covered <= self.closes, "invariant 1");
        for (seat, before) in begun.seats {
            match seat.find(&panes) {
                // Another look, at which nothing is told, says what is so.
                Some(found) => self.wants_look |= seat.was_found(&found.pane, before) == Seen::OrBefore,
                None => self.is_missing(&seat),
            }
        }
    }

    fn is_missing(&self, seat: &Arc<Seat>) {
        match seat.is_missing() {
            Missing::Nothing => {}
            Missing::WasClosed => tracing::info!(id = %seat.id, "its pane was closed"),
            Missing::Reopen => {
                let (session, seat) = (Arc::clone(&self.session), Arc::clone(seat));
                tokio::spawn(async move {
                    let opened = session.open(&seat, None).await;
                    if let Err(error) = &opened {
                        tracing::warn!(id = %seat.id, %error, "it has no pane");
                    }
                    seat.opened();
                    if opened.is_ok() {
                        session.arrivals.notify_one();
                    }
                });
            }
        }
    }

    fn updated(&mut self, pane: &Pane) {
        let settled = self.covered == self.closes;
        let seats = self.session.seats();
        match (pane.status, seats.iter().find(|seat| seat.is_in(pane, settled))) {
            (Some(status), Some(seat)) => seat.was_told(status),
            // Whose it is is not known; what it told is seen by the next look.
            (Some(_), None) if !settled || seats.iter().any(|seat| !seat.is_seen()) => self.wants_look = true,
            _ => {}
        }
    }

    fn take_lines(&mut self) -> io::Result<Read> {
        let (lines, read) = self.stream.take()?;
        for line in lines {
            match line {
                Line::Whole(line) => match event(&line) {
                    Some(Event::Updated(pane)) => self.updated(&pane),
                    Some(Event::Closed) => {
                        self.closes += 1;
                        self.wants_look = true;
                    }
                    None => {}
                },
                Line::TooLong => {
                    // It may have said anything.
                    self.closes += 1;
                    self.wants_look = true;
                }
            }
        }
        Ok(read)
    }
}

async fn until_looked(looking: &mut Option<(Begun, Looking)>) -> Result<Vec<Found>, HerdrError> {
    match looking {
        Some((_, look)) => look.await,
        None => std::future::pending().await,
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
