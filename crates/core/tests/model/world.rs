//! The world around a deliverer: a store, callers, a terminal with its lag, an agent, people, and a server that crashes.

use ptyard_core::Moment;
use ptyard_core::turn::{
    AttemptId, Effect, Epoch, Event, Evidence, Foreground, Keys, Outcome, Position, Recovered, Rule, Sight,
    Source, Status, Taken,
};

use crate::agent::{Agent, Frame, Input, Mode};
use crate::chances::{Chances, Enter};
use crate::deliverer::{Deliverer, Store};
use crate::explore::{Chance, Rest, System};
use crate::scenarios::Scenario;

pub(crate) const NOW: Moment = Moment::EPOCH;

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Row {
    Pending,
    Dispatching(AttemptId),
    Delivered(AttemptId, u64),
    Uncertain(AttemptId),
}

/// How far the writing of an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Job {
    Note,
    Noted,
    Paste,
    Pasted,
    Pause,
    Enter,
    Entered { mark: u64 },
}

/// The world.
#[derive(Clone, Hash)]
pub(crate) struct World<D: Deliverer> {
    deliverer: D,
    rows: Vec<Row>,
    pasted: Vec<Option<AttemptId>>,
    /// Somebody will look for mail: a message came, or the deliverer became ready.
    wake: bool,
    next_attempt: u64,
    /// Dispatches on their way to the actor.
    offers: Vec<(AttemptId, usize)>,
    jobs: Vec<(AttemptId, usize, Job)>,
    /// Outcomes on their way to the store.
    outbox: Vec<(AttemptId, Outcome)>,
    note: Option<(AttemptId, u64)>,
    epoch: Epoch,
    agent: Agent,
    log_end: u64,
    /// Reports that stand in the log.
    reports: Vec<(u64, Status)>,
    /// The picture that was read last, and whether it was judged.
    picture: (Status, Sight),
    judged: bool,
    /// The status that was judged last, and of which frame.
    held: (Status, u64),
    chances: Chances,
    shell: bool,
    removed: bool,
    /// A person has said that nothing is under way, and was wrong.
    misled: bool,
    /// Something happened after which an attempt may be uncertain.
    may_doubt: bool,
    /// The turn that was stopped since the last note, which is durable.
    stopped: Option<Epoch>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    CallerClaims,
    WokenClaims,
    ActorTakesOffer(usize),
    NoteIsWritten(usize),
    NotedIsTold(usize),
    PasteIsWritten(usize),
    PasteFails(usize),
    PastedIsTold(usize),
    PauseIsOver(usize),
    EnterIsWritten(usize),
    EnterFails(usize),
    EnteredIsTold(usize),
    Bookkeeping,
    LooksAgain,
    OutcomeIsStored,
    AgentReads,
    AgentFinishes,
    AgentAsks,
    AgentRepeats,
    PersonAnswers,
    FrameIsRead,
    ScreenIsJudged,
    PersonTypes,
    PersonSubmits,
    PersonClears,
    Reset,
    Restart,
    Remove,
    Crash,
    ShellTakesOver,
    ReportsFallSilent,
    UrgentMailComes,
    InterruptIsDue,
    ComposerIsJudged,
}

impl<D: Deliverer> World<D> {
    /// An agent that is ready and known to be, with mail for it.
    pub(crate) fn new(deliverer: D, scenario: &Scenario) -> Self {
        let &Scenario { messages, manners, older, chances, .. } = scenario;
        let mut world = Self {
            deliverer,
            rows: vec![Row::Pending; messages],
            pasted: vec![None; messages],
            wake: true,
            next_attempt: 1,
            offers: Vec::new(),
            jobs: Vec::new(),
            outbox: Vec::new(),
            note: None,
            epoch: Epoch::default(),
            agent: Agent::new(manners),
            log_end: 1,
            reports: Vec::new(),
            picture: (Status::Idle, Sight::Empty),
            judged: true,
            held: (Status::Idle, 1),
            chances,
            shell: false,
            removed: false,
            misled: false,
            may_doubt: false,
            stopped: None,
        };
        if manners.reports {
            world.hear_report(Status::Idle).expect("an idle agent breaks nothing");
        }
        world.judge().expect("an idle agent breaks nothing");
        world.agent.pipe.extend(older);
        world
    }

