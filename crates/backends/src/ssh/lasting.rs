//! Carrying the streams of a program that outlives its connection.
//!
//! The program runs there under a carrier of ours (`carrier.py`), and this process follows it over a channel, frame by
//! frame (`frames`). When the channel breaks, another one is opened, and both go on where they were: output at the offset
//! up to which it came, input at the offset up to which it was taken. An end is what the carrier there says, and nothing
//! else.
//!
//! # Invariants
//! 1. Output that was not passed on is not acknowledged; what was, is never passed on again.
//! 2. What waits is bounded: output by what the carrier there sends unacknowledged, input by [`INPUT_ROOM`].

mod link;
mod streams;

use std::collections::VecDeque;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::StartError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::frames::{self, Frame};
use crate::shared::carried::REST_LIMIT;
use crate::shared::greeting::{Greeting, Said, find};
use crate::shared::program;
use crate::shared::typed::Typed;

use link::{Link, complaints};
use streams::{Streams, resize, room};

/// What carries the bytes of a program there.
pub(super) const CARRIER: &str = include_str!("carrier.py");

/// How the carrier there is begun, and how one that is there is come back to.
pub(super) const BEGIN: &str = "begin";
const BACK: &str = "back";

/// Bytes read at a time.
const ROOM: usize = 64 << 10;

/// Most input that waits to be taken, in bytes; of more, nothing is read.
const INPUT_ROOM: usize = 64 << 10;

/// Most output that came and was not handed on, in bytes; beyond that the channel is not read.
const MOST_QUEUED: usize = 8 << 20;

/// After so much output the carrier there is told that it has arrived, in bytes. It goes on for sixteen times as much.
const ARRIVED_EVERY: u64 = 64 << 10;

/// How often it is told so without any, so that it knows that we are there.
const BEAT: Duration = Duration::from_secs(10);

/// How long a channel may take to be there, with its connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);

/// The pause behind the first try; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long it may take to come back for that, when the channel broke in that very moment.
const LEAVE_AGAIN_LIMIT: Duration = Duration::from_secs(15);

/// Carries the streams of the program that the client begins with this command there, until it is over; the code to exit
/// with, if it is known. `argv`: the word, for how many seconds a connection is tried to be had again, the command, and
/// the client with its arguments.
pub(super) fn carry(argv: &[String]) -> io::Result<Option<u8>> {
    let [word, patience, command, client @ ..] = argv else {
        return Err(io::Error::other("the word, the patience, the command or the client is missing"));
    };
    let patience = patience.parse().map_err(|_| io::Error::other("the patience is no number"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut carrying = Carrying::new(word, Duration::from_secs(patience), client)?;
        let mut link = Link::open(client, command, Stdio::piped())?;
        if !carrying.greet(&mut link).await? {
            return Ok(None);
        }
        loop {
            match carrying.follow(&mut link).await {
                Over::Ended(code) => {
                    let all_printed = carrying.hand_over().await;
                    // One that heard nothing would stay for as long as somebody might come back.
                    if !link.leave().await
                        && let Ok(Ok(again)) = timeout(LEAVE_AGAIN_LIMIT, carrying.connect_once()).await
                    {
                        again.leave().await;
                    }
                    return Ok(all_printed.then_some(code));
                }
                Over::Unheard => return Ok(None),
                Over::Broken => {}
            }
            drop(link);
            match carrying.connect().await {
                Some(again) => link = again,
                // An end that is known stands behind all that the program printed itself.
                None => {
                    let all_printed = carrying.hand_over().await;
                    return Ok(carrying.ended.filter(|_| all_printed));
                }
            }
        }
    })
}

/// Why a channel is not followed any more.
enum Over {
    /// The program ended, and all of its output came.
    Ended(u8),
    /// Nobody takes its output any more.
    Unheard,
    Broken,
}

/// Why there is no channel to the carrier there.
enum Missing {
    /// The carrier is not there any more.
    Carrier,
    /// What may be had later.
    Connection,
}

impl From<io::Error> for Missing {
    fn from(_: io::Error) -> Self {
        Self::Connection
    }
}

