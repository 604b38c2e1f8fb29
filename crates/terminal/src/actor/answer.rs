//! Answering the program's queries: once, in order, and never into a shell that did not ask.
//!
//! A reply is input. It is written only while the tty is in raw mode, because in line mode no program can read a reply
//! (it carries no newline) and the next reader, often a shell, would take it for a command. It is dropped when the line
//! editor of the program in the foreground came back after the question: the asker is gone and the shell is back. A line
//! editor shows itself by its marks, or, without any, by a line that it took in raw mode before the question was printed
//! in line mode: that is how commands are read and run.
//!
//! None of that helps when the question is read late, on a busy machine: then the line editor may be back before it. So
//! who would read the answer is looked at again right before it is written ([`Asker`]). Between that look and the write
//! lie two system calls and no wait.

use std::collections::VecDeque;
use std::time::Duration;

use ptyard_core::Moment;
use ptyard_screen::Query;
use ptyard_screen::reply::{ReplyContext, needs_cursor, reply};

use super::Actor;
use crate::backend::TtyState;

/// Most queries that wait for an answer; of more, the oldest are dropped: who asks so many waits for none.
const WAITING: usize = 64;

/// When a query that came in line mode is looked at again: a script prints the question first and switches to raw
/// mode when it begins to read, a millisecond later; on a busy machine it may take longer.
const LOOKS: [Duration; 4] = [
    Duration::from_millis(5),
    Duration::from_millis(20),
    Duration::from_millis(60),
    Duration::from_millis(150),
];

/// How long a line editor that commands were entered in may take to show that it is back. It switches to raw mode first
/// and draws its prompt then; a question read in between looks as if the line editor had asked it.
const REDRAW: Duration = Duration::from_millis(60);

struct Waiting {
    at: u64,
    query: Query,
    asker: Asker,
    asked: Moment,
    looks: usize,
    /// How often a line editor had begun when it was asked.
    line_editors: u64,
    /// It was asked in line mode, after a line was entered in raw mode: by a command of a line editor.
    by_command: bool,
}

/// Who asked, as far as it can be known: the process group that had the terminal when the question was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Asker(Option<u32>);

impl Asker {
    /// Whether an answer that is written now would reach somebody else: the shell that waited for the asker's end, a line
    /// editor (those that can be told by their settings ask nothing), or whoever reads lines.
    ///
    /// Asked right before the write, not only when the question was read: in between the asker may have ended.
    pub(super) fn is_gone(self, tty: &TtyState) -> bool {
        let gave_back = tty.program_in_foreground && self.0.is_some() && self.0 != tty.foreground_group;
        tty.line_mode || tty.line_editor || gave_back
    }
}

/// The queries that wait for an answer.
#[derive(Default)]
pub(super) struct Answers {
    waiting: VecDeque<Waiting>,
    /// How often a line editor began: a prompt was marked, or bracketed paste was switched on. The first time it may
    /// be a program that starts and asks its questions around it; from the second on it is a shell that is back.
    line_editors: u64,
    /// Whether a line was ever entered in raw mode.
    line_entered: bool,
}

impl Answers {
    pub(super) fn asked(&mut self, at: u64, query: Query, tty: Option<TtyState>, now: Moment) {
        let in_line_mode = tty.is_some_and(|tty| tty.line_mode);
        if self.waiting.len() == WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting {
            at,
            query,
            asker: Asker(tty.and_then(|tty| tty.foreground_group)),
            asked: now,
            looks: 0,
            line_editors: self.line_editors,
            by_command: in_line_mode && self.line_entered,
        });
    }

    pub(super) fn line_entered(&mut self) {
        self.line_entered = true;
    }

    pub(super) fn line_editor_began(&mut self) {
        self.line_editors += 1;
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        let first = self.waiting.front()?;
        LOOKS.get(first.looks).map(|after| first.asked + *after)
    }
}

impl Actor {
    /// Answers what can be answered now. Runs after the output was drained.
    pub(super) fn answer_queries(&mut self, now: Moment) {
        if self.answers.waiting.is_empty() {
            return;
        }
        if self.sink.is_none() || self.end.is_reaped() {
            self.answers.waiting.clear();
            return;
        }
        let Some(tty) = self.control.tty_state() else {
            self.answers.waiting.clear();
            return;
        };
        if tty.line_mode {
            self.look_again_later(now);
            return;
        }
        while let Some(waiting) = self.answers.waiting.pop_front() {
            if waiting.asker.is_gone(&tty) {
                continue;
            }
            let came_back = waiting.by_command
                || (waiting.line_editors > 0 && self.answers.line_editors > waiting.line_editors);
            if came_back && tty.program_in_foreground {
                continue;
            }
            let may_be_back = self.answers.line_entered && waiting.line_editors > 0;
            if may_be_back && tty.program_in_foreground && now < waiting.asked + REDRAW {
                self.answers.waiting.push_front(waiting);
                self.look_again_later(now);
                return;
            }
            // This answer is the question itself: echoed, it would be asked again for good. Who asks has the echo off.
            if tty.echo && matches!(waiting.query, Query::ProgramStatus { .. }) {
                continue;
            }
            let context = self.reply_context(&waiting, now);
            if let Some(bytes) = reply(&waiting.query, &context) {
                self.queue.push_answer(bytes, waiting.asker, self.sink.as_deref());
            }
        }
    }

    fn look_again_later(&mut self, now: Moment) {
        for waiting in &mut self.answers.waiting {
            while LOOKS.get(waiting.looks).is_some_and(|after| waiting.asked + *after <= now) {
                waiting.looks += 1;
            }
        }
        self.answers.waiting.retain(|waiting| waiting.looks < LOOKS.len());
    }

    fn reply_context(&mut self, waiting: &Waiting, now: Moment) -> ReplyContext {
        let cursor = if needs_cursor(&waiting.query) { self.cursor_at(waiting.at, now) } else { None };
        ReplyContext::new(cursor.unwrap_or_default(), self.now.size)
    }
}