    fn tell(&mut self, event: Event) -> Result<(), &'static str> {
        let effects = self.deliverer.step(event);
        self.follow(effects)
    }

    fn follow(&mut self, effects: Vec<Effect>) -> Result<(), &'static str> {
        for effect in effects {
            match effect {
                Effect::Note { attempt, epoch } => {
                    self.epoch = epoch;
                    self.set_job(attempt, Job::Note);
                }
                Effect::EraseNote { attempt } => {
                    self.note = self.note.filter(|(noted, _)| *noted != attempt);
                    self.end_job(attempt);
                }
                Effect::Paste { attempt } => self.set_job(attempt, Job::Paste),
                Effect::Enter { attempt } => self.set_job(attempt, Job::Enter),
                Effect::TakeBack { attempt } => self.end_job(attempt),
                Effect::Interrupt { epoch } => self.interrupt(epoch)?,
                Effect::Outcome(attempt, outcome) => {
                    self.check_outcome(attempt, &outcome)?;
                    if matches!(outcome, Outcome::Delivered(_) | Outcome::Refused(_)) {
                        self.end_job(attempt);
                    }
                    self.outbox.push((attempt, outcome));
                }
                Effect::Ready => self.wake = true,
                Effect::Status | Effect::TurnEnded { .. } => {}
            }
        }
        Ok(())
    }

    fn check_outcome(&self, attempt: AttemptId, outcome: &Outcome) -> Result<(), &'static str> {
        let was_pasted = self.pasted.contains(&Some(attempt));
        let was_taken = self.agent.submitted.contains(&attempt);
        match outcome {
            Outcome::Refused(_) if was_pasted => Err("refused although it was written"),
            Outcome::Delivered(_) if self.deliverer.claims_taken() && !was_taken => {
                Err("delivered although it was not taken")
            }
            Outcome::Uncertain(_) if !self.may_doubt => Err("uncertain without a reason"),
            _ => Ok(()),
        }
    }

    fn set_job(&mut self, attempt: AttemptId, job: Job) {
        match self.jobs.iter_mut().find(|(this, ..)| *this == attempt) {
            Some(entry) => entry.2 = job,
            None => {
                let row = self.row_of(attempt).unwrap_or(0);
                self.jobs.push((attempt, row, job));
            }
        }
    }

    fn end_job(&mut self, attempt: AttemptId) {
        self.jobs.retain(|(this, ..)| *this != attempt);
    }

    fn row_of(&self, attempt: AttemptId) -> Option<usize> {
        let offered = self.offers.iter().find(|(this, _)| *this == attempt).map(|(_, row)| *row);
        offered.or_else(|| self.rows.iter().position(|row| *row == Row::Dispatching(attempt)))
    }

    fn hear_report(&mut self, status: Status) -> Result<(), &'static str> {
        self.reports.push((self.log_end, status));
        if self.reports.len() > 2 {
            self.reports.remove(0);
        }
        let position = Position::Offset(self.log_end);
        self.tell(Event::Seen(Evidence::new(Source::Native, position, status, Rule::named("report"))))
    }

    fn judge(&mut self) -> Result<(), &'static str> {
        self.judged = true;
        let (status, sight) = self.picture;
        self.held = (status, self.log_end);
        let evidence =
            Evidence::new(Source::Screen, Position::Offset(self.log_end), status, Rule::named("screen"));
        self.tell(Event::Seen(evidence.seeing(sight)))
    }

    /// A status has to hold for a while before it counts; what stands in the composer counts at once.
    fn judge_composer(&mut self) -> Result<(), &'static str> {
        let (status, at) = self.held;
        let evidence = Evidence::new(Source::Screen, Position::Offset(at), status, Rule::named("screen"));
        self.tell(Event::Seen(evidence.seeing_at(self.picture.1, Position::Offset(self.log_end))))
    }

    fn foreground(&self) -> Event {
        Event::Foreground(if self.shell { Foreground::Shell } else { Foreground::Agent })
    }

    fn claim(&mut self) {
        let is_busy = self.rows.iter().any(|row| matches!(row, Row::Dispatching(_)));
        let store = self.deliverer.store();
        let Some(row) = self.rows.iter().position(|row| *row == Row::Pending) else { return };
        if store == Store::OneAtATime && is_busy {
            return;
        }
        let attempt = AttemptId::new(self.next_attempt);
        self.next_attempt += 1;
        if store != Store::Read {
            self.rows[row] = Row::Dispatching(attempt);
        }
        self.offers.push((attempt, row));
    }

    fn paste(&mut self, attempt: AttemptId, row: usize) -> Result<(), &'static str> {
        if self.shell {
            return Err("I22 typed into a bare shell");
        }
        if self.pasted[row].is_some() {
            return Err("I1 a message was written twice");
        }
        let is_ours = |input: &Input| matches!(input, Input::Paste(_) | Input::Enter(_));
        if !self.misled {
            let unread = self.agent.unread.iter().chain(&self.agent.composer);
            if unread.clone().any(|input| matches!(input, Input::HumanText | Input::HumanEnter)) {
                return Err("a person's draft was mixed with mail");
            }
            if self.jobs.iter().any(|(other, _, job)| *other != attempt && is_between_bytes(*job)) {
                return Err("I2 two writes were interleaved");
            }
            let may_be_busy = self.agent.manners.queues && self.agent.mode == Mode::Busy;
            if self.agent.mode == Mode::Dialog {
                return Err("I21 pasted into a dialog");
            }
            if unread.clone().any(is_ours) || !(self.agent.is_ready() || may_be_busy) {
                return Err("I3 pasted into an open turn");
            }
        }
        let settled = |row: &Row| matches!(row, Row::Delivered(..) | Row::Uncertain(_));
        if (0..row).any(|before| self.pasted[before].is_none() && !settled(&self.rows[before])) {
            return Err("I24 a message was overtaken");
        }
        self.pasted[row] = Some(attempt);
        self.agent.unread.push(Input::Paste(attempt));
        Ok(())
    }

    /// A dialog that opens after it was looked for is nobody's fault; one that was seen is.
    fn interrupt(&mut self, epoch: Epoch) -> Result<(), &'static str> {
        if self.shell {
            return Err("I22 a turn was stopped in a bare shell");
        }
        if self.judged && self.picture.0 == Status::WaitingUserAnswer {
            return Err("I21 a dialog was dismissed to stop a turn");
        }
        let mut on_its_way = self.agent.unread.iter().chain(&self.agent.composer);
        if on_its_way.any(|input| matches!(input, Input::Paste(_) | Input::Enter(_) | Input::HumanText)) {
            return Err("a text was thrown away to stop a turn");
        }
        if self.stopped == Some(epoch) {
            return Err("a turn was stopped twice");
        }
        self.stopped = Some(epoch);
        self.agent.unread.push(Input::Interrupt);
        Ok(())
    }

    fn may_type(&self) -> bool {
        let is_writing = self.jobs.iter().any(|(_, _, job)| !matches!(job, Job::Note | Job::Noted));
        !is_writing && !self.shell && !self.removed
    }

    fn crash(&mut self) -> Result<(), &'static str> {
        self.chances.crashes -= 1;
        self.may_doubt = true;
        self.offers.clear();
        self.jobs.clear();
        self.outbox.clear();
        let mut recovered = Recovered::Nothing;
        for row in &mut self.rows {
            match *row {
                Row::Dispatching(attempt) => match self.note {
                    Some((noted, from)) if noted == attempt => {
                        recovered = Recovered::Noted { attempt, from };
                    }
                    _ => *row = Row::Pending,
                },
                Row::Uncertain(attempt) if self.note.is_some_and(|(noted, _)| noted == attempt) => {
                    recovered = Recovered::Noted { attempt, from: self.note.map_or(0, |(_, from)| from) };
                }
                Row::Delivered(attempt, at) if self.note.is_some_and(|(noted, _)| noted == attempt) => {
                    recovered = Recovered::Taken { attempt, at };
                }
                _ => {}
            }
        }
        self.deliverer = self.deliverer.recover(self.epoch, recovered);
        if self.stopped.is_some() {
            self.deliverer.recover_interrupt();
        }
        self.wake = true;
        let reports = std::mem::take(&mut self.reports);
        for (at, status) in &reports {
            let rule = Rule::named("report");
            self.tell(Event::Seen(Evidence::new(Source::Native, Position::Offset(*at), *status, rule)))?;
        }
        self.reports = reports;
        self.judge()
    }

    fn store_outcome(&mut self) {
        let (attempt, outcome) = self.outbox.remove(0);
        let Some(row) = self
            .rows
            .iter()
            .position(|row| matches!(row, Row::Dispatching(this) | Row::Uncertain(this) if *this == attempt))
        else {
            return;
        };
        self.rows[row] = match outcome {
            Outcome::Refused(_) => Row::Pending,
            Outcome::Delivered(proof) => {
                Row::Delivered(attempt, proof.position.offset().unwrap_or(self.log_end))
            }
            Outcome::Uncertain(_) => Row::Uncertain(attempt),
        };
        // Whoever stores an outcome looks whether there is more to do: the gate may have opened before.
        self.wake |= self.deliverer.is_open();
    }
}