impl From<StartError> for Missing {
    fn from(_: StartError) -> Self {
        Self::Connection
    }
}

struct Carrying<'a> {
    word: &'a str,
    patience: Duration,
    client: &'a [String],
    streams: Streams,
    typed: Typed,
    /// What was printed before the program's output, in bytes.
    before: u64,
    /// Up to here output came, and up to here the carrier there was told so.
    have: u64,
    told: u64,
    /// What came and was not handed on.
    queue: VecDeque<Vec<u8>>,
    queued: usize,
    ended: Option<u8>,
    is_drained: bool,
}

impl<'a> Carrying<'a> {
    fn new(word: &'a str, patience: Duration, client: &'a [String]) -> io::Result<Self> {
        Ok(Self {
            word,
            patience,
            client,
            streams: Streams::new()?,
            typed: Typed::default(),
            before: 0,
            have: 0,
            told: 0,
            queue: VecDeque::new(),
            queued: 0,
            ended: None,
            is_drained: false,
        })
    }

    /// Passes on what is said both ways, until the program begins; whether it does.
    async fn greet(&mut self, link: &mut Link) -> io::Result<bool> {
        let begins = format!("\x1b]7777;{}:go\x07", self.word).into_bytes();
        let complaints = tokio::spawn(complaints(link.errors.take()));
        let mut room = vec![0; ROOM];
        // What was passed on and may be the beginning of it.
        let mut passed = Vec::new();
        loop {
            tokio::select! {
                read = link.ear.read(&mut room) => {
                    let read = read?;
                    if read == 0 {
                        break;
                    }
                    let known = passed.len();
                    passed.extend_from_slice(&room[..read]);
                    if let Some(at) = find(&passed, &begins) {
                        link.come = passed.split_off(at + begins.len());
                        self.streams.print(passed.split_off(known)).await;
                        self.before = self.streams.handed;
                        return Ok(true);
                    }
                    self.streams.print(room[..read].to_vec()).await;
                    passed.drain(..passed.len().saturating_sub(begins.len()));
                }
                Some(said) = self.streams.input.recv() => link.mouth.write_all(&said).await?,
            }
        }
        // Heard by whoever waits for the far shell to greet.
        self.streams.print(complaints.await.unwrap_or_default()).await;
        self.streams.all_printed().await;
        Ok(false)
    }

    /// Follows the program over a channel, as long as that stands.
    async fn follow(&mut self, link: &mut Link) -> Over {
        self.begin(link);
        let mut beat = interval(BEAT.min(self.patience / 4).max(Duration::from_millis(100)));
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard_at = Instant::now();
        loop {
            if let (Some(code), true, true) = (self.ended, self.is_drained, self.queue.is_empty()) {
                return Over::Ended(code);
            }
            link.come.reserve(ROOM);
            let Self { streams, .. } = self;
            let has_room = self.typed.waiting() < INPUT_ROOM && self.typed.closed_at().is_none();
            tokio::select! {
                read = link.ear.read_buf(&mut link.come), if self.queued < MOST_QUEUED => {
                    heard_at = Instant::now();
                    if !matches!(read, Ok(1..)) || self.hear(&mut link.come).is_err() {
                        return Over::Broken;
                    }
                }
                () = room(&streams.pieces), if !self.queue.is_empty() => {
                    if let Some(piece) = self.queue.pop_front() {
                        streams.handed += piece.len() as u64;
                        self.queued -= piece.len();
                        // There is room, and nobody else sends.
                        if streams.pieces.try_send(piece).is_err() {
                            return Over::Unheard;
                        }
                    }
                    heard_at = Instant::now();
                }
                said = link.mouth.write(&link.out), if !link.out.is_empty() => match said {
                    Ok(said) => drop(link.out.drain(..said)),
                    Err(_) => return Over::Broken,
                },
                typed = streams.input.recv(), if has_room => match typed {
                    Some(typed) => frames::input(&mut link.out, self.typed.add(&typed), &typed),
                    None => frames::end(&mut link.out, self.typed.close()),
                },
                _ = streams.resized.recv() => resize(&mut link.out),
                changed = streams.printed.changed() => {
                    if changed.is_err() {
                        return Over::Unheard;
                    }
                    let printed = streams.printed.borrow_and_update().saturating_sub(self.before);
                    if printed >= self.told + ARRIVED_EVERY {
                        self.told = printed;
                        frames::arrived(&mut link.out, printed);
                    }
                }
                _ = beat.tick() => {
                    self.told = streams.printed.borrow().saturating_sub(self.before);
                    frames::arrived(&mut link.out, self.told);
                }
                // Whoever was left behind may hold the output for years.
                () = sleep_until(heard_at + REST_LIMIT), if self.ended.is_some() => self.is_drained = true,
            }
        }
    }

