//! What the actor does when it is asked: typing, sizes, signals, kills.

use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::Size;
use ptyard_screen::Modes;
use tokio::sync::oneshot;

use super::Actor;
use super::command::{Command, Killed, KilledBy};
use super::input::Job;
use crate::backend::{ControlError, Removal, Signal, Target};
use crate::intent::Intent;
use crate::observed::TerminalEvent;
use crate::sizes;

/// Most commands handled in one turn, so that output and commands cannot starve each other.
const COMMANDS_PER_TURN: usize = 16;

impl Actor {
    pub(super) fn poll_commands(&mut self, cx: &mut Context<'_>) {
        for _ in 0..COMMANDS_PER_TURN {
            match self.commands.poll_recv(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(command)) => self.follow(command),
                Poll::Ready(None) => {
                    self.close();
                    return;
                }
            }
        }
        cx.waker().wake_by_ref();
    }

    fn follow(&mut self, command: Command) {
        match command {
            Command::Type { typed, cancelled, reply, place } => {
                let tty = self.control.tty_state();
                if let Err(refused) = self.queue.line().check(tty.as_ref(), &typed.bytes) {
                    let _gone = reply.send(Err(refused));
                    return;
                }
                if typed.bytes.iter().any(|byte| matches!(byte, b'\r' | b'\n'))
                    && tty.is_some_and(|tty| !tty.line_mode)
                {
                    self.answers.line_entered();
                }
                self.typed();
                self.queue.push(Job::new(typed, cancelled, reply, place));
            }
            Command::CloseStdin { reply, .. } if self.now.sealed.is_some() => {
                let _gone = reply.send(Err(ControlError::Exited));
            }
            Command::CloseStdin { reply, place } => self.queue.push(Job::Close(reply, place)),
            Command::Resize { size, reply } => {
                let resized = self.resize(size);
                self.publish();
                let _gone = reply.send(resized);
            }
            Command::Signal { signal, target, reply } => {
                let _gone = reply.send(self.signal(signal, target));
            }
            Command::Kill { grace, by, reply } => self.kill(grace, by, Some(reply)),
            Command::Look { scrollback, reply } => self.looks.ask(scrollback, reply),
            Command::TtyState { reply } => {
                let _gone = reply.send(self.control.tty_state());
            }
            Command::Modes { reply } => {
                let _gone = reply.send(self.modes());
            }
            Command::Attend { agent, reply } => {
                let _gone = reply.send(self.attend(*agent, self.clock.now()));
            }
            Command::Dispatch { mail, reply } => {
                self.typed();
                self.offer(mail, reply);
            }
            Command::Hurry { haste } => self.hurry(haste, self.clock.now()),
            Command::Hook { told, reply } => {
                self.hooked(told, self.clock.now());
                let _gone = reply.send(());
            }
            Command::JudgeAgain => self.judge_again(self.clock.now()),
            Command::ResetTurns { reply } => {
                self.reset_turns(self.clock.now());
                let _gone = reply.send(());
            }
            Command::Explain { reply } => {
                let _gone = reply.send(self.explain(self.clock.now()));
            }
            Command::Close => self.close(),
        }
    }

    pub(super) fn signal(&mut self, signal: Signal, target: Target) -> Result<(), ControlError> {
        if self.now.sealed.is_some() {
            return Err(ControlError::Exited);
        }
        // The group in the foreground is the program's own unless it gave the foreground to another.
        let reaches_program =
            target == Target::Program || self.control.tty_state().is_none_or(|tty| tty.program_in_foreground);
        self.control.signal(signal, target)?;
        if reaches_program {
            self.signalled = Some(signal.0);
            self.note(&Intent::Signal(signal.0));
        }
        Ok(())
    }

    pub(super) fn resize(&mut self, size: Size) -> Result<(), ControlError> {
        if self.now.sealed.is_some() {
            return Err(ControlError::Exited);
        }
        self.control.resize(size)?;
        self.resized(size);
        Ok(())
    }

    /// Follows a size that somebody else has set.
    pub(super) fn poll_size(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(size) = self.control.poll_size(cx) {
            if size != self.now.size && self.now.sealed.is_none() {
                self.resized(size);
            }
        }
    }

    pub(super) fn resized(&mut self, size: Size) {
        self.now.size = size;
        self.observed.lock().sizes.push((self.now.end, size));
        if let Err(error) = sizes::note(self.reader.dir(), self.now.end, size) {
            tracing::warn!(%error, "a size is not written down: a screen after a restart may be wrong");
        }
        self.observer.event(TerminalEvent::Resized(size));
    }

    /// The modes in force for whoever reads now. A program that was killed leaves its request for bracketed paste
    /// behind: it does not hold for another group in the foreground, nor in line mode, where nobody reads brackets.
    pub(super) fn modes(&mut self) -> Modes {
        let mut modes = self.scanner.modes().clone();
        if modes.bracketed_paste
            && let Some(tty) = self.control.tty_state()
        {
            let (_, asker) = self.paste_asked;
            modes.bracketed_paste = !tty.line_mode && (asker.is_none() || asker == tty.foreground_group);
        }
        modes
    }

    pub(super) fn kill(&mut self, grace: Duration, by: KilledBy, reply: Option<oneshot::Sender<Killed>>) {
        if !self.end.is_reaped() {
            let by = self.killed_by.get_or_insert(by).clone();
            self.note(&Intent::Kill(by));
        }
        let kill = self.control.kill(grace);
        self.kills.push((kill, reply));
    }

    /// Writes down what was done, for the next server. A program that nobody can take over needs no note, but whether
    /// it is one is not known here.
    pub(super) fn note(&self, intent: &Intent) {
        if let Err(error) = intent.note(self.reader.dir()) {
            tracing::debug!(%error, "what may end a program is not written down");
        }
    }

    pub(super) fn close(&mut self) {
        if !self.closing {
            self.closing = true;
            self.commands.close();
            let is_left = !self.end.is_reaped() || self.control.descendants() > 0;
            if is_left && self.control.removal() == Removal::Ends {
                self.kill(Duration::ZERO, KilledBy("remove"), None);
            }
        }
    }
}