fn is_between_bytes(job: Job) -> bool {
    matches!(job, Job::Pasted | Job::Pause | Job::Enter)
}

impl<D: Deliverer> System for World<D> {
    type Action = Action;

    fn actions(&self, actions: &mut Vec<(Chance, Action)>) {
        use Chance::{Perhaps, Progress};
        if self.removed {
            return;
        }
        let chances = self.chances;
        let mut may = |chance, is_possible: bool, action| {
            if is_possible {
                actions.push((chance, action));
            }
        };
        may(Progress, self.wake, Action::WokenClaims);
        may(Perhaps, chances.callers > 0, Action::CallerClaims);
        for offer in 0..self.offers.len() {
            may(Progress, true, Action::ActorTakesOffer(offer));
        }
        for (at, (attempt, _, job)) in self.jobs.iter().enumerate() {
            match job {
                Job::Note => may(Progress, true, Action::NoteIsWritten(at)),
                Job::Noted => may(Progress, true, Action::NotedIsTold(at)),
                Job::Paste => {
                    may(Progress, true, Action::PasteIsWritten(at));
                    may(Perhaps, chances.fail_before > 0, Action::PasteFails(at));
                }
                Job::Pasted => may(Progress, true, Action::PastedIsTold(at)),
                Job::Pause => {
                    let is_seen = self.judged && self.picture.1 == Sight::Ours(*attempt);
                    let is_quiet = self.judged && self.agent.pipe.is_empty();
                    let is_read = self.agent.unread.is_empty();
                    let may_press = match chances.enter {
                        Enter::WhenSeen => is_seen || (is_quiet && is_read),
                        Enter::WhenQuiet => is_seen || is_quiet,
                        Enter::AnyTime => true,
                    };
                    may(Progress, may_press, Action::PauseIsOver(at));
                }
                Job::Enter => {
                    may(Progress, true, Action::EnterIsWritten(at));
                    may(Perhaps, chances.fail_after > 0, Action::EnterFails(at));
                }
                Job::Entered { .. } => may(Progress, true, Action::EnteredIsTold(at)),
            }
        }
        may(Progress, true, Action::Bookkeeping);
        // A program that shows its composer for so long has read what was typed; the terminal was drained for the look.
        let is_settled = self.judged && self.agent.pipe.is_empty() && self.agent.unread.is_empty();
        may(Progress, is_settled, Action::LooksAgain);
        may(Progress, !self.outbox.is_empty(), Action::OutcomeIsStored);
        may(Progress, !self.agent.unread.is_empty() && !self.shell, Action::AgentReads);
        may(Progress, self.agent.mode == Mode::Busy, Action::AgentFinishes);
        may(Perhaps, self.agent.mode == Mode::Busy && self.agent.manners.dialogs > 0, Action::AgentAsks);
        may(Perhaps, self.agent.manners.repeats > 0, Action::AgentRepeats);
        let answers = self.agent.mode == Mode::Dialog && !self.agent.unread.contains(&Input::Answer);
        may(Progress, answers && self.may_type(), Action::PersonAnswers);
        may(Progress, !self.agent.pipe.is_empty(), Action::FrameIsRead);
        may(Progress, !self.judged, Action::ScreenIsJudged);
        let has_typed = self.agent.unread.iter().chain(&self.agent.composer).any(|i| *i == Input::HumanText);
        may(Perhaps, chances.people > 0 && self.may_type(), Action::PersonTypes);
        let is_ending = |i: &Input| matches!(i, Input::HumanEnter | Input::HumanClear);
        let has_draft = has_typed && self.may_type() && !self.agent.unread.iter().any(is_ending);
        may(Perhaps, has_draft, Action::PersonSubmits);
        may(Perhaps, has_draft, Action::PersonClears);
        may(Perhaps, chances.resets > 0, Action::Reset);
        may(Perhaps, chances.restarts > 0, Action::Restart);
        may(Perhaps, chances.removals > 0, Action::Remove);
        may(Perhaps, chances.crashes > 0, Action::Crash);
        let is_writing = self.jobs.iter().any(|(_, _, job)| matches!(job, Job::Paste | Job::Enter));
        may(Perhaps, chances.shells > 0 && !is_writing, Action::ShellTakesOver);
        may(Perhaps, chances.silences > 0, Action::ReportsFallSilent);
        may(Perhaps, chances.debounces > 0 && !self.judged, Action::ComposerIsJudged);
        may(Perhaps, chances.hurries > 0, Action::UrgentMailComes);
        may(Progress, self.deliverer.would_interrupt() && self.may_type(), Action::InterruptIsDue);
    }

