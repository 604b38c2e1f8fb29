//! Mail for terminals whose programs have ended: nobody will ever take it, and that is told.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use ptyard_core::{Cause, TerminalId};
use ptyard_store::{StoreError, wait};
use tokio::sync::watch;

use crate::inbox::pump::AGAIN;
use crate::spec::TerminalRef;
use crate::yard::{Inner, Yard};

/// Terminals whose programs have ended and whose mail was not looked through since. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Ended(Arc<watch::Sender<BTreeSet<TerminalId>>>);

impl Default for Ended {
    fn default() -> Self {
        Self(Arc::new(watch::channel(BTreeSet::new()).0))
    }
}

impl Ended {
    /// This one has, or something came to wait for it although it has.
    pub(crate) fn note(&self, id: TerminalId) {
        self.0.send_modify(|ids| {
            ids.insert(id);
        });
    }

    fn take(&self) -> BTreeSet<TerminalId> {
        let mut taken = BTreeSet::new();
        self.0.send_if_modified(|ids| {
            taken = std::mem::take(ids);
            false
        });
        taken
    }
}

impl Yard {
    /// From now on what waits for a program that has ended becomes a dead letter: also what an earlier server left.
    pub(crate) fn settle_dead_letters(&self) {
        let ended = self.inner.ended.0.subscribe();
        match wait(self.inner.store.receivers_waiting()) {
            Ok(receivers) => {
                let has_ended =
                    |id: &TerminalId| self.find(&TerminalRef::Id(*id)).is_ok_and(|entry| entry.has_exited());
                receivers.into_iter().filter(has_ended).for_each(|id| self.inner.ended.note(id));
            }
            Err(error) => tracing::warn!(%error, "mail for programs that ended is not looked for"),
        }
        tokio::spawn(settle(Arc::downgrade(&self.inner), ended));
    }

    /// Gives up what waits for a terminal whose program has ended.
    async fn give_up_mail(&self, id: TerminalId) -> Result<(), StoreError> {
        // The mail of a terminal that is removed is settled with it.
        let Ok(entry) = self.find(&TerminalRef::Id(id)) else { return Ok(()) };
        let mut progress = entry.terminal.progress();
        let sealed = progress.wait_for(|progress| progress.sealed.is_some()).await;
        let Ok(cause) = sealed.map(|progress| progress.sealed.as_ref().map(|sealed| sealed.exit.cause))
        else {
            return Ok(());
        };
        let reason = match cause {
            Some(Cause::Lost) => "receiver_lost",
            _ => "receiver_exited",
        };
        if self.inner.store.mailbox(id).await?.pending == 0 {
            return Ok(());
        }
        loop {
            let given_up = self.inner.store.give_up(id, reason.to_owned()).await?;
            if given_up.is_empty() {
                return Ok(());
            }
            self.tell_mail(&given_up);
        }
    }
}

async fn settle(yard: Weak<Inner>, mut ended: watch::Receiver<BTreeSet<TerminalId>>) {
    while ended.changed().await.is_ok() {
        let Some(inner) = yard.upgrade() else { return };
        let yard = Yard { inner };
        let mut is_refused = false;
        for id in yard.inner.ended.take() {
            if let Err(error) = yard.give_up_mail(id).await {
                tracing::warn!(%id, %error, "mail for a program that ended is not settled");
                yard.inner.ended.note(id);
                is_refused = true;
            }
        }
        drop(yard);
        if is_refused {
            tokio::time::sleep(AGAIN).await;
        }
    }
}
