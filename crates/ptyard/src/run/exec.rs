//! `ptyard exec`.

use std::path::Path;
use std::time::Instant;

use ptyard_core::ErrorCode;
use ptyard_server::api::{
    AdoptRequest, ExecRequest, ExitInfo, SignalRequest, StdinKind, WindowReply, WindowRequest, WriteRequest,
};
use tokio::signal::unix::{SignalKind, signal};

use super::{Place, window};
use crate::args::{AdoptArgs, ExecArgs, StdinArg, limit};
use crate::client::{Client, ClientError, OutputStream, StreamItem, Typing};
use crate::environment;
use crate::failure::{Failure, status};
use crate::print::{self, Format};

/// What a shell shows for a command that an interrupt ended.
const INTERRUPTED: u8 = 130;

pub(super) async fn exec(place: &Place, args: ExecArgs) -> Result<u8, Failure> {
    let wait = args.wait;
    let max_tokens = args.window.max_tokens;
    let mut request = request(args)?;
    if !wait {
        let mut client = place.client().await?;
        let reply = client.exec(&request).await?;
        window::print(&reply, place.format)?;
        return Ok(status::DONE);
    }
    // The first window is not what is printed: it closes at once. It has the cap of the last one, so that a cap that
    // cannot be used is refused before anything runs.
    request.full_id_only = true;
    request.window = WindowRequest { yield_ms: Some(0), max_tokens, until: vec!["exit".to_owned()] };
    let began = Instant::now();
    let mut client = place.client().await?;
    let started = client.exec(&request).await?;
    for warning in &started.warnings {
        print::note(&print::printable(warning));
    }
    let exit = match place.format {
        Format::Text => stream_to_end(&mut client, &started).await?,
        Format::Json => one_window(&client, &started, max_tokens, began).await?,
    };
    Ok(match exit {
        None => INTERRUPTED,
        Some(exit) => match window::shell_code(&exit).and_then(|code| u8::try_from(code).ok()) {
            Some(code) => code,
            None => {
                print::note(&window::ended(&exit));
                status::FAILED
            }
        },
    })
}

pub(super) async fn adopt(place: &Place, args: AdoptArgs) -> Result<u8, Failure> {
    let request = AdoptRequest { place: args.place, name: args.name, window: args.window.into() };
    let reply = place.client().await?.adopt(&request).await?;
    window::print(&reply, place.format)?;
    Ok(status::DONE)
}

fn request(args: ExecArgs) -> Result<ExecRequest, Failure> {
    Ok(ExecRequest {
        argv: args.argv,
        command: args.command,
        shell: args.shell,
        login: args.no_login.then_some(false),
        cwd: directory(args.backend.as_deref(), args.cwd.as_deref())?,
        backend: args.backend,
        name: args.name,
        tty: args.tty,
        size: args.size,
        stdin: match args.stdin {
            StdinArg::Null => StdinKind::Null,
            StdinArg::Pipe => StdinKind::Pipe,
        },
        env: environment::given(&args.env)?,
        caller_env: environment::of_caller(),
        policy: None,
        full_id_only: false,
        limits: limit::request(&args.limits, args.best_effort),
        window: args.window.into(),
    })
}

/// Here, where programs start unless told otherwise is where the command is run; elsewhere this machine's directories
/// mean nothing, so one is sent only when it was given, and as it was.
fn directory(backend: Option<&str>, given: Option<&Path>) -> Result<Option<String>, Failure> {
    let place = backend.unwrap_or("local");
    match (place.split(':').next(), given) {
        // tmux and herdr are on this machine.
        (Some("local" | "tmux" | "herdr"), _) => working_directory(given).map(Some),
        (_, None) => Ok(None),
        (_, Some(given)) if given.is_absolute() => working_directory(Some(given)).map(Some),
        (_, Some(given)) => Err(Failure::usage(
            format!("the working directory {} is not absolute", given.display()),
            format!("on {place} it cannot be taken from where you are"),
        )),
    }
}

/// The directory given, made absolute, or the one this process is in. Whether it exists is for the server to say.
pub(crate) fn working_directory(given: Option<&Path>) -> Result<String, Failure> {
    let dir = match given {
        Some(dir) => std::path::absolute(dir),
        None => std::env::current_dir(),
    };
    let dir =
        dir.map_err(|error| Failure::new(ErrorCode::CwdNotFound, format!("working directory: {error}")))?;
    dir.into_os_string().into_string().map_err(|dir| {
        Failure::usage(format!("working directory {} is not UTF-8", dir.display()), "give another `--cwd`")
    })
}

/// Interrupts of the caller: the first goes to the program, the second ends the waiting.
struct Interrupts {
    received: tokio::signal::unix::Signal,
    forwarded: bool,
}

/// What an interrupt leads to.
#[derive(PartialEq, Eq)]
enum AfterInterrupt {
    Wait,
    Leave,
}