    fn apply(&mut self, action: Action) -> Result<(), &'static str> {
        match action {
            Action::CallerClaims => {
                self.chances.callers -= 1;
                self.claim();
            }
            Action::WokenClaims => {
                self.wake = false;
                self.claim();
            }
            Action::ActorTakesOffer(at) => {
                let (attempt, row) = self.offers[at];
                self.tell(self.foreground())?;
                self.tell(Event::Dispatch { attempt })?;
                self.offers.retain(|(this, _)| *this != attempt);
                if self.jobs.iter().any(|(this, ..)| *this == attempt) {
                    self.rows[row] = Row::Dispatching(attempt);
                }
            }
            Action::NoteIsWritten(at) => {
                self.note = Some((self.jobs[at].0, self.log_end));
                self.stopped = None;
                self.jobs[at].2 = Job::Noted;
            }
            Action::NotedIsTold(at) => {
                self.tell(self.foreground())?;
                self.tell(Event::Noted { attempt: self.jobs[at].0 })?;
            }
            Action::PasteIsWritten(at) => {
                let (attempt, row, _) = self.jobs[at];
                self.paste(attempt, row)?;
                self.jobs[at].2 = Job::Pasted;
            }
            Action::PasteFails(at) => {
                self.chances.fail_before -= 1;
                self.tell(Event::NotTaken { attempt: self.jobs[at].0, taken: Taken::Nothing })?;
            }
            Action::PastedIsTold(at) => {
                self.jobs[at].2 = Job::Pause;
                self.tell(Event::Pasted { attempt: self.jobs[at].0 })?;
            }
            Action::PauseIsOver(at) => {
                self.may_doubt |= self.shell;
                self.tell(self.foreground())?;
                self.tell(Event::PauseOver { attempt: self.jobs[at].0 })?;
            }
            Action::EnterIsWritten(at) => {
                if self.shell {
                    return Err("I22 Enter pressed in a bare shell");
                }
                self.agent.unread.push(Input::Enter(self.jobs[at].0));
                self.jobs[at].2 = Job::Entered { mark: self.log_end };
            }
            Action::EnterFails(at) => {
                self.chances.fail_after -= 1;
                self.may_doubt = true;
                let attempt = self.jobs[at].0;
                self.end_job(attempt);
                self.tell(Event::NotTaken { attempt, taken: Taken::Part })?;
            }
            Action::EnteredIsTold(at) => {
                let (attempt, _, job) = self.jobs[at];
                if let Job::Entered { mark } = job {
                    self.end_job(attempt);
                    self.tell(Event::Entered { attempt, mark })?;
                }
            }
            Action::Bookkeeping => {
                let effects = self.deliverer.book();
                self.follow(effects)?;
            }
            Action::LooksAgain => {
                self.tell(self.foreground())?;
                self.tell(Event::LookedAgain)?;
            }
            Action::OutcomeIsStored => self.store_outcome(),
            Action::AgentReads => {
                let input = self.agent.unread[0];
                if matches!(input, Input::Enter(_)) && self.agent.mode == Mode::Dialog && !self.misled {
                    return Err("I21 an Enter of ours answered a dialog");
                }
                self.agent.read();
            }
            Action::AgentFinishes => self.agent.finish(),
            Action::AgentAsks => self.agent.ask(),
            Action::AgentRepeats => self.agent.repeat(),
            Action::PersonAnswers => self.agent.unread.push(Input::Answer),
            Action::FrameIsRead => {
                self.log_end += 1;
                match self.agent.pipe.remove(0) {
                    Frame::Report(status) => self.hear_report(status)?,
                    Frame::Screen(status, sight) => {
                        self.picture = (status, sight);
                        self.judged = false;
                    }
                }
            }
            Action::ScreenIsJudged => self.judge()?,
            Action::PersonTypes => {
                self.chances.people -= 1;
                self.agent.unread.push(Input::HumanText);
                self.tell(Event::Typed { keys: Keys::Text, mark: self.log_end })?;
            }
            Action::PersonSubmits => {
                self.agent.unread.push(Input::HumanEnter);
                self.tell(Event::Typed { keys: Keys::Submit, mark: self.log_end })?;
            }
            Action::PersonClears => {
                self.agent.unread.push(Input::HumanClear);
                self.tell(Event::Typed { keys: Keys::Text, mark: self.log_end })?;
            }
            Action::Reset => {
                self.chances.resets -= 1;
                self.may_doubt = true;
                self.misled |=
                    !self.agent.is_ready() || !self.agent.is_clear() || !self.agent.pipe.is_empty();
                self.tell(Event::Reset { at: self.log_end })?;
                self.judge()?;
            }
            Action::Restart => {
                self.chances.restarts -= 1;
                self.may_doubt = true;
                self.tell(Event::Exited)?;
                let submitted = std::mem::take(&mut self.agent.submitted);
                self.agent = Agent::new(self.agent.manners);
                self.agent.submitted = submitted;
                self.jobs.clear();
                self.shell = false;
                self.reports.clear();
                self.log_end += 1;
                self.tell(Event::Restarted { at: self.log_end })?;
                self.picture = (Status::Idle, Sight::Empty);
                self.judge()?;
            }
            Action::Remove => {
                self.may_doubt = true;
                self.tell(Event::Removed)?;
                self.removed = true;
                let before = self.deliverer.clone();
                let late = Evidence::new(
                    Source::Screen,
                    Position::Offset(self.log_end + 1),
                    Status::Idle,
                    Rule::named("late"),
                );
                self.tell(Event::Seen(late))?;
                if crate::explore::fingerprint(&before) != crate::explore::fingerprint(&self.deliverer) {
                    return Err("I29 something changed after the removal");
                }
            }
            Action::Crash => self.crash()?,
            Action::ShellTakesOver => {
                self.chances.shells -= 1;
                self.shell = true;
            }
            Action::ReportsFallSilent => {
                self.chances.silences -= 1;
                self.tell(Event::FellSilent(Source::Native))?;
            }
            Action::ComposerIsJudged => {
                self.chances.debounces -= 1;
                self.judge_composer()?;
            }
            Action::UrgentMailComes => {
                self.chances.hurries -= 1;
                self.tell(Event::Hurry)?;
            }
            Action::InterruptIsDue => {
                self.judge()?;
                self.tell(self.foreground())?;
                self.tell(Event::InterruptDue)?;
            }
        }
        Ok(())
    }

    fn at_rest(&self) -> Result<Rest, &'static str> {
        let waits = |row: &Row| matches!(row, Row::Pending | Row::Dispatching(_));
        if self.removed || !self.rows.iter().any(waits) {
            return Ok(Rest::Done);
        }
        if self.shell {
            return Ok(Rest::Waits("a bare shell is in the foreground"));
        }
        if self.agent.composer.contains(&Input::HumanText) {
            return Ok(Rest::Waits("a person's draft stands in the composer"));
        }
        if !self.agent.composer.is_empty() && self.misled {
            return Ok(Rest::Waits("a text of ours stands in the composer after a reset"));
        }
        if self.deliverer.tells_stall() && (self.may_doubt || self.chances.enter != Enter::WhenSeen) {
            return Ok(Rest::Waits("an attempt is told as stalled"));
        }
        Err("I6 mail is stranded: the agent is ready and nothing happens any more")
    }
}
