//! What hooks of the agent say.

use ptyard_core::Moment;
use ptyard_core::turn::{Event, Evidence, Position, Sight, Source};

use super::super::Actor;
use crate::agent::Hooked;

impl Actor {
    /// Tells what a hook said. How late it came is not known, so while a text of ours waits to be confirmed only a hook that
    /// names it says something of it.
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
            return;
        }
        attended.hooks += 1;
        let at = Position::Sequence(attended.hooks);
        let sight = named.map_or(Sight::Unseen, Sight::Submitted);
        let evidence = Evidence::new(Source::Hook, at, told.status, told.rule).seeing(sight);
        self.step(vec![Event::Seen(evidence)], now);
    }
}
