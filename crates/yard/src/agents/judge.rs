//! A provider's judge, as a terminal's actor asks it.

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::Moment;
use ptyard_core::turn::Keys;
use ptyard_providers::manifest::PasteBrackets;
use ptyard_providers::{Composer as Read, Dialog, Judge as Reader, Provider};
use ptyard_screen::keys::Key;
use ptyard_screen::{Signal, View};
use ptyard_terminal::agent::{Agent, Brackets, Composer, Judge, Recipe, ShellIs, Verdict};
use tokio::sync::watch;

use super::editions::Known;

/// The provider whose agent is itself a shell.
const SHELL: &str = "shell";

/// What the actor of a terminal needs to know of an agent of this provider, whose later editions come with `editions`; and
/// the dialog that it shows, from now on.
pub(super) fn agent(
    provider: &Arc<Provider>,
    editions: watch::Receiver<Option<Arc<Known>>>,
) -> (Agent, watch::Receiver<Option<Dialog>>) {
    let (dialog, shown) = watch::channel(None);
    let judge = ProviderJudge { reader: Reader::new(Arc::clone(provider)), editions, dialog };
    (Agent::new(Box::new(judge), recipe(provider)), shown)
}

fn recipe(provider: &Provider) -> Recipe {
    let input = provider.input();
    Recipe {
        brackets: match input.paste {
            PasteBrackets::Auto => Brackets::AsAsked,
            PasteBrackets::Always => Brackets::Always,
            PasteBrackets::Never => Brackets::Never,
        },
        pause: Duration::from_millis(input.enter_delay_ms),
        shell: match provider.id() {
            SHELL => ShellIs::TheAgent,
            super::launch::GENERIC => ShellIs::Unknown,
            _ => ShellIs::Foreign,
        },
        interrupt: keys(provider),
        ..Recipe::default()
    }
}

/// The keys that stop a turn. A manifest with a key that nobody knows stops none.
fn keys(provider: &Provider) -> Vec<Key> {
    let keys = provider.input().interrupt.iter().map(|name| name.parse()).collect::<Result<_, _>>();
    keys.unwrap_or_else(|error| {
        tracing::warn!(provider = provider.id(), %error, "its turns are not stopped for urgent mail");
        Vec::new()
    })
}

struct ProviderJudge {
    reader: Reader,
    editions: watch::Receiver<Option<Arc<Known>>>,
    /// The dialog that is shown.
    dialog: watch::Sender<Option<Dialog>>,
}

impl ProviderJudge {
    /// Goes by the newest edition. One that is not there any more goes on to be used here.
    fn take_edition(&mut self) {
        if !self.editions.has_changed().unwrap_or_default() {
            return;
        }
        let known = self.editions.borrow_and_update().clone();
        let used = self.reader.provider();
        let newest = known.and_then(|known| known.library.get(used.id()).cloned());
        if let Some(newest) = newest.filter(|newest| !Arc::ptr_eq(newest, used)) {
            self.reader.replace(newest);
        }
    }
}

impl Judge for ProviderJudge {
    fn signal(&mut self, signal: &Signal, now: Moment) {
        self.reader.signal(signal, now);
    }

    fn printed(&mut self, end: u64, now: Moment) {
        self.reader.output(end, now);
    }

    fn typed(&mut self, keys: Keys) {
        self.reader.typed(keys);
    }

    fn look(&mut self, view: &View, offset: u64, now: Moment) {
        self.take_edition();
        self.reader.look(view, offset, now);
    }

    fn verdict(&mut self, now: Moment) -> Verdict {
        let verdict = self.reader.verdict(now);
        self.dialog.send_if_modified(|dialog| {
            let is_another = *dialog != verdict.dialog;
            dialog.clone_from(&verdict.dialog);
            is_another
        });
        let composer = match verdict.composer {
            Read::Unseen => Composer::Unseen,
            Read::Empty => Composer::Empty,
            Read::Text(text) => Composer::Text(text),
            Read::Folded => Composer::Folded,
        };
        Verdict { evidence: verdict.evidence, composer, until: verdict.until }
    }
}
