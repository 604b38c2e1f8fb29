//! Real programs behind a vendor's wire, on a pseudo terminal or on pipes.
//!
//! Vendors differ in when they tell of an end: when the output is closed, or when the program ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{Mutex, Notify, mpsc};

/// What a program is to be.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) argv: Vec<String>,
    pub(super) cwd: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) io: Io,
    pub(super) told: Told,
}

/// When its end is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// When its output is closed: a child that holds the output holds back its parent's end.
    BehindOutput,
    /// When it ends, whatever is still to come of its output.
    AtOnce,
}

/// How its streams are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Io {
    /// A pseudo terminal, with columns and rows.
    Tty(u16, u16),
    /// Pipes, with input or without.
    Pipes { stdin: bool },
}

/// What a program does: pieces of output, in order, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    Output(Stream, Vec<u8>),
    /// The status, as wait(2) gives it.
    End(i32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Tty,
    Out,
    Err,
}

/// A program that runs.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) pid: u32,
    input: Mutex<Input>,
    tty: Option<OwnedFd>,
    /// Told when its output is not to be waited for any more.
    impatient: Arc<Notify>,
}

#[derive(Debug)]
enum Input {
    Tty(Sender),
    Pipe(ChildStdin),
    None,
}

/// Pieces that wait for whoever sends them on.
const PIECES: usize = 16;

/// Bytes read at a time: what the daemons that were looked at take.
const PIECE: usize = 16 << 10;

impl Program {
    /// Starts one that has `mark` open.
    pub(super) fn start(order: &Order, mark: &Path) -> io::Result<(Self, mpsc::Receiver<Event>)> {
        // With the usual handling of signals, whatever this process was started with. The shell opens the mark, as the
        // daemons' own shells set up something before they become the program.
        let mut command = Command::new("env");
        command.arg("--default-signal");
        if let Io::Tty(..) = order.io {
            command.args(["setsid", "--ctty"]);
        }
        command.arg("sh");
        command.args(["-c", "exec 9<\"$0\"; exec \"$@\""]).arg(mark).args(&order.argv);
        command.env_clear().envs(&order.env).kill_on_drop(true);
        if let Some(cwd) = &order.cwd {
            command.current_dir(cwd);
        }
        let (events, received) = mpsc::channel(PIECES);
        let impatient = Arc::new(Notify::new());
        let waiting = Arc::clone(&impatient);
        let program = match order.io {
            Io::Tty(cols, rows) => {
                let tty = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
                grantpt(&tty)?;
                unlockpt(&tty)?;
                tcsetwinsize(&tty, Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 })?;
                let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
                let slave = File::from(ioctl_tiocgptpeer(&tty, flags)?);
                command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave);
                let child = command.spawn()?;
                drop(command);
                fcntl_setfl(&tty, OFlags::NONBLOCK)?;
                // A terminal is waited for like a pipe.
                let reader = Receiver::from_file_unchecked(File::from(tty.try_clone()?))?;
                let writer = Sender::from_file_unchecked(File::from(tty.try_clone()?))?;
                let pid = child.id().unwrap_or_default();
                let reading = read_pipe(reader, Stream::Tty, events.clone());
                tokio::spawn(finish(child, events, reading, waiting, order.told));
                Self { pid, input: Mutex::new(Input::Tty(writer)), tty: Some(tty), impatient }
            }
            Io::Pipes { stdin } => {
                command.stdin(if stdin { Stdio::piped() } else { Stdio::null() });
                let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
                let pid = child.id().unwrap_or_default();
                let input = child.stdin.take().map_or(Input::None, Input::Pipe);
                let out = child.stdout.take().map(|pipe| read_pipe(pipe, Stream::Out, events.clone()));
                let err = child.stderr.take().map(|pipe| read_pipe(pipe, Stream::Err, events.clone()));
                let both = async { tokio::join!(maybe(out), maybe(err)) };
                tokio::spawn(finish(child, events, both, waiting, order.told));
                Self { pid, input: Mutex::new(input), tty: None, impatient }
            }
        };
        Ok((program, received))
    }

    pub(super) fn is_tty(&self) -> bool {
        self.tty.is_some()
    }

    /// Sends a signal after which nobody waits for the rest of the output.
    pub(super) fn end(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid.cast_signed()) {
            let _gone = kill_process(pid, signal);
        }
        self.impatient.notify_one();
    }

    /// Types; waits while the program does not read.
    pub(super) async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match &mut *self.input.lock().await {
            Input::Pipe(pipe) => pipe.write_all(bytes).await,
            Input::Tty(tty) => tty.write_all(bytes).await,
            Input::None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(super) async fn close_input(&self) {
        *self.input.lock().await = Input::None;
    }

    pub(super) fn resize(&self, cols: u16, rows: u16) -> io::Result<()> {
        let Some(tty) = &self.tty else { return Err(io::ErrorKind::Unsupported.into()) };
        let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(tty, size)?)
    }
}

async fn maybe(future: Option<impl Future<Output = ()>>) {
    if let Some(future) = future {
        future.await;
    }
}

/// Reads the program's output and reaps it.
async fn finish<T>(
    mut child: Child,
    events: mpsc::Sender<Event>,
    output: impl Future<Output = T>,
    impatient: Arc<Notify>,
    told: Told,
) {
    let mut ending = async || {
        if let Ok(status) = child.wait().await {
            let _gone = events.send(Event::End(status.into_raw())).await;
        }
    };
    match told {
        Told::AtOnce => {
            tokio::join!(output, ending());
        }
        Told::BehindOutput => {
            tokio::select! {
                _closed = output => {}
                () = impatient.notified() => {}
            }
            ending().await;
        }
    }
}

/// Reads until the end, which on a terminal is an error: nobody has it open any more.
async fn read_pipe(mut pipe: impl AsyncRead + Unpin, stream: Stream, events: mpsc::Sender<Event>) {
    let mut room = vec![0; PIECE];
    while let Ok(read @ 1..) = pipe.read(&mut room).await {
        if events.send(Event::Output(stream, room[..read].to_vec())).await.is_err() {
            return;
        }
    }
}
