//! The turns of the agent in this terminal: the machine that decides, fed and obeyed by the actor.
//!
//! One turn of the actor: output was read and signals were told to the judge as they came; then the screen is judged if
//! it changed and has come to rest, what was written is told, moments that have come are told, and whatever the
//! machine wants is done at once. So a gate that was found open and the first byte of the paste are never more than
//! one synchronous step apart.

mod hook;
mod interrupt;
mod judge;
mod place;
mod write;

use std::collections::VecDeque;

use ptyard_core::Moment;
use ptyard_core::turn::{
    AttemptId, Effect, Event, Evidence, Foreground, Hold, Outcome, Recovered, TurnMachine,
};
use ptyard_screen::View;
use ptyard_screen::frames::Frames;
use tokio::sync::oneshot;

use super::Actor;
use crate::agent::sight::Pasted;
use crate::agent::{Agent, DispatchError, Events, Hooked, Judge, Mail, Recipe, TurnEvent, TurnEvents};

/// The agent of a terminal, as its actor keeps it.
///
/// # Invariants
/// 1. Everything the machine wants is done in the step in which it wants it.
/// 2. An offer waits only while something else is being written.
pub(super) struct Attended {
    machine: TurnMachine,
    judge: Box<dyn Judge>,
    recipe: Recipe,
    events: Events,
    /// The text under way, or the last one that was.
    pasted: Option<Pasted>,
    /// A dispatch that waits for the input to be free.
    offer: Option<(Mail, oneshot::Sender<Result<(), DispatchError>>)>,
    /// The text that the machine is deciding about, and who asked.
    mail: Option<Mail>,
    asker: Option<oneshot::Sender<Result<(), DispatchError>>>,
    /// The last look at the screen.
    seen: Seen,
    /// How often a hook was heard.
    hooks: u64,
    /// What a hook said last that was not told, as a text of ours that it did not name was under way.
    held_back: Option<Hooked>,
    clocks: Clocks,
}

/// The last look.
#[derive(Default)]
struct Seen {
    view: Option<View>,
    /// The log offset that it shows.
    offset: u64,
    /// The end of the log when it was last known here.
    printed: u64,
    /// What was told of each source last.
    told: Vec<Evidence>,
    /// The tty was seen in the settings of a line editor.
    has_line_editor: bool,
}

/// Moments that are waited for.
#[derive(Debug, Default)]
struct Clocks {
    /// When the screen is worth a look.
    frames: Frames,
    /// The judge wants to be asked again.
    verdict: Option<Moment>,
    /// The paste was taken.
    pasted_at: Option<Moment>,
    /// The text was seen in the composer.
    echoed_at: Option<Moment>,
    /// The last input that was written, by whomever.
    input: Option<Moment>,
    /// The agent was attended to from here on.
    began: Option<Moment>,
    /// A settled look has been told since the last input and output.
    settled: bool,
    /// When one was told last.
    looked_at: Option<Moment>,
    /// A write may be told as stalled at this moment.
    stall: Option<Moment>,
    /// A turn was stopped, and nothing was pasted since.
    interrupted_at: Option<Moment>,
}

impl Actor {
    /// An agent runs here from now on.
    pub(super) fn attend(&mut self, agent: Agent, now: Moment) -> TurnEvents {
        let (events, reader) = Events::new();
        let (mut machine, mut pasted) = (TurnMachine::new(agent.eager, now), None);
        if let Some(earlier) = agent.earlier {
            machine = TurnMachine::recover(agent.eager, earlier.epoch, earlier.recovered, now);
            if earlier.stopped {
                machine.recover_interrupt();
            }
            pasted = match (earlier.recovered, earlier.text) {
                (Recovered::Noted { attempt, .. } | Recovered::Taken { attempt, .. }, Some(text)) => {
                    Some(Pasted::recovered(attempt, &text, earlier.before))
                }
                _ => None,
            };
        }
        self.attended = Some(Attended {
            machine,
            judge: agent.judge,
            recipe: agent.recipe,
            events,
            pasted,
            offer: None,
            mail: None,
            asker: None,
            seen: Seen::default(),
            hooks: 0,
            held_back: None,
            clocks: Clocks { input: Some(now), began: Some(now), ..Clocks::default() },
        });
        self.tell_place(now);
        self.judge_the_past(now);
        self.step(Vec::new(), now);
        self.publish_status(now);
        reader
    }

    pub(super) fn offer(&mut self, mail: Mail, reply: oneshot::Sender<Result<(), DispatchError>>) {
        match &mut self.attended {
            None => {
                let _gone = reply.send(Err(DispatchError::NoAgent));
            }
            Some(_) if self.now.sealed.is_some() => {
                let _gone = reply.send(Err(DispatchError::Held(Hold::Exited)));
            }
            Some(attended) if attended.offer.is_some() => {
                let _gone = reply.send(Err(DispatchError::Held(Hold::Unconfirmed)));
            }
            Some(attended) => attended.offer = Some((mail, reply)),
        }
    }

