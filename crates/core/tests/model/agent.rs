//! The agent as it really is, and what it prints. Nobody but the model sees it.

use ptyard_core::turn::{AttemptId, Sight, Status};

/// What the agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    Idle,
    Completed,
    Busy,
    /// It asks something in the midst of a turn.
    Dialog,
}

/// Something typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Input {
    Paste(AttemptId),
    Enter(AttemptId),
    HumanText,
    HumanEnter,
    HumanClear,
    Answer,
    Interrupt,
}

/// One thing printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Frame {
    /// A report of its own (native).
    Report(Status),
    /// A picture of its screen.
    Screen(Status, Sight),
}

/// Which ways an agent has to show its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Manners {
    /// It reports its state.
    pub(crate) reports: bool,
    /// Its transcript shows what was submitted.
    pub(crate) transcript: bool,
    /// It takes the next text into its queue while it works.
    pub(crate) queues: bool,
    /// It swallows this many Enters (takes them for a part of the paste).
    pub(crate) swallows: u8,
    /// It draws first and reports then.
    pub(crate) draws_first: bool,
    /// It may say again what it reported last, this often.
    pub(crate) repeats: u8,
    /// It may show a dialog this often.
    pub(crate) dialogs: u8,
}

/// The agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Agent {
    pub(crate) manners: Manners,
    pub(crate) mode: Mode,
    pub(crate) composer: Vec<Input>,
    /// Typed and not read yet.
    pub(crate) unread: Vec<Input>,
    /// Texts it took, in order.
    pub(crate) submitted: Vec<AttemptId>,
    /// Texts that wait for the end of the turn.
    pub(crate) queued: u8,
    /// Printed and not read yet.
    pub(crate) pipe: Vec<Frame>,
    last: (Option<Status>, Option<Frame>),
}

impl Agent {
    pub(crate) fn new(manners: Manners) -> Self {
        Self {
            manners,
            mode: Mode::Idle,
            composer: Vec::new(),
            unread: Vec::new(),
            submitted: Vec::new(),
            queued: 0,
            pipe: Vec::new(),
            last: (Some(Status::Idle), Some(Frame::Screen(Status::Idle, Sight::Empty))),
        }
    }

    /// Whether all that was typed was read, and nothing stands in the composer.
    pub(crate) fn is_clear(&self) -> bool {
        self.unread.is_empty() && self.composer.is_empty()
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.mode, Mode::Idle | Mode::Completed)
    }

    pub(crate) fn status(&self) -> Status {
        match self.mode {
            Mode::Idle => Status::Idle,
            Mode::Completed => Status::Completed,
            Mode::Busy => Status::Processing,
            Mode::Dialog => Status::WaitingUserAnswer,
        }
    }

    fn sight(&self) -> Sight {
        match self.composer[..] {
            _ if self.mode == Mode::Dialog => Sight::Unseen,
            [] => match self.submitted.last() {
                Some(last) if self.manners.transcript => Sight::Submitted(*last),
                _ => Sight::Empty,
            },
            [Input::Paste(attempt)] => Sight::Ours(attempt),
            _ => Sight::Draft,
        }
    }

    /// Prints what changed.
    fn draw(&mut self) {
        let status = self.status();
        let frame = Frame::Screen(status, self.sight());
        let report = (self.manners.reports && self.last.0 != Some(status)).then_some(Frame::Report(status));
        let picture = (self.last.1 != Some(frame)).then_some(frame);
        let news = if self.manners.draws_first { [picture, report] } else { [report, picture] };
        self.pipe.extend(news.into_iter().flatten());
        self.last = (Some(status), Some(frame));
    }

    /// Says again what it reported last.
    pub(crate) fn repeat(&mut self) {
        self.manners.repeats -= 1;
        self.pipe.push(Frame::Report(self.status()));
    }

    /// Reads the next thing typed.
    pub(crate) fn read(&mut self) {
        match self.unread.remove(0) {
            Input::Answer if self.mode == Mode::Dialog => self.mode = Mode::Busy,
            Input::Answer => {}
            input if self.mode == Mode::Dialog => {
                match input {
                    Input::Enter(_) | Input::HumanEnter => self.mode = Mode::Busy,
                    // What stops a turn says no to a question.
                    Input::Interrupt => self.mode = Mode::Completed,
                    _ => {}
                }
            }
            Input::Interrupt if self.mode == Mode::Busy => self.mode = Mode::Completed,
            Input::Interrupt => {}
            text @ (Input::Paste(_) | Input::HumanText) => self.composer.push(text),
            Input::HumanClear => self.composer.retain(|input| *input != Input::HumanText),
            Input::Enter(_) if self.manners.swallows > 0 => self.manners.swallows -= 1,
            Input::Enter(_) | Input::HumanEnter => self.submit(),
        }
        self.draw();
    }

    fn submit(&mut self) {
        if self.composer.is_empty() || (self.mode == Mode::Busy && !self.manners.queues) {
            return;
        }
        for input in self.composer.drain(..) {
            if let Input::Paste(attempt) = input {
                self.submitted.push(attempt);
            }
        }
        if self.mode == Mode::Busy {
            self.queued += 1;
        }
        self.mode = Mode::Busy;
    }

    /// Ends the turn, or goes on with what was queued.
    pub(crate) fn finish(&mut self) {
        if self.queued > 0 {
            self.queued -= 1;
        } else {
            self.mode = Mode::Completed;
        }
        self.draw();
    }

    pub(crate) fn ask(&mut self) {
        self.manners.dialogs -= 1;
        self.mode = Mode::Dialog;
        self.draw();
    }
}
