//! The agent on a real terminal.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
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
    Session { agent, parser: Parser::new(), recorder, started, drawn: None, before }.run()
}

struct Session {
    agent: Agent,
    parser: Parser,
    recorder: Recorder,
    started: Instant,
    drawn: Option<Frame>,
    before: Termios,
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
            let now = if self.wait(wake)? {
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
            } else {
                self.now()
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

    /// Whether there is input; `false` when the moment came first.
    fn wait(&self, wake: Option<Moment>) -> io::Result<bool> {
        let timeout = wake.map(|wake| {
            let left = wake.since(self.now());
            // One millisecond more than nothing, so that a moment that is all but here does not spin.
            let left = left.max(Duration::from_millis(1));
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
        });
        let stdin = io::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Does what the agent decided, in its order: the record first, then what can be seen.
    fn perform(&mut self) -> io::Result<Option<Leaving>> {
        let ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        for effect in self.agent.effects() {
            match effect {
                Effect::Record(event) => self.recorder.write(ms, event)?,
                Effect::Print(bytes) => print(&bytes)?,
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