    /// Everything about the agent, once in each turn of the actor, after the output was read and the input written.
    pub(super) fn poll_attended(&mut self, now: Moment) {
        if self.attended.is_none() || self.now.sealed.is_some() {
            return;
        }
        self.tell_written(now);
        self.look_if_due(now);
        self.interrupt_if_due(now);
        self.take_offer(now);
        self.tell_moments(now);
    }

    /// When the agent wants to be looked after again.
    pub(super) fn attended_deadline(&self) -> Option<Moment> {
        let attended = self.attended.as_ref().filter(|_| self.now.sealed.is_none())?;
        let silence = attended.machine.silent_authority().map(|(_, at)| at);
        let clocks = &attended.clocks;
        let offer = self.paste_at().filter(|_| attended.offer.is_some());
        [offer, self.look_at(), clocks.verdict, self.press_at(), self.settled_at(), silence, clocks.stall]
            .into_iter()
            .flatten()
            .min()
    }

    /// The program has ended.
    pub(super) fn agent_exited(&mut self, now: Moment) {
        self.tell_written(now);
        self.step(vec![Event::Exited], now);
        if let Some(attended) = &mut self.attended {
            attended.clocks = Clocks::default();
            if let Some((_, reply)) = attended.offer.take() {
                let _gone = reply.send(Err(DispatchError::Held(Hold::Exited)));
            }
        }
    }

    /// The terminal is removed.
    pub(super) fn agent_removed(&mut self, now: Moment) {
        self.step(vec![Event::Removed], now);
    }

    /// The judge goes by other rules than when it looked last.
    pub(super) fn judge_again(&mut self, now: Moment) {
        if self.attended.is_some() && self.now.sealed.is_none() {
            self.look_now(now);
        }
    }

    pub(super) fn reset_turns(&mut self, now: Moment) {
        let at = self.now.end;
        if let Some(attended) = &mut self.attended {
            attended.seen.told.clear();
            attended.held_back = None;
            attended.clocks.settled = false;
        }
        self.step(vec![Event::Reset { at }], now);
        self.tell_place(now);
        self.look_now(now);
    }

    pub(super) fn explain(&self, now: Moment) -> Option<ptyard_core::turn::Explanation> {
        self.attended.as_ref().map(|attended| attended.machine.explain(now))
    }

    /// Tells the machine, and does what it wants, until it wants nothing more.
    fn step(&mut self, events: Vec<Event>, now: Moment) {
        let mut events = VecDeque::from(events);
        loop {
            let Some(attended) = &mut self.attended else { return };
            let Some(event) = events.pop_front().or_else(|| attended.said_meanwhile()) else { return };
            let effects = attended.machine.step(event, now);
            for effect in effects {
                self.obey(effect, now, &mut events);
            }
        }
    }

    fn obey(&mut self, effect: Effect, now: Moment, events: &mut VecDeque<Event>) {
        match effect {
            Effect::Note { attempt, epoch } => {
                let foreground = self.foreground();
                events.extend(self.write_note(attempt, epoch, foreground));
            }
            Effect::EraseNote { .. } => self.erase_note(),
            Effect::Paste { attempt } => self.begin_paste(attempt),
            Effect::Enter { attempt } => self.press_enter(attempt),
            Effect::Interrupt { epoch } => self.press_interrupt(epoch, now),
            Effect::TakeBack { attempt } => self.queue.take_back_mail(attempt),
            Effect::Outcome(attempt, outcome) => self.tell_outcome(attempt, outcome),
            Effect::TurnEnded { epoch, attempt } => self.tell(TurnEvent::TurnEnded { epoch, attempt }),
            Effect::Ready => self.tell(TurnEvent::Ready),
            Effect::Status => self.publish_status(now),
        }
    }

    fn tell(&self, event: TurnEvent) {
        if let Some(attended) = &self.attended {
            attended.events.tell(event);
        }
    }

    fn tell_outcome(&mut self, attempt: AttemptId, outcome: Outcome) {
        let Some(attended) = &mut self.attended else { return };
        let is_being_asked = attended.mail.as_ref().is_some_and(|mail| mail.attempt == attempt);
        match (outcome, attended.asker.take_if(|_| is_being_asked)) {
            // Whoever asked hears it as the answer.
            (Outcome::Refused(hold), Some(asker)) => {
                attended.mail = None;
                let _gone = asker.send(Err(DispatchError::Held(hold)));
            }
            (outcome, asker) => {
                attended.asker = asker;
                attended.events.tell(TurnEvent::Outcome(attempt, outcome));
            }
        }
    }

    fn publish_status(&mut self, now: Moment) {
        let Some(attended) = &mut self.attended else { return };
        let report = attended.machine.report(now);
        attended.clocks.stall = attended.machine.stalls_at().filter(|at| *at > now);
        attended.events.tell(TurnEvent::Status(report.clone()));
        self.status.send_replace(Some(report));
    }

    /// Who reads what is typed.
    fn foreground(&mut self) -> Foreground {
        let Some(attended) = &self.attended else { return Foreground::Agent };
        if attended.recipe.shell != crate::agent::ShellIs::Foreign {
            return Foreground::Agent;
        }
        match self.control.foreground_command() {
            Some(command) if crate::agent::is_shell(&command) => Foreground::Shell,
            _ => Foreground::Agent,
        }
    }
}
