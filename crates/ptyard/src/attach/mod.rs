//! `ptyard attach`: a program on the user's own terminal.
//!
//! The screen as it is now is painted first, then the output from that offset on passes through. Nothing of the
//! program's terminal changes because somebody looks: its size is the owner's, and only `--resize` makes this viewer
//! the owner.

mod keys;
mod modes;
mod outer;
mod pane;
mod passthrough;

use std::io;
use std::time::Duration;

use bytes::Bytes;
use ptyard_core::ErrorCode;
use ptyard_server::api::{ExitInfo, ScreenReply};
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::args::AttachArgs;
use crate::client::{Client, ClientError, InputSink, OutputStream, StreamItem, Typing};
use crate::failure::{Failure, status};
use crate::print::{self, Format};
use crate::run::Place;
use keys::DetachKey;
use outer::Outer;

/// Keys that were read and not looked at yet, in reads. When it is full, no more is read from the terminal.
const PENDING_READS: usize = 16;

/// Keys that the program did not take yet, in reads of at most 4 KiB: 1 MiB. When it is full, what is typed is refused
/// with a bell, as a tty does, so that the detach key is heard also when the program hangs.
const PENDING_ACTS: usize = 256;

/// How long keys that were typed before the detach key may take to reach the program.
const FINISH_WITHIN: Duration = Duration::from_secs(2);

/// Why the viewer left.
#[derive(Debug)]
enum Left {
    /// The user pressed the detach key, or closed the input.
    Detached,
    /// The program ended.
    Ended(ExitInfo),
    /// The terminal was removed.
    Removed,
    /// This signal came.
    Signaled(i32),
}

pub(crate) async fn attach(place: &Place, args: &AttachArgs) -> Result<u8, Failure> {
    if place.format == Format::Json {
        return Err(Failure::usage(
            "attach has no JSON form",
            "`ptyard screen --json` shows what there is to see",
        ));
    }
    let mut client = place.client().await?;
    let info = match args.pane {
        true => pane::when_started(place, &mut client, &args.at.id).await?,
        false => client.info(&args.at.id).await?,
    };
    let mut signals = Signals::new().map_err(|error| internal(&error))?;
    let mut outer = Outer::take()?;
    let left = view(place, client, &info.id, args, &mut outer, &mut signals).await;
    if matches!(left, Ok(Left::Signaled(_))) {
        outer.abandon_output();
    }
    drop(outer);
    Ok(match left? {
        Left::Detached => {
            print::note(&format!("detached from {}", args.at.id));
            if args.pane { status::FAILED } else { status::DONE }
        }
        Left::Ended(exit) => {
            print::note(&crate::run::ended(&exit));
            status::DONE
        }
        Left::Removed => {
            print::note("the terminal was removed");
            status::DONE
        }
        Left::Signaled(number) => u8::try_from(128 + number).unwrap_or(status::FAILED),
    })
}

fn internal(error: &io::Error) -> Failure {
    Failure::new(ErrorCode::Internal, format!("attach: {error}"))
}

/// A stream that breaks sooner than this was no use. Servers take a few milliseconds to start.
const AT_ONCE: Duration = Duration::from_secs(1);

/// So many streams in a row that broke at once, and the next would too.
const MOST_BROKEN_AT_ONCE: u32 = 5;

/// Looks and types until something ends it.
async fn view(
    place: &Place,
    mut client: Client,
    id: &str,
    args: &AttachArgs,
    outer: &mut Outer,
    signals: &mut Signals,
) -> Result<Left, Failure> {
    let mut typed = read_keys();
    let mut next = None;
    let mut broken_at_once = 0;
    loop {
        let offset = match next {
            Some(offset) => offset,
            // At first, and again when output that was not seen yet is gone for good. The server does not keep a connection
            // that was silent for long.
            None => {
                client = client.reconnect().await?;
                paint(&mut client, id, outer).await?
            }
        };
        let typing = if args.read_only { Typing::No } else { Typing::Yes };
        let began = Instant::now();
        let (mut stream, input) = client.stream(id, Some(offset), typing).await?;
        let sender = Sender::start(input);
        if args.resize {
            sender.resize(outer.size());
        }
        match follow(&mut stream, &sender, &mut typed, args, outer, signals).await? {
            Follows::Left(Left::Detached) => {
                sender.finish().await;
                return Ok(Left::Detached);
            }
            Follows::Left(left) => return Ok(left),
            Follows::Gap => {
                sender.finish().await;
                next = None;
            }
            Follows::OtherServer(why) => {
                broken_at_once = if began.elapsed() < AT_ONCE { broken_at_once + 1 } else { 0 };
                if broken_at_once == MOST_BROKEN_AT_ONCE {
                    return Err(why.into());
                }
                next = stream.next_offset().or(Some(offset));
                client = tokio::select! {
                    client = place.client() => client?,
                    number = signals.ending.next() => return Ok(Left::Signaled(number)),
                };
            }
        }
    }
}

