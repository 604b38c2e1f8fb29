//! The agent as a pure machine: inputs and moments in, effects out.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use ptyard_core::{Moment, Size};

use super::composer::Composer;
use super::config::{AgentConfig, Burst, DialogConfig, Ending, Osc7501, Outcome, Show, WhileBusy};
use super::frame::{Frame, Page};
use super::input::Input;
use super::record::Event;
use super::report::{self, Report};
use super::turn::Turn;

/// Something the agent does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A line of the record.
    Record(Event),
    /// Bytes to print besides the screen.
    Print(Vec<u8>),
    /// Has this program do the work of the turn with this number; [`Agent::worked`] is told what it printed.
    Run {
        /// The turn.
        turn: usize,
        /// The program and its arguments.
        argv: Vec<String>,
        /// Its input.
        text: String,
    },
    /// It leaves; nothing comes after this.
    Leave(Leaving),
}

/// How it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// It cleans up and exits with this code.
    Exit(u8),
    /// It is killed by a signal, and cleans nothing up.
    Crash,
    /// It becomes a shell.
    Shell,
}

/// An agent.
///
/// # Invariants
/// 1. After [`Effect::Leave`] it does nothing any more.
/// 2. Every submitted message is recorded once, when its turn begins.
#[derive(Debug)]
pub struct Agent {
    config: AgentConfig,
    phase: Phase,
    composer: Composer,
    transcript: Vec<String>,
    waiting: VecDeque<String>,
    dialogs: VecDeque<DialogConfig>,
    /// Turns that began.
    turns: usize,
    answered: bool,
    report: Option<Report>,
    typed: Option<Arrival>,
    pasted: Option<Arrival>,
    effects: Vec<Effect>,
}

/// When something came, and with which read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrival {
    at: Moment,
    read: u64,
}

#[derive(Debug)]
enum Phase {
    Booting { false_start: Option<Moment>, until: Moment },
    Composing { dialog_at: Option<Moment> },
    Dialog { open: Dialog, turn: Option<Turn> },
    Turn(Turn),
    Left,
}

#[derive(Debug)]
struct Dialog {
    config: DialogConfig,
    marked: usize,
    since: Moment,
}

impl Agent {
    /// An agent that starts at `now`.
    #[must_use]
    pub fn new(config: AgentConfig, now: Moment) -> Self {
        let boot = Duration::from_millis(config.boot_ms);
        let false_start = Duration::from_millis(config.false_start_ms);
        let until = now + boot + false_start;
        let mut agent = Self {
            composer: Composer::holding(&config.draft),
            phase: Phase::Booting { false_start: (!false_start.is_zero()).then_some(now + boot), until },
            transcript: Vec::new(),
            waiting: VecDeque::new(),
            dialogs: config.dialogs.iter().cloned().collect(),
            turns: 0,
            answered: false,
            report: None,
            typed: None,
            pasted: None,
            effects: Vec::new(),
            config,
        };
        if agent.config.composer.bracketed_paste {
            agent.print(b"\x1b[?2004h");
        }
        if agent.config.screen.alternate {
            agent.print(b"\x1b[?1049h");
        }
        if agent.config.status.osc7501 == Osc7501::Asks {
            agent.print(report::QUESTION);
        }
        agent.tick(now);
        agent
    }

    /// What was done since the last call.
    pub fn effects(&mut self) -> Vec<Effect> {
        mem::take(&mut self.effects)
    }