impl Interrupts {
    fn new() -> Result<Self, Failure> {
        let received = signal(SignalKind::interrupt())
            .map_err(|error| Failure::new(ErrorCode::Internal, format!("no signal handler: {error}")))?;
        Ok(Self { received, forwarded: false })
    }

    async fn handle(&mut self, client: &Client, started: &WindowReply) -> AfterInterrupt {
        if self.forwarded {
            print::note(&format!(
                "left {} running",
                started.session_id.map_or(started.id.clone(), |id| id.to_string())
            ));
            return AfterInterrupt::Leave;
        }
        self.forwarded = true;
        let interrupt = SignalRequest { signal: "INT".to_owned(), group: true };
        // The connection may have been silent for longer than the server keeps one.
        let sent = async { client.reconnect().await?.signal(&started.id, &interrupt).await };
        if let Err(error) = sent.await {
            print::note(&format!("the interrupt was not passed on: {error}"));
        }
        AfterInterrupt::Wait
    }
}

/// Prints the output from its first byte as it comes. `None` when the caller left.
async fn stream_to_end(client: &mut Client, started: &WindowReply) -> Result<Option<ExitInfo>, Failure> {
    let mut interrupts = Interrupts::new()?;
    let (mut stream, mut _input) = client
        .stream(&started.id, Some(0), Typing::No)
        .await
        .map_err(|error| lost(started, "its output cannot be followed", error))?;
    let mut broke_at = None;
    loop {
        let item = tokio::select! {
            item = stream.next() => item,
            _ = interrupts.received.recv() => match interrupts.handle(client, started).await {
                AfterInterrupt::Wait => continue,
                AfterInterrupt::Leave => return Ok(None),
            },
        };
        let why = match item {
            Ok(Some(StreamItem::Output { bytes, .. })) => {
                print::bytes(&bytes)?;
                continue;
            }
            Ok(Some(StreamItem::Gap { from, to })) => {
                let missed = to.saturating_sub(from);
                print::note(&window::evicted(missed));
                continue;
            }
            Ok(Some(StreamItem::Exit { exit, .. })) => return Ok(Some(exit)),
            Ok(Some(StreamItem::Size { .. } | StreamItem::Refused { .. })) => continue,
            Ok(None) => "the server ended the stream".to_owned(),
            Err(ClientError::Broken(why)) => why,
            Err(error) => return Err(error.into()),
        };
        // A stream that breaks twice at one place would go on breaking there.
        let broken_before = broke_at.replace(stream.next_offset());
        if broken_before == broke_at {
            return Err(ClientError::Broken(why).into());
        }
        (stream, _input) = again(client, started, &stream, &why).await?;
    }
}

/// The program was started, and the server that has it cannot be reached.
fn lost(started: &WindowReply, why: &str, error: ClientError) -> Failure {
    let failure = Failure::from(error);
    let message = format!("lost the program {}: {why}; then: {failure}", started.id);
    match failure.code() {
        // There was a server: the status of one that was not to be started would say something else.
        Some(ErrorCode::NoServer) => Failure::new(ErrorCode::Stopping, message)
            .with_hint(format!("`ptyard read {}` prints what it had printed", started.id)),
        code => Failure::new(code.unwrap_or(ErrorCode::Internal), message),
    }
}

/// A new connection that goes on where `stream` broke off. Nothing is missed: the log has it.
async fn again(
    client: &mut Client,
    started: &WindowReply,
    stream: &OutputStream,
    why: &str,
) -> Result<(OutputStream, crate::client::InputSink), Failure> {
    let lost = |error| lost(started, why, error);
    *client = client.reconnect().await.map_err(lost)?;
    client.stream(&started.id, stream.next_offset(), Typing::No).await.map_err(lost)
}

/// Waits for the end and prints the whole output as one window. `None` when the caller left.
async fn one_window(
    client: &Client,
    started: &WindowReply,
    max_tokens: Option<i64>,
    began: Instant,
) -> Result<Option<ExitInfo>, Failure> {
    let mut interrupts = Interrupts::new()?;
    let mut waiting = client.reconnect().await?;
    // One call from the beginning to the end: a server that is stopped meanwhile answers it with the end, and takes no
    // other.
    let window = WindowRequest { yield_ms: Some(i64::MAX), max_tokens, until: vec!["exit".to_owned()] };
    let all = WriteRequest { since: Some(0), window, ..WriteRequest::default() };
    let mut reply = loop {
        let taken = waiting.write(&started.id, &all);
        tokio::pin!(taken);
        let taken = loop {
            tokio::select! {
                taken = &mut taken => break taken?,
                _ = interrupts.received.recv() => {
                    if interrupts.handle(client, started).await == AfterInterrupt::Leave {
                        return Ok(None);
                    }
                }
            }
        };
        // The longest window there is lasts a day.
        if taken.exit.is_some() {
            break taken;
        }
    };
    reply.wall_ms = began.elapsed().as_secs_f64() * 1000.0;
    print::json(&reply)?;
    reply
        .exit
        .map(Some)
        .ok_or_else(|| Failure::new(ErrorCode::Internal, "the program's end was not reported"))
}