/// Why a stream is followed no longer.
enum Follows {
    /// The viewer leaves.
    Left(Left),
    /// The screen has to be painted anew.
    Gap,
    /// The server is gone or goes, and the program is not: another one has the rest of the output.
    OtherServer(ClientError),
}

/// Paints the screen as it is now and gives the offset it shows.
async fn paint(client: &mut Client, id: &str, outer: &mut Outer) -> Result<u64, Failure> {
    let screen = client.screen(id, 0).await?;
    let ansi = client.screen_ansi(id, 0).await?;
    let mut painted = switch_on(&screen);
    painted.extend_from_slice(b"\x1b[H\x1b[2J");
    painted.extend_from_slice(&crlf(&ansi.ansi));
    let (row, col) = (screen.cursor.row.saturating_add(1), screen.cursor.col.saturating_add(1));
    painted.extend_from_slice(format!("\x1b[0m\x1b[{row};{col}H").as_bytes());
    painted.extend_from_slice(if screen.cursor.visible { b"\x1b[?25h" } else { b"\x1b[?25l" });
    outer.show(&painted).await.map_err(|error| internal(&error))?;
    Ok(ansi.offset.unwrap_or(screen.offset))
}

/// The modes the program is in, as the sequences that switch them on.
fn switch_on(screen: &ScreenReply) -> Vec<u8> {
    const MODES: [(&str, &str); 6] = [
        ("alt_screen", "\x1b[?1049h"),
        ("bracketed_paste", "\x1b[?2004h"),
        ("application_cursor", "\x1b[?1h"),
        ("application_keypad", "\x1b="),
        ("focus_events", "\x1b[?1004h"),
        ("mouse", "\x1b[?1002h\x1b[?1006h"),
    ];
    let is_on = |name: &str| screen.modes.get(name).and_then(serde_json::Value::as_bool).unwrap_or(false);
    MODES.iter().filter(|(name, _)| is_on(name)).flat_map(|(_, sequence)| sequence.bytes()).collect()
}

/// Raw mode does not add carriage returns.
fn crlf(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (at, &byte) in text.iter().enumerate() {
        if byte == b'\n' && at.checked_sub(1).map(|before| text[before]) != Some(b'\r') {
            out.push(b'\r');
        }
        out.push(byte);
    }
    out
}

