//! Looking: when the screen is judged, and what is told of it.

use ptyard_core::Moment;
use ptyard_core::turn::{Event, Evidence, Position, Rule, Sight, Source, Status};
use ptyard_screen::frames::Frame;
use ptyard_screen::{Scanner, Signal};

use super::super::Actor;
use crate::agent::{ShellIs, sight};
use crate::backend::TtyState;

/// A shell that runs a command works, whatever stands on the screen.
const COMMAND_RUNS: Rule = Rule::named("foreground.command");

/// Most bytes of an earlier log that are searched for reports and titles: a few milliseconds.
const READ_AGAIN_BYTES: u64 = 8 << 20;

/// Bytes read at a time.
const PIECE_BYTES: usize = 64 << 10;

impl Actor {
    /// A sequence was seen in the output. What a program says by itself is told at once and in order: two reports that
    /// come together are two.
    pub(in super::super) fn tell_signal(&mut self, signal: &Signal, now: Moment) {
        let Some(attended) = &mut self.attended else { return };
        attended.judge.signal(signal, now);
        self.tell_verdict(now);
    }

    /// Judges what the log holds of before the agent was known here.
    pub(super) fn judge_the_past(&mut self, now: Moment) {
        let bounds = self.reader.bounds();
        let mut at = bounds.start.max(bounds.end.saturating_sub(READ_AGAIN_BYTES));
        let mut scanner = if at > 0 { Scanner::starting_at(at) } else { Scanner::new() };
        let (mut piece, mut signals) = (Vec::new(), Vec::new());
        while at < bounds.end {
            piece.clear();
            let Ok(read) = self.reader.read(at, PIECE_BYTES, &mut piece) else { break };
            if piece.is_empty() {
                break;
            }
            scanner.scan(read.from, &piece, &mut |signal| signals.push(signal));
            at = read.from + piece.len() as u64;
            for signal in signals.drain(..) {
                self.tell_signal(&signal, now);
            }
        }
        self.look_now(now);
    }

    /// When the screen is to be judged: it changed, and has come to rest or has not for long.
    pub(super) fn look_at(&self) -> Option<Moment> {
        self.attended.as_ref()?.clocks.frames.due()
    }

    pub(super) fn look_if_due(&mut self, now: Moment) {
        let (end, update_ended_at) = (self.now.end, self.scanner.update_ended_at());
        let Some(attended) = &mut self.attended else { return };
        if end > attended.seen.printed {
            attended.seen.printed = end;
            attended.clocks.settled = false;
            let frame = if update_ended_at == end { Frame::Whole } else { Frame::Open };
            attended.clocks.frames.changed(frame, now);
            attended.judge.printed(end, now);
        }
        let is_verdict_due = attended.clocks.verdict.is_some_and(|at| at <= now);
        // What is about to count has to stand there still.
        let has_changed = is_verdict_due && attended.clocks.frames.has_changed();
        if has_changed || self.look_at().is_some_and(|at| at <= now) {
            self.look_now(now);
        } else if is_verdict_due {
            self.tell_verdict(now);
        }
    }

    /// Judges the screen as it is at the end of the log.
    pub(super) fn look_now(&mut self, now: Moment) {
        let Some((view, offset)) = self.view_now(now) else { return };
        let held_until = self.looks.held_until();
        let end = self.now.end;
        let Some(attended) = &mut self.attended else { return };
        attended.clocks.frames.looked(held_until, now);
        if attended.machine.pausing().is_some() {
            attended.clocks.pasted_at.get_or_insert(now);
        }
        if end > attended.seen.printed {
            attended.judge.printed(end, now);
            attended.seen.printed = end;
        }
        attended.judge.look(&view, offset, now);
        attended.seen.view = Some(view);
        attended.seen.offset = offset;
        self.tell_verdict(now);
    }

    /// Tells the machine what is new in what the judge says.
    fn tell_verdict(&mut self, now: Moment) {
        let Some(attended) = &mut self.attended else { return };
        let verdict = attended.judge.verdict(now);
        attended.clocks.verdict = verdict.until.filter(|until| *until > now);
        let waits_for_enter = attended.machine.waits_for_enter();
        let sight = match (&mut attended.pasted, &attended.seen.view) {
            (Some(pasted), Some(view)) => {
                if waits_for_enter {
                    pasted.waits_for_enter(&verdict.composer, view);
                }
                pasted.sight(&verdict.composer, view)
            }
            _ => sight::plain(&verdict.composer),
        };
        if matches!(sight, Sight::Ours(_)) {
            attended.clocks.echoed_at.get_or_insert(now);
        }
        let runs_a_command = attended.recipe.shell == ShellIs::TheAgent
            && self.control.tty_state().is_some_and(|tty| attended.seen.runs_a_command(tty));
        let mut news = Vec::new();
        for mut evidence in verdict.evidence {
            if evidence.source == Source::Screen {
                // A command can print what looks like a prompt; the kernel knows whose turn it is.
                if runs_a_command && evidence.status.is_ready() {
                    (evidence.status, evidence.rule) = (Status::Processing, COMMAND_RUNS);
                }
                let at = Position::Offset(attended.seen.offset);
                evidence = evidence.seeing_at(sight, at);
            }
            if attended.seen.is_news(&evidence) {
                news.push(Event::Seen(evidence));
            }
        }
        self.step(news, now);
    }
}

impl super::Seen {
    /// Whether a shell runs a command, by what the kernel knows of its tty: another group is in the foreground, or the
    /// settings are not those of the shell's line editor, if it has one. What it runs itself has no group of its own.
    fn runs_a_command(&mut self, tty: TtyState) -> bool {
        self.has_line_editor |= tty.line_editor;
        !tty.program_in_foreground || (self.has_line_editor && !tty.line_editor)
    }

    /// Whether this was not told already, word for word; notes that it is told now.
    fn is_news(&mut self, evidence: &Evidence) -> bool {
        match self.told.iter_mut().find(|told| told.source == evidence.source) {
            Some(told) if told == evidence => false,
            Some(told) => {
                told.clone_from(evidence);
                true
            }
            None => {
                self.told.push(evidence.clone());
                true
            }
        }
    }
}