    /// What is said first over a channel: where both stand.
    fn begin(&mut self, link: &mut Link) {
        frames::begin(&mut link.out, self.have);
        resize(&mut link.out);
        let (at, bytes) = self.typed.again();
        frames::input(&mut link.out, at, bytes);
        if let Some(at) = self.typed.closed_at() {
            frames::end(&mut link.out, at);
        }
    }

    /// Takes what came.
    fn hear(&mut self, come: &mut Vec<u8>) -> io::Result<()> {
        while let Some(frame) = frames::next(come)? {
            match frame {
                Frame::Output { at, mut bytes } => {
                    let missing = || io::Error::new(io::ErrorKind::InvalidData, "output is missing");
                    let known = self.have.checked_sub(at).ok_or_else(missing)?;
                    let known = usize::try_from(known).unwrap_or(usize::MAX).min(bytes.len());
                    bytes.drain(..known);
                    self.have += bytes.len() as u64;
                    self.queued += bytes.len();
                    if !bytes.is_empty() {
                        self.queue.push_back(bytes);
                    }
                }
                Frame::Taken(offset) => drop(self.typed.taken(offset)),
                Frame::Ended(code) => self.ended = Some(code),
                Frame::Closed => self.is_drained = true,
            }
        }
        Ok(())
    }

    /// Comes back to the carrier there; `None` when it is gone, or when there was no connection for too long.
    async fn connect(&mut self) -> Option<Link> {
        let (until, mut pause) = (Instant::now() + self.patience, FIRST_PAUSE);
        loop {
            match timeout(CONNECT_LIMIT, self.connect_once()).await {
                Ok(Ok(link)) => return Some(link),
                Ok(Err(Missing::Carrier)) => return None,
                Ok(Err(Missing::Connection)) | Err(_) if Instant::now() >= until => return None,
                Ok(Err(Missing::Connection)) | Err(_) => {}
            }
            sleep(pause.min(until.saturating_duration_since(Instant::now()))).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn connect_once(&self) -> Result<Link, Missing> {
        let mut greeting = Greeting::handing_over(|word| program::script(CARRIER, word, &[BACK, self.word]))?;
        let command = format!("exec sh -c '{}'", greeting.greeter());
        let mut link = Link::open(self.client, &command, Stdio::null())?;
        let mut room = vec![0; ROOM];
        loop {
            let read = link.ear.read(&mut room).await?;
            if read == 0 {
                return Err(Missing::Connection);
            }
            let mut said = greeting.hear(&room[..read], &mut link.come);
            while let Some(what) = said {
                match what {
                    Said::Ready(_) => link.mouth.write_all(greeting.script()).await?,
                    Said::Gone => return Ok(link),
                    Said::Refused(error) if error.code == ErrorCode::SpawnFailed => {
                        return Err(Missing::Carrier);
                    }
                    Said::Pid(_) | Said::Refused(_) => return Err(Missing::Connection),
                }
                said = greeting.hear(b"", &mut link.come);
            }
        }
    }

    /// Hands on what came before the connection broke for good, and waits until it is printed; whether it is.
    async fn hand_over(&mut self) -> bool {
        while let Some(piece) = self.queue.pop_front() {
            self.streams.print(piece).await;
        }
        self.streams.all_printed().await
    }
}

#[cfg(test)]
mod tests;
