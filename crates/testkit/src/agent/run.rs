//! The agent on a real terminal.

use std::io::{self, PipeReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ptyard_core::{Moment, Size};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;
use rustix::termios::{self, OptionalActions, Termios};

use super::config::AgentConfig;
use super::frame::Frame;
use super::input::Parser;
use super::machine::{Agent, Effect, Leaving};
use super::record::{Event, Recorder};

/// How long an ESC may be the beginning of a sequence.
const ESCAPE_WAIT: Duration = Duration::from_millis(20);

const READ_BYTES: usize = 4_096;

/// Runs an agent on this process's terminal until it leaves, and gives its exit code.
///
/// # Errors
/// When stdin is no terminal, or the terminal or the record cannot be used.
pub fn run(config: AgentConfig, record: Option<&Path>) -> io::Result<u8> {
    let mut recorder = Recorder::new(record)?;
    let before = termios::tcgetattr(io::stdin())?;
    let mut raw = before.clone();
    raw.make_raw();
    termios::tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    recorder.write(0, Event::Started { pid: std::process::id() })?;
    let started = Instant::now();
    let agent = Agent::new(config, Moment::EPOCH);
    Session { agent, parser: Parser::new(), recorder, started, drawn: None, worker: None, before }.run()
}

struct Session {
    agent: Agent,
    parser: Parser,
    recorder: Recorder,
    started: Instant,
    drawn: Option<Frame>,
    worker: Option<Worker>,
    before: Termios,
}

/// A program that works for a turn.
struct Worker {
    turn: usize,
    program: Child,
    output: PipeReader,
    printed: Vec<u8>,
}

/// What came first.
enum Woken {
    Input,
    Output,
    Moment,
}

impl Session {
    fn run(mut self) -> io::Result<u8> {
        let mut reads = 0;
        let mut redraw_at: Option<Moment> = None;
        loop {
            let now = self.now();
            self.agent.tick(now);
            if let Some(leaving) = self.perform()? {
                return self.leave(leaving);
            }
            let again = redraw_at.is_some_and(|at| at <= now);
            self.draw(now, again && self.agent.is_noisy())?;
            let next = self.agent.redraw(now);
            redraw_at = redraw_at.filter(|at| *at > now && next.is_some()).into_iter().chain(next).min();
            let escape = self.parser.waits().then_some(now + ESCAPE_WAIT);
            let wake = self.agent.deadline().into_iter().chain(redraw_at).chain(escape).min();
            let now = match self.wait(wake)? {
                Woken::Moment => self.now(),
                Woken::Output => {
                    self.hear()?;
                    continue;
                }
                Woken::Input => {
                    let mut bytes = [0; READ_BYTES];
                    let count = rustix::io::read(io::stdin(), &mut bytes).unwrap_or(0);
                    let now = self.now();
                    reads += 1;
                    if count == 0 {
                        self.agent.hang_up();
                    }
                    for input in self.parser.feed(&bytes[..count]) {
                        self.agent.input(input, reads, now);
                    }
                    continue;
                }
            };
            if escape.is_some_and(|at| at <= now) {
                for input in self.parser.flush() {
                    self.agent.input(input, reads, now);
                }
            }
        }
    }

    fn now(&self) -> Moment {
        Moment::from_epoch(self.started.elapsed())
    }

    /// Waits for input, for output of the program that works, or for a moment.
    fn wait(&self, wake: Option<Moment>) -> io::Result<Woken> {
        let timeout = wake.map(|wake| {
            let left = wake.since(self.now());
            // One millisecond more than nothing, so that a moment that is all but here does not spin.
            let left = left.max(Duration::from_millis(1));
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
        });
        let stdin = io::stdin();
        let mut fds = vec![PollFd::new(&stdin, PollFlags::IN)];
        fds.extend(self.worker.iter().map(|worker| PollFd::new(&worker.output, PollFlags::IN)));
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(Woken::Moment),
            Ok(_) if fds[0].revents().is_empty() => Ok(Woken::Output),
            Ok(_) => Ok(Woken::Input),
            Err(error) => Err(error.into()),
        }
    }

    fn begin_work(&mut self, turn: usize, argv: &[String], text: &str) -> io::Result<()> {
        let (output, writer) = io::pipe()?;
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).stdin(Stdio::piped()).stdout(writer.try_clone()?).stderr(writer);
        let mut program = command.spawn()?;
        if let Some(mut input) = program.stdin.take() {
            // One that does not read it is not interested.
            let _ = input.write_all(text.as_bytes());
        }
        self.worker = Some(Worker { turn, program, output, printed: Vec::new() });
        Ok(())
    }

    /// Takes what the program that works has printed, or its end.
    fn hear(&mut self) -> io::Result<()> {
        let Some(worker) = &mut self.worker else { return Ok(()) };
        let mut bytes = [0; READ_BYTES];
        let count = worker.output.read(&mut bytes)?;
        worker.printed.extend_from_slice(&bytes[..count]);
        if count == 0 {
            worker.program.wait()?;
            let answer = String::from_utf8_lossy(&worker.printed).trim().to_owned();
            let turn = worker.turn;
            self.worker = None;
            let now = self.now();
            self.agent.worked(turn, answer, now);
        }
        Ok(())
    }

    /// Does what the agent decided, in its order: the record first, then what can be seen.
    fn perform(&mut self) -> io::Result<Option<Leaving>> {
        let ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        for effect in self.agent.effects() {
            match effect {
                Effect::Record(event) => self.recorder.write(ms, event)?,
                Effect::Print(bytes) => print(&bytes)?,
                Effect::Run { turn, argv, text } => self.begin_work(turn, &argv, &text)?,
                Effect::Leave(leaving) => return Ok(Some(leaving)),
            }
        }
        Ok(None)
    }

    fn draw(&mut self, now: Moment, again: bool) -> io::Result<()> {
        let window = termios::tcgetwinsize(io::stdin())?;
        let size = Size::new(window.ws_col.into(), window.ws_row.into()).unwrap_or(Size::DEFAULT);
        let Some(frame) = self.agent.frame(now, size) else { return Ok(()) };
        if again || self.drawn.as_ref() != Some(&frame) {
            print(&frame.draw(usize::from(size.rows())))?;
            self.drawn = Some(frame);
        }
        Ok(())
    }

    fn leave(&self, leaving: Leaving) -> io::Result<u8> {
        if leaving == Leaving::Crash {
            rustix::process::kill_process(rustix::process::getpid(), Signal::KILL)?;
        }
        print(b"\r\n")?;
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before)?;
        match leaving {
            Leaving::Exit(code) => Ok(code),
            Leaving::Shell => Err(Command::new("/bin/sh").arg("-i").exec()),
            Leaving::Crash => Err(io::Error::other("killed, and still here")),
        }
    }
}

fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}