    /// The next moment at which [`tick`](Self::tick) has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Moment> {
        match &self.phase {
            Phase::Booting { false_start, until } => Some(false_start.unwrap_or(*until)),
            Phase::Composing { dialog_at } => *dialog_at,
            Phase::Turn(turn) => turn.ask_at.into_iter().chain(turn.done_at).chain([turn.ends]).min(),
            Phase::Dialog { .. } | Phase::Left => None,
        }
    }

    /// The next moment at which the screen is another, or is drawn again, without any event.
    #[must_use]
    pub fn redraw(&self, now: Moment) -> Option<Moment> {
        let noise = match self.config.screen.noise_ms {
            0 => None,
            ms => Some(now + Duration::from_millis(ms)),
        };
        let turn = match &self.phase {
            Phase::Turn(turn) if turn.plan.show == Show::Nothing => return None,
            Phase::Turn(turn) => turn.next_frame(now),
            _ => None,
        };
        noise.into_iter().chain(turn).min()
    }

    /// Whether the same screen is drawn again.
    #[must_use]
    pub const fn is_noisy(&self) -> bool {
        self.config.screen.noise_ms > 0
    }

    /// Does what is due at `now`.
    pub fn tick(&mut self, now: Moment) {
        while self.deadline().is_some_and(|due| due <= now) {
            match mem::replace(&mut self.phase, Phase::Left) {
                Phase::Booting { false_start: Some(_), until } => {
                    self.tell(Report::Working, "");
                    self.phase = Phase::Booting { false_start: None, until };
                }
                Phase::Booting { false_start: None, .. } => {
                    self.record(Event::Ready);
                    self.compose(now);
                }
                Phase::Composing { .. } => {
                    if let Some(dialog) = self.dialogs.pop_front() {
                        self.open(dialog, None, now);
                    } else {
                        self.compose(now);
                    }
                }
                Phase::Turn(mut turn) if turn.done_at.is_some_and(|at| at <= now && at < turn.ends) => {
                    turn.done_at = None;
                    self.phase = Phase::Turn(turn);
                    self.tell(Report::Done, "");
                }
                Phase::Turn(mut turn) => match (turn.ask_at.take(), turn.plan.ask.clone()) {
                    (Some(at), Some(ask)) if at <= turn.ends => self.open(ask, Some(turn), now),
                    _ => self.end_turn(&turn, now),
                },
                phase @ (Phase::Dialog { .. } | Phase::Left) => {
                    self.phase = phase;
                    return;
                }
            }
        }
    }

    /// Takes one input of the read with this number.
    pub fn input(&mut self, input: Input, read: u64, now: Moment) {
        if input == Input::StatusAnswer {
            self.answered = true;
            self.record(Event::StatusAnswered);
            if let Some(report) = self.report {
                self.tell(report, "");
            }
            return;
        }
        match mem::replace(&mut self.phase, Phase::Left) {
            Phase::Booting { false_start, until } => {
                self.phase = Phase::Booting { false_start, until };
                self.discard("boot", &input);
            }
            Phase::Dialog { open, turn } => self.dialog_input(open, turn, &input, now),
            Phase::Composing { dialog_at } => {
                if self.report == Some(Report::Done) {
                    self.tell(Report::Idle, "");
                }
                self.phase = Phase::Composing { dialog_at };
                self.compose_input(input, Arrival { at: now, read });
            }
            Phase::Turn(turn) => match input {
                Input::Escape | Input::Interrupt => self.interrupt(&turn, now),
                other => {
                    self.phase = Phase::Turn(turn);
                    self.compose_input(other, Arrival { at: now, read });
                }
            },
            Phase::Left => {}
        }
        self.tick(now);
    }

    /// A program that works for a turn has ended, and printed this. A turn that is over does not hear of it.
    pub fn worked(&mut self, number: usize, answer: String, now: Moment) {
        if let Phase::Turn(turn) | Phase::Dialog { turn: Some(turn), .. } = &mut self.phase
            && turn.number == number
        {
            turn.plan.answer = answer;
            turn.ends = now;
        }
        self.tick(now);
    }

    /// The terminal is gone, or its input has ended.
    pub fn hang_up(&mut self) {
        if matches!(self.phase, Phase::Left) {
            return;
        }
        self.leave(Leaving::Exit(0));
    }

    fn compose(&mut self, now: Moment) {
        let dialog_at = self.dialogs.front().map(|dialog| now + Duration::from_millis(dialog.after_ms));
        self.phase = Phase::Composing { dialog_at };
        if self.report != Some(Report::Done) && self.report != Some(Report::Error) {
            self.tell(Report::Idle, "");
        }
        if dialog_at.is_none()
            && let Some(text) = self.waiting.pop_front()
        {
            self.submit(text, now);
        }
    }

    fn compose_input(&mut self, input: Input, arrival: Arrival) {
        match input {
            Input::Text(c) => {
                self.composer.push_str(c.encode_utf8(&mut [0; 4]));
                self.typed = Some(arrival);
            }
            Input::LineBreak => self.composer.push_str("\n"),
            Input::Paste(text) => {
                let folded = self.composer.paste(&text, self.config.composer.fold_lines);
                self.record(Event::Pasted { characters: text.chars().count(), folded });
                self.pasted = Some(arrival);
                self.typed = None;
            }
            Input::Enter => self.enter(arrival),
            Input::Clear | Input::Interrupt => {
                self.composer.clear();
                self.record(Event::Cleared);
            }
            Input::Backspace => self.composer.backspace(),
            Input::EndOfInput if self.composer.is_empty() => self.leave(Leaving::Exit(0)),
            Input::Escape | Input::Up | Input::Down | Input::EndOfInput | Input::StatusAnswer => {}
            Input::Other(bytes) => self.record(Event::Key { bytes: bytes.escape_ascii().to_string() }),
        }
    }

    fn enter(&mut self, arrival: Arrival) {
        let typed = within(self.config.composer.burst, self.typed, arrival);
        let pasted = within(self.config.composer.after_paste, self.pasted, arrival);
        if typed || pasted {
            self.composer.push_str("\n");
            self.record(Event::LineBreakByBurst);
            return;
        }
        (self.typed, self.pasted) = (None, None);
        if self.composer.is_empty() {
            self.record(Event::EmptyEnter);
            return;
        }
        if matches!(self.phase, Phase::Composing { .. }) {
            let text = self.composer.take();
            if text == "/quit" {
                return self.leave(Leaving::Exit(0));
            }
            return self.submit(text, arrival.at);
        }
        match self.config.composer.while_busy {
            WhileBusy::Keep => {}
            WhileBusy::Queue => {
                let text = self.composer.take();
                self.record(Event::Queued { text: text.clone() });
                self.waiting.push_back(text);
            }
            WhileBusy::Discard => {
                let text = self.composer.take();
                self.record(Event::Discarded { during: "busy".to_owned(), text });
            }
        }
    }

    fn submit(&mut self, text: String, now: Moment) {
        let plan = self.config.turn(self.turns).clone();
        self.turns += 1;
        self.record(Event::Submitted { turn: self.turns, text: text.clone() });
        self.say(&format!("> {text}"));
        let ends = now + Duration::from_millis(plan.busy_ms);
        if !plan.run.is_empty() {
            let (turn, argv, text) = (self.turns, plan.run.clone(), text.clone());
            self.effects.push(Effect::Run { turn, argv, text });
        }
        let ask_at = plan.ask.as_ref().map(|ask| now + Duration::from_millis(ask.after_ms));
        let done_at = (plan.done_early_ms > 0)
            .then(|| now + Duration::from_millis(plan.busy_ms.saturating_sub(plan.done_early_ms)));
        self.phase = Phase::Turn(Turn { number: self.turns, text, plan, began: now, ends, ask_at, done_at });
        self.tell(Report::Working, "");
    }

    fn end_turn(&mut self, turn: &Turn, now: Moment) {
        let how = match turn.plan.end {
            Ending::Answer => "answer",
            Ending::Error => "error",
            Ending::Crash => return self.leave(Leaving::Crash),
            Ending::Exit(code) => return self.leave(Leaving::Exit(code)),
            Ending::Shell => return self.leave(Leaving::Shell),
        };
        if turn.plan.end == Ending::Error {
            self.say("■ API Error: 500 the model is not there");
            self.tell(Report::Error, "API Error: 500");
        } else {
            self.say(&format!("• {}", turn.plan.answer.replace("{text}", &turn.text)));
            if turn.plan.done_early_ms == 0 {
                self.tell(Report::Done, "");
            }
        }
        self.record(Event::TurnEnded { turn: turn.number, how: how.to_owned() });
        self.compose(now);
    }

    fn interrupt(&mut self, turn: &Turn, now: Moment) {
        self.say("■ interrupted");
        self.record(Event::TurnEnded { turn: turn.number, how: "interrupted".to_owned() });
        if self.config.composer.restore {
            self.composer = Composer::holding(&turn.text);
        }
        self.tell(Report::Idle, "");
        self.compose(now);
    }

    fn open(&mut self, config: DialogConfig, turn: Option<Turn>, now: Moment) {
        self.record(Event::DialogOpened { text: config.text.clone() });
        self.tell(Report::Blocked, &config.text.clone());
        let marked = config.marked.min(config.choices.len().saturating_sub(1));
        self.phase = Phase::Dialog { open: Dialog { config, marked, since: now }, turn };
    }

    fn dialog_input(&mut self, mut open: Dialog, turn: Option<Turn>, input: &Input, now: Moment) {
        let last = open.config.choices.len().saturating_sub(1);
        let chosen = match input {
            Input::Enter => Some(open.marked),
            Input::Text(c) => c.to_digit(10).and_then(|n| (n as usize).checked_sub(1)).filter(|n| *n <= last),
            _ => None,
        };
        if let Some(choice) = chosen.and_then(|n| open.config.choices.get(n)) {
            self.record(Event::Chosen { label: choice.label.clone() });
            return self.choose(choice.does, turn, open.since, now);
        }
        match input {
            Input::Up => open.marked = open.marked.saturating_sub(1),
            Input::Down => open.marked = (open.marked + 1).min(last),
            other => self.discard("dialog", other),
        }
        self.phase = Phase::Dialog { open, turn };
    }

    fn choose(&mut self, does: Outcome, turn: Option<Turn>, since: Moment, now: Moment) {
        match (does, turn) {
            (Outcome::Exit, _) => self.leave(Leaving::Exit(1)),
            (Outcome::Proceed, Some(mut turn)) => {
                turn.ends = turn.ends + now.since(since);
                self.phase = Phase::Turn(turn);
                self.tell(Report::Working, "");
            }
            (Outcome::Reject, Some(turn)) => {
                self.say("■ not allowed");
                self.record(Event::TurnEnded { turn: turn.number, how: "rejected".to_owned() });
                self.tell(Report::Done, "");
                self.compose(now);
            }
            (Outcome::Proceed | Outcome::Reject, None) => self.compose(now),
        }
    }

    fn leave(&mut self, leaving: Leaving) {
        if leaving != Leaving::Crash {
            self.tell(Report::Clear, "");
            self.print(b"\x1b[?2004l");
            if self.config.screen.alternate {
                self.print(b"\x1b[?1049l");
            }
        }
        let how = match leaving {
            Leaving::Exit(code) => format!("exit {code}"),
            Leaving::Crash => "crash".to_owned(),
            Leaving::Shell => "shell".to_owned(),
        };
        self.record(Event::Left { how });
        self.effects.push(Effect::Leave(leaving));
        self.phase = Phase::Left;
    }

    fn discard(&mut self, during: &str, input: &Input) {
        let text = match input {
            Input::Text(c) => c.to_string(),
            Input::Paste(text) => text.clone(),
            other => format!("{other:?}"),
        };
        self.record(Event::Discarded { during: during.to_owned(), text });
    }

    fn tell(&mut self, report: Report, message: &str) {
        self.report = Some(report);
        let bytes = report::bytes(report, message, &self.config.status, self.answered);
        if !bytes.is_empty() {
            self.record(Event::Reported { state: format!("{report:?}").to_lowercase() });
            self.print(&bytes);
        }
    }

    fn say(&mut self, text: &str) {
        if self.config.screen.transcript {
            self.transcript.extend(text.lines().map(str::to_owned));
        }
    }

    fn record(&mut self, event: Event) {
        self.effects.push(Effect::Record(event));
    }

    fn print(&mut self, bytes: &[u8]) {
        self.effects.push(Effect::Print(bytes.to_vec()));
    }

    /// What is on the screen at `now`; `None` when nothing may be printed.
    #[must_use]
    pub fn frame(&self, now: Moment, size: Size) -> Option<Frame> {
        let mut page = Page::new(usize::from(size.cols()));
        page.line("scripted agent");
        self.transcript.iter().for_each(|line| page.line(line));
        match &self.phase {
            Phase::Booting { .. } => page.line("starting..."),
            Phase::Dialog { open, .. } => {
                page.line("");
                page.line(&open.config.text);
                for (at, choice) in open.config.choices.iter().enumerate() {
                    let mark = if at == open.marked { '❯' } else { ' ' };
                    page.line(&format!("{mark} {}. {}", at + 1, choice.label));
                }
                page.line("Enter to choose");
            }
            Phase::Composing { .. } => self.draw_composer(&mut page, None),
            Phase::Turn(turn) if turn.plan.show == Show::Nothing => return None,
            Phase::Turn(turn) => {
                let shown = self.config.status.screen && !turn.flashes(now);
                let working = shown.then(|| turn.working(now));
                self.draw_composer(&mut page, working.as_deref());
            }
            Phase::Left => return None,
        }
        Some(page.into_frame())
    }

    fn draw_composer(&self, page: &mut Page, working: Option<&str>) {
        page.line(working.unwrap_or(""));
        for (at, line) in self.composer.shown().split('\n').enumerate() {
            page.line(&format!("{} {line}", if at == 0 { '>' } else { ' ' }));
        }
        page.footer("  ? for help");
    }
}

fn within(burst: Burst, before: Option<Arrival>, arrival: Arrival) -> bool {
    let Some(before) = before else { return false };
    match burst {
        Burst::Never => false,
        Burst::SameRead => before.read == arrival.read,
        Burst::WithinMs(ms) => {
            before.read == arrival.read || arrival.at.since(before.at) < Duration::from_millis(ms)
        }
    }
}

#[cfg(test)]
mod tests;
