//! Designs that were published for this problem, as deliverers of the same world. Each is known to fail somewhere; a
//! model in which one of them passed would be too small to say anything about the product's machine.
//!
//! All of them count *generations*: every change of the status that anybody sees is the next one, and a guard that was
//! put up for a dispatch is taken down by a newer generation than the one it remembers. They differ in which one that is.

use ptyard_core::turn::{
    AttemptId, Effect, Epoch, Event, Hold, Outcome, Position, Proof, Recovered, Rule, Source, Status,
};

use crate::deliverer::{Deliverer, Store};

/// What a design does. The names are those of the rounds in which they were published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Design {
    /// Read, look at the status, mark, send.
    Base,
    /// A message is claimed in one statement.
    R1AtomicClaim,
    /// Sends to one terminal take turns.
    R2Lock,
    /// A flag is set after the send, and any event takes it down.
    R3Flag,
    /// The same, and five seconds take it down too.
    R3Expiry,
    /// The generation after the send is remembered.
    R4AfterSend,
    /// The same, unless the generation moved since the send began; looked at and stored in two steps.
    R6UnlessMoved,
    /// The generation before the call is remembered.
    R7BeforeCall,
    /// Nothing takes the guard down until the call has returned; then as R4, looked at and stored in two steps.
    R8Token,
    /// On return, compared with the generation when the guard was put up.
    R9SinceArmed,
    /// On return, compared with the generation when the terminal was told.
    R10SinceNotified,
    /// On return, compared with the generation right before the writing process.
    R11SinceHook,
    /// The same where the agent's own reports count no generation.
    R11OwnReports,
}

impl Design {
    pub(crate) const ALL: [Self; 13] = [
        Self::Base,
        Self::R1AtomicClaim,
        Self::R2Lock,
        Self::R3Flag,
        Self::R3Expiry,
        Self::R4AfterSend,
        Self::R6UnlessMoved,
        Self::R7BeforeCall,
        Self::R8Token,
        Self::R9SinceArmed,
        Self::R10SinceNotified,
        Self::R11SinceHook,
        Self::R11OwnReports,
    ];

    fn takes_turns(self) -> bool {
        !matches!(self, Self::Base | Self::R1AtomicClaim)
    }
}

/// What keeps the next send back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Guard {
    Down,
    /// Any event takes it down.
    Flag,
    /// Nothing takes it down yet.
    Token,
    /// A newer generation takes it down.
    Newer(u8),
}

/// A send under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Send {
    attempt: AttemptId,
    /// The generation when the guard was put up.
    armed: u8,
    /// The generation when the terminal was told, which is also the last moment before the write.
    notified: u8,
}

/// A deliverer of one of the designs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Published {
    design: Design,
    status: Status,
    generation: u8,
    guard: Guard,
    sends: Vec<Send>,
    /// A generation that was looked at and not stored yet.
    looked_at: Option<u8>,
    was_open: bool,
}

impl Published {
    pub(crate) fn new(design: Design) -> Self {
        Self {
            design,
            status: Status::Idle,
            generation: 0,
            guard: Guard::Down,
            sends: Vec::new(),
            looked_at: None,
            was_open: true,
        }
    }

    fn dispatch(&mut self, attempt: AttemptId, effects: &mut Vec<Effect>) {
        if !self.is_open() {
            effects.push(Effect::Outcome(attempt, Outcome::Refused(Hold::Busy)));
            return;
        }
        self.guard = match self.design {
            Design::R7BeforeCall => Guard::Newer(self.generation),
            Design::R8Token
            | Design::R9SinceArmed
            | Design::R10SinceNotified
            | Design::R11SinceHook
            | Design::R11OwnReports => Guard::Token,
            _ => self.guard,
        };
        self.sends.push(Send { attempt, armed: self.generation, notified: self.generation });
        effects.push(Effect::Note { attempt, epoch: Epoch::default() });
    }

    fn entered(&mut self, attempt: AttemptId, effects: &mut Vec<Effect>) {
        let Some(at) = self.sends.iter().position(|send| send.attempt == attempt) else { return };
        let send = self.sends.remove(at);
        let since = |base: u8| if self.generation > base { Guard::Down } else { Guard::Newer(base) };
        match self.design {
            Design::R3Flag | Design::R3Expiry => self.guard = Guard::Flag,
            Design::R4AfterSend => self.guard = Guard::Newer(self.generation),
            Design::R6UnlessMoved if self.generation > send.armed => {}
            Design::R6UnlessMoved | Design::R8Token => self.looked_at = Some(self.generation),
            Design::R9SinceArmed => self.guard = since(send.armed),
            Design::R10SinceNotified | Design::R11SinceHook | Design::R11OwnReports => {
                self.guard = since(send.notified);
            }
            Design::Base | Design::R1AtomicClaim | Design::R2Lock | Design::R7BeforeCall => {}
        }
        let proof =
            Proof { source: Source::Screen, rule: Rule::named("sent"), position: Position::Offset(0) };
        effects.push(Effect::Outcome(attempt, Outcome::Delivered(proof)));
    }

    fn see(&mut self, source: Source, status: Status) {
        let has_changed = status != self.status;
        self.status = status;
        if !has_changed || (self.design == Design::R11OwnReports && source == Source::Native) {
            return;
        }
        self.generation += 1;
        self.guard = match self.guard {
            Guard::Flag => Guard::Down,
            Guard::Newer(boundary) if self.generation > boundary => Guard::Down,
            guard => guard,
        };
    }
}

impl Deliverer for Published {
    fn step(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Seen(evidence) => self.see(evidence.source, evidence.status),
            Event::FellSilent(_) if self.design == Design::R3Expiry => self.guard = Guard::Down,
            Event::Dispatch { attempt } => self.dispatch(attempt, &mut effects),
            Event::Noted { attempt } => {
                for send in self.sends.iter_mut().filter(|send| send.attempt == attempt) {
                    send.notified = self.generation;
                }
                effects.push(Effect::Paste { attempt });
            }
            Event::PauseOver { attempt } => effects.push(Effect::Enter { attempt }),
            Event::Entered { attempt, .. } => self.entered(attempt, &mut effects),
            _ => {}
        }
        if self.is_open() && !self.was_open {
            effects.push(Effect::Ready);
        }
        self.was_open = self.is_open();
        effects
    }

    fn is_open(&self) -> bool {
        self.guard == Guard::Down
            && self.status.is_ready()
            && !(self.design.takes_turns() && (!self.sends.is_empty() || self.looked_at.is_some()))
    }

    fn book(&mut self) -> Vec<Effect> {
        if let Some(generation) = self.looked_at.take() {
            self.guard = Guard::Newer(generation);
        }
        Vec::new()
    }

    fn recover(&self, _: Epoch, _: Recovered) -> Self {
        Self::new(self.design)
    }

    fn tells_stall(&self) -> bool {
        false
    }

    fn store(&self) -> Store {
        match self.design {
            Design::Base => Store::Read,
            Design::R1AtomicClaim => Store::Claim,
            _ => Store::OneAtATime,
        }
    }

    fn claims_taken(&self) -> bool {
        false
    }
}
