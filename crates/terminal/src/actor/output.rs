//! Reading output: straight from the program into the log, with the side parser looking on.

use std::task::{Context, Poll};
use std::time::Duration;

use ptyard_core::Moment;
use ptyard_screen::scan::{Clipboard, PromptMark, Query};
use ptyard_screen::{Event, Signal};

use super::Actor;
use crate::backend::{Io, Questions};
use crate::log::FillError;
use crate::observed::TerminalEvent;

/// Bytes read in one turn before commands and input get their turn again.
const BYTES_PER_TURN: usize = 256 * 1024;

/// How long to wait before a log that could not be written is tried again. Programs block meanwhile; nothing is lost.
const RETRY: Duration = Duration::from_millis(250);

/// Which of the things that were seen nobody has heard of and answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// All.
    All,
    /// Those that end behind this offset.
    After(u64),
}

impl Actor {
    /// Reads until the program has nothing more right now, or the turn's share is used up.
    pub(super) fn poll_output(&mut self, cx: &mut Context<'_>, now: Moment) {
        if self.held_back.is_some() && !self.try_resume(now) {
            return;
        }
        let before = self.now.end;
        while let Some(source) = &mut self.source {
            if self.now.end - before >= BYTES_PER_TURN as u64 {
                cx.waker().wake_by_ref();
                break;
            }
            let at = self.now.end;
            let scanner = matches!(self.io, Io::Tty(_)).then_some(&mut self.scanner);
            let signals = &mut self.signals;
            let filled = self.log.poll_fill(|free| {
                let read = source.poll_read(cx, free);
                if let (Poll::Ready(Ok(n)), Some(scanner)) = (&read, scanner) {
                    scanner.scan(at, &free[..*n], &mut |signal| signals.push(signal));
                }
                read
            });
            match filled {
                Poll::Pending => break,
                Poll::Ready(Ok(0)) => self.source_closed(),
                Poll::Ready(Ok(n)) => {
                    self.now.end += n as u64;
                    self.take_signals(News::All);
                }
                Poll::Ready(Err(FillError::Blocked(error))) => {
                    self.hold_back(error.to_string(), now);
                    break;
                }
                Poll::Ready(Err(FillError::Read(error))) => {
                    tracing::debug!(%error, "the program's output ended with an error");
                    self.source_closed();
                }
            }
        }
        if self.now.end > before {
            self.now.last_output = Some(now);
            self.end.output(now);
        }
    }

    fn source_closed(&mut self) {
        self.source = None;
        self.end.output_closed();
    }

    fn hold_back(&mut self, why: String, now: Moment) {
        if self.now.held_back.is_none() {
            self.observer.event(TerminalEvent::HeldBack(why.clone()));
        }
        self.now.held_back = Some(why);
        self.held_back = Some(now + RETRY);
    }

    /// Tries the log again when its time has come; whether reading may go on.
    fn try_resume(&mut self, now: Moment) -> bool {
        if self.held_back.is_some_and(|retry| now < retry) {
            return false;
        }
        match self.log.flush() {
            Ok(()) => {
                self.held_back = None;
                self.now.held_back = None;
                self.observer.event(TerminalEvent::Resumed);
                true
            }
            Err(error) => {
                self.hold_back(error.to_string(), now);
                false
            }
        }
    }

    /// Follows what the side parser saw.
    pub(super) fn take_signals(&mut self, news: News) {
        let asked_at = self.scanner.paste_mode_asked_at();
        if asked_at != self.paste_asked.0 {
            self.paste_asked = (asked_at, self.control.tty_state().and_then(|tty| tty.foreground_group));
        }
        if self.signals.is_empty() {
            return;
        }
        let mut signals = std::mem::take(&mut self.signals);
        for signal in signals.drain(..) {
            if self.attended.is_some() && is_about_the_agent(&signal.event) {
                self.tell_signal(&signal, self.clock.now());
            }
            let Signal { at, event } = signal;
            let is_news = match news {
                News::All => true,
                News::After(offset) => at > offset,
            };
            match event {
                Event::Query(_) | Event::Notification { .. } | Event::Clipboard(Clipboard::Write { .. })
                    if !is_news => {}
                // Places that answer know nothing of status reports, and a program that is not told makes none.
                Event::Query(query)
                    if self.questions == Questions::ThePlaces
                        && !matches!(query, Query::ProgramStatus { .. }) => {}
                Event::Query(query) => {
                    self.answers.asked(at, query, self.control.tty_state(), self.clock.now());
                }
                Event::Prompt(mark) => {
                    if matches!(mark, PromptMark::PromptStart | PromptMark::CommandStart) {
                        self.now.prompt = Some(at);
                        self.answers.line_editor_began();
                    }
                }
                Event::PasteModeSet => self.answers.line_editor_began(),
                Event::Title(title) => {
                    self.observed.lock().title.clone_from(&title);
                    if is_news {
                        self.observer.event(TerminalEvent::Title(title));
                    }
                }
                Event::Cwd { path, .. } => self.observed.lock().cwd = Some(path),
                Event::ProgramStatus(status) => {
                    self.observed.lock().status = Some((at, status.clone()));
                    if is_news {
                        self.observer.event(TerminalEvent::Status(status));
                    }
                }
                Event::Notification { title, body } => {
                    self.observer.event(TerminalEvent::Notification { title, body });
                }
                Event::Clipboard(Clipboard::Write { encoded_len }) => {
                    self.observer.event(TerminalEvent::ClipboardDropped { encoded_len });
                }
                Event::Clipboard(Clipboard::Read) | Event::Bell | Event::Progress(_) | Event::Icon(_) => {}
            }
        }
        self.signals = signals;
    }
}

/// Whether a judge wants to know of it: what a program says of itself.
fn is_about_the_agent(event: &Event) -> bool {
    matches!(event, Event::ProgramStatus(_) | Event::Title(_) | Event::Prompt(_) | Event::Progress(_))
}
