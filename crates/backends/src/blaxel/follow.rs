//! Following a program: its output in order, its end, and what is typed; and going on when the connection broke.
//!
//! One task has the connection to the program's carrier. Output that is missing is asked for again, and what may not have
//! arrived is typed again; offsets see to it that nothing comes twice. Output that nobody takes is not acknowledged, so
//! that the carrier, and then the program, waits.

use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use ptyard_core::{Exit, Size, TerminalId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::heard::{Came, Heard, Item};
use super::lines::{self, Line, Lines};
use super::place::{Order, Place};
use super::terminal::{next, say};
use super::typed::Typed;
use crate::remote::http::CallError;
use crate::remote::lodging::Lodging;
use crate::remote::socket::{Ear, Mouth};
use crate::shared::fate::Herald;

/// Pieces of output that wait to be read.
pub(super) const PIECES: usize = 16;

/// How often the carrier is asked how it stands: it stays for whoever asks, and what was lost last is found.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// How long the answer to a question for something that is missing may take before it is asked for again.
const GAP_LIMIT: Duration = Duration::from_secs(1);

/// How long a word may take to be taken by the connection.
const SAY_LIMIT: Duration = Duration::from_secs(30);

/// How long a carrier may take to answer whoever connects. One that is gone does not, but a shell in its place.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// How long a connection that broke is tried to be had again.
const MEND_LIMIT: Duration = Duration::from_secs(60);

/// The pause behind the first try; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a carrier that was told to leave may take.
const LEAVE_LIMIT: Duration = Duration::from_secs(3);

/// Who follows.
pub(super) struct Follower {
    pub(super) place: Place,
    pub(super) id: TerminalId,
    pub(super) orders: mpsc::Receiver<Order>,
    /// `None` when nothing more can come.
    pub(super) pieces: Option<mpsc::Sender<Bytes>>,
    pub(super) herald: Herald,
    pub(super) heard: Heard,
    pub(super) typed: Typed,
    /// The last one that was asked for.
    pub(super) size: Option<Size>,
}

/// A connection to a carrier.
pub(super) struct Link {
    pub(super) mouth: Mouth,
    pub(super) ear: Ear,
    pub(super) lines: Lines,
    /// The number of the last question, by which its answer is known from others.
    number: u32,
    /// Since when it is waited for something that is missing.
    asked_at: Option<Instant>,
}

impl Link {
    /// A connection over which nothing came yet.
    pub(super) fn new((mouth, ear): (Mouth, Ear)) -> Result<Self, CallError> {
        let mut number = [0; 4];
        let no_chance = |error| CallError::NotSent(format!("no random bytes: {error}"));
        getrandom::fill(&mut number).map_err(no_chance)?;
        Ok(Self { mouth, ear, lines: Lines::default(), number: u32::from_ne_bytes(number), asked_at: None })
    }

    /// Whether this is the answer to the last question.
    fn is_answer(&self, line: &Line) -> bool {
        matches!(line, Line::Stands { asked, .. } if *asked == self.number)
    }

    pub(super) async fn say(&self, text: &str) -> Result<(), CallError> {
        let saying = timeout(SAY_LIMIT, say(&self.mouth, text));
        saying.await.unwrap_or_else(|_| Err(CallError::too_late("nothing was taken", SAY_LIMIT)))
    }

    /// Lets the carrier leave, or a shell in its place, and waits until it has.
    pub(super) async fn leave(mut self) -> Result<(), CallError> {
        self.say(&lines::leave()).await?;
        let leaving = timeout(LEAVE_LIMIT, async { while next(&mut self.ear).await.is_ok() {} });
        leaving.await.map_err(|_| CallError::too_late("the carrier did not leave", LEAVE_LIMIT))
    }
}

/// Why a connection is not followed any more.
enum Over {
    /// Nobody wants to know any more; or somebody waits for the carrier to leave.
    Unwanted(Option<oneshot::Sender<()>>),
    Broken(CallError),
}

impl From<CallError> for Over {
    fn from(error: CallError) -> Self {
        Self::Broken(error)
    }
}

impl Follower {
    /// Follows until nobody wants to know any more, or nobody can tell what becomes of the program.
    pub(super) async fn run(mut self, link: Option<Link>) {
        let mut link = link;
        let why = loop {
            let standing = match link.take() {
                Some(link) => link,
                None => match self.connected().await {
                    Ok(Some(link)) => link,
                    Ok(None) => return,
                    Err(error) => break error,
                },
            };
            let mut standing = standing;
            match self.follow(&mut standing).await {
                Over::Unwanted(waiting) => {
                    let left = standing.leave().await;
                    if let (Ok(()), Some(waiting)) = (left, waiting) {
                        let _nobody_waits = waiting.send(());
                    }
                    return;
                }
                Over::Broken(why) => tracing::debug!(terminal = %self.id, %why, "a connection broke"),
            }
        };
        if !self.heard.has_ended() {
            tracing::warn!(terminal = %self.id, %why, "a program in a sandbox is lost");
        }
        // What came before that.
        while self.heard.is_waiting() {
            room(self.pieces.as_ref()).await;
            self.pass().await;
        }
        self.herald.ended(Exit::lost());
    }

    async fn follow(&mut self, link: &mut Link) -> Over {
        let mut asks = interval(ASK_EVERY);
        asks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        asks.tick().await;
        loop {
            let done = tokio::select! {
                () = room(self.pieces.as_ref()), if self.heard.is_waiting() => {
                    self.pass().await;
                    self.acknowledge(link).await
                }
                text = next(&mut link.ear) => match text {
                    Ok(text) => self.hear(link, &text).await,
                    Err(error) => Err(error),
                },
                order = self.orders.recv() => match order {
                    None => return Over::Unwanted(None),
                    Some(Order::Leave(left)) => return Over::Unwanted(Some(left)),
                    Some(order) => self.obey(link, order).await,
                },
                () = late(link.asked_at) => self.ask(link).await,
                _ = asks.tick() => {
                    let (passed, _) = self.heard.offsets();
                    link.say(&(lines::arrived(passed) + &lines::question(link.number))).await
                }
            };
            if let Err(error) = done {
                return error.into();
            }
        }
    }

    /// Passes one thing on, for which there is room.
    async fn pass(&mut self) {
        match self.heard.pass() {
            Some(Item::Output(bytes)) => {
                // When nobody reads any more, the terminal is gone; this task is the only one that sends.
                if let Some(pieces) = &self.pieces
                    && pieces.try_send(bytes).is_err()
                {
                    self.pieces = None;
                }
            }
            Some(Item::Ended(exit)) => {
                self.herald.left_behind(self.place.count(self.id).await.unwrap_or(1));
                self.herald.clone().ended(exit);
            }
            Some(Item::Closed) => self.pieces = None,
            None => {}
        }
    }

    /// Tells the carrier what has arrived, now and then.
    async fn acknowledge(&mut self, link: &Link) -> Result<(), CallError> {
        match self.heard.arrived() {
            Some(offset) => link.say(&lines::arrived(offset)).await,
            None => Ok(()),
        }
    }

    /// Takes what came, and asks for what is missing: once, and again when the answer shows that it came in part.
    async fn hear(&mut self, link: &mut Link, text: &str) -> Result<(), CallError> {
        let mut is_missing = false;
        for line in link.lines.take(text.as_bytes()) {
            let is_answer = link.is_answer(&line);
            match self.heard.take(line) {
                Came::InOrder => {}
                Came::Gap => is_missing |= is_answer || link.asked_at.is_none(),
                Came::Stands { taken, .. } => {
                    self.typed.taken(taken);
                    // All that was said so far is there.
                    link.asked_at = None;
                }
            }
        }
        if is_missing { self.ask(link).await } else { Ok(()) }
    }

    async fn obey(&mut self, link: &Link, order: Order) -> Result<(), CallError> {
        match order {
            Order::Type(bytes, taken) => {
                let lines = self.typed.add(&bytes, taken);
                link.say(&lines).await
            }
            Order::Close(closed) => {
                let line = self.typed.close();
                // What this connection does not carry the next one will.
                let _nobody_waits = closed.send(());
                link.say(&line).await
            }
            Order::Size(size) => {
                self.size = Some(size);
                link.say(&lines::size(size)).await
            }
            Order::Leave(_) => Ok(()),
        }
    }

    /// Connects to the carrier, as often as it takes for a while; `None` when nobody wants to know any more.
    async fn connected(&mut self) -> Result<Option<Link>, CallError> {
        let herald = self.herald.clone();
        tokio::select! {
            link = self.connect() => link.map(Some),
            () = herald.unheard() => Ok(None),
        }
    }

    async fn connect(&mut self) -> Result<Link, CallError> {
        let (until, mut pause) = (Instant::now() + MEND_LIMIT, FIRST_PAUSE);
        loop {
            let why = match self.connect_once().await {
                Err(error) if error.may_pass() && Instant::now() < until => error,
                connected => return connected,
            };
            tracing::debug!(terminal = %self.id, %why, "a sandbox cannot be reached");
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Connects, and has the carrier say how it stands.
    async fn connect_once(&mut self) -> Result<Link, CallError> {
        // A terminal that is there has a size already, and keeps it.
        let mut link = Link::new(self.place.connect(self.id, Size::DEFAULT).await?)?;
        self.ask(&mut link).await?;
        match timeout(ANSWER_LIMIT, self.answer(&mut link)).await {
            Ok(answered) => answered?,
            Err(_) => {
                let _anyway = link.leave().await;
                return Err(CallError::garbled("the program's carrier is gone"));
            }
        }
        let size = self.size.map(lines::size).unwrap_or_default();
        link.say(&(size + &self.typed.again())).await?;
        Ok(link)
    }

    /// Asks how it stands, and for all that is missing behind that.
    async fn ask(&mut self, link: &mut Link) -> Result<(), CallError> {
        link.number = link.number.wrapping_add(1);
        link.asked_at = Some(Instant::now());
        let (passed, have) = self.heard.offsets();
        link.say(&(lines::again(passed, have) + &lines::question(link.number))).await
    }

    /// Waits until the carrier says how it stands. What a terminal plays again holds older answers.
    async fn answer(&mut self, link: &mut Link) -> Result<(), CallError> {
        loop {
            let text = next(&mut link.ear).await?;
            for line in link.lines.take(text.as_bytes()) {
                let is_answer = link.is_answer(&line);
                match self.heard.take(line) {
                    Came::Stands { taken, came, .. } => {
                        self.typed.taken(taken);
                        if is_answer {
                            self.typed.came(came);
                            link.asked_at = None;
                            return Ok(());
                        }
                    }
                    // What was asked for came in part.
                    Came::Gap if is_answer => self.ask(link).await?,
                    Came::Gap | Came::InOrder => {}
                }
            }
        }
    }
}

/// Waits until an answer is late that was asked for then.
async fn late(asked_at: Option<Instant>) {
    match asked_at {
        Some(asked_at) => sleep_until(asked_at + GAP_LIMIT).await,
        None => pending().await,
    }
}

/// Waits until something can be passed on, or nobody takes it.
async fn room(pieces: Option<&mpsc::Sender<Bytes>>) {
    if let Some(pieces) = pieces {
        let _gone = pieces.reserve().await;
    }
}
