//! What hooks of the agent say.

use ptyard_core::Moment;
use ptyard_core::turn::{Event, Evidence, Position, Sight, Source};

use super::super::Actor;
use super::Attended;
use crate::agent::Hooked;

impl Actor {
    /// Tells what a hook said. How late it came is not known, so while a text of ours waits to be confirmed only a hook that
    /// names it says something of it. What another one said last is told when that is over.
    pub(in super::super) fn hooked(&mut self, told: Hooked, now: Moment) {
        if self.now.sealed.is_some() {
            return;
        }
        let Some(attended) = &mut self.attended else { return };
        let names = |prompt: &String| {
            let pasted = attended.pasted.as_ref()?;
            pasted.is_prompt(prompt).then(|| pasted.attempt())
        };
        let named = told.prompt.as_ref().and_then(names);
        if named.is_none() && attended.machine.under_way().is_some() {
            tracing::debug!(rule = %told.rule, "a hook that is not about the text under way");
            attended.held_back = Some(told);
            return;
        }
        // It is older than this one.
        attended.held_back = None;
        let sight = named.map_or(Sight::Unseen, Sight::Submitted);
        let seen = attended.said_by_hook(told, sight);
        self.step(vec![seen], now);
    }
}

impl Attended {
    /// What was said last of something else than the text that was under way, which it is not any more. It came before
    /// that was confirmed, and never makes ready: all it can do is to have mail wait until it is taken back.
    pub(super) fn said_meanwhile(&mut self) -> Option<Event> {
        if self.machine.under_way().is_some() {
            return None;
        }
        let told = self.held_back.take().filter(|told| !told.status.is_ready())?;
        Some(self.said_by_hook(told, Sight::Unseen))
    }

    fn said_by_hook(&mut self, told: Hooked, sight: Sight) -> Event {
        self.hooks += 1;
        let at = Position::Sequence(self.hooks);
        Event::Seen(Evidence::new(Source::Hook, at, told.status, told.rule).seeing(sight))
    }
}