/// Passes output and keys.
async fn follow(
    stream: &mut OutputStream,
    sender: &Sender,
    typed: &mut mpsc::Receiver<Vec<u8>>,
    args: &AttachArgs,
    outer: &mut Outer,
    signals: &mut Signals,
) -> Result<Follows, Failure> {
    let mut detach = DetachKey::default();
    loop {
        let event = tokio::select! {
            item = stream.next() => match item {
                Err(why @ (ClientError::Replaced | ClientError::Broken(_))) => return Ok(Follows::OtherServer(why)),
                item => Event::Stream(item?),
            },
            keys = typed.recv() => Event::Keys(keys),
            number = signals.ending.next() => return Ok(Follows::Left(Left::Signaled(number))),
            _ = signals.resized.recv() => Event::Resized,
        };
        match event {
            Event::Stream(Some(StreamItem::Output { bytes, .. })) => {
                // A terminal that does not take output must not keep a signal from being heard.
                tokio::select! {
                    shown = outer.show(&bytes) => shown.map_err(|error| internal(&error))?,
                    number = signals.ending.next() => return Ok(Follows::Left(Left::Signaled(number))),
                }
            }
            Event::Stream(Some(StreamItem::Exit { exit, .. })) => {
                return Ok(Follows::Left(Left::Ended(exit)));
            }
            Event::Stream(Some(StreamItem::Gap { .. })) => return Ok(Follows::Gap),
            Event::Stream(Some(StreamItem::Size { .. } | StreamItem::Refused { .. })) => {}
            Event::Stream(None) => return Ok(Follows::Left(Left::Removed)),
            Event::Keys(None) => return Ok(Follows::Left(Left::Detached)),
            Event::Keys(Some(read)) => {
                let keys = detach.feed(&read);
                let is_taken =
                    args.read_only || keys.forward.is_empty() || sender.offer(Act::Type(keys.forward));
                if !is_taken {
                    outer.show(b"\x07").await.map_err(|error| internal(&error))?;
                }
                if keys.leave {
                    return Ok(Follows::Left(Left::Detached));
                }
            }
            Event::Resized if args.resize => sender.resize(outer.size()),
            Event::Resized => {}
        }
    }
}

enum Event {
    Stream(Option<StreamItem>),
    Keys(Option<Vec<u8>>),
    Resized,
}

/// Reads the terminal in a task of its own: a read cannot be taken back.
fn read_keys() -> mpsc::Receiver<Vec<u8>> {
    let (keys, typed) = mpsc::channel(PENDING_READS);
    tokio::spawn(async move {
        let mut stdin = tokio::io::stdin();
        let mut read = vec![0; 4096];
        while let Ok(len @ 1..) = stdin.read(&mut read).await {
            if keys.send(read[..len].to_vec()).await.is_err() {
                break;
            }
        }
    });
    typed
}

/// What is on its way to the program. It has a task of its own, because server and viewer would wait for each other
/// if both only sent.
struct Sender {
    acts: mpsc::Sender<Act>,
    sending: JoinHandle<()>,
}

enum Act {
    Type(Vec<u8>),
    Resize(u32, u32),
}

impl Sender {
    fn start(mut input: InputSink) -> Self {
        let (acts, mut pending) = mpsc::channel(PENDING_ACTS);
        let sending = tokio::spawn(async move {
            while let Some(act) = pending.recv().await {
                let sent = match act {
                    Act::Type(bytes) => input.type_bytes(Bytes::from(bytes)).await,
                    Act::Resize(cols, rows) => input.resize(cols, rows).await,
                };
                // The stream has broken with it, and says so.
                if sent.is_err() {
                    return;
                }
            }
            let _: Result<(), ClientError> = input.close().await;
        });
        Self { acts, sending }
    }

    /// Sends what is still on its way, if the program takes it in time, and ends the stream.
    async fn finish(self) {
        drop(self.acts);
        // A program that hangs does not keep the user here.
        let _ = tokio::time::timeout(FINISH_WITHIN, self.sending).await;
    }

    /// Hands over what was typed, or says that there is no room.
    fn offer(&self, act: Act) -> bool {
        // A closed channel is a broken stream, which says so itself.
        !matches!(self.acts.try_send(act), Err(mpsc::error::TrySendError::Full(_)))
    }

    fn resize(&self, size: Option<(u32, u32)>) {
        if let Some((cols, rows)) = size {
            self.offer(Act::Resize(cols, rows));
        }
    }
}

/// The signals a viewer lives with.
struct Signals {
    ending: Ending,
    resized: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { ending: Ending::new()?, resized: signal(SignalKind::window_change())? })
    }
}

/// The signals that end a viewer.
struct Ending {
    hangup: Signal,
    interrupt: Signal,
    quit: Signal,
    terminate: Signal,
}

impl Ending {
    fn new() -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for one and gives its number.
    async fn next(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.hangup.recv() => SignalKind::hangup(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.quit.recv() => SignalKind::quit(),
            _ = self.terminate.recv() => SignalKind::terminate(),
        };
        kind.as_raw_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_painted_from_the_left_margin() {
        assert_eq!(crlf(b"a\nb\r\nc\n\n"), b"a\r\nb\r\nc\r\n\r\n");
    }
}
