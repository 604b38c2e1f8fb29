//! Dialogs that come up by themselves when an agent starts, answered as far as its operator said.
//!
//! A manifest knows what a dialog is about and which keys say yes to it; whether they are pressed is said by whoever starts
//! the agent, and by nobody else. Everything that is not answered is shown as a question and waits for a person.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptyard_core::turn::{Rule, Status};
use ptyard_providers::manifest::About;
use ptyard_providers::{Dialog, Origin, Provider};
use tokio::sync::watch;

use super::status::Answer;
use crate::entry::Entry;
use crate::spec::TerminalRef;
use crate::yard::Yard;

/// What is done about dialogs that come up before an agent is ready for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDialog {
    /// A person is asked.
    #[default]
    Ask,
    /// The working directory it was started in is trusted, whichever kind of program asks; a person is asked the rest.
    TrustCwd,
}

/// What is needed to answer for the operator.
pub(super) struct AtStart {
    pub(super) on_dialog: OnDialog,
    pub(super) provider: Arc<Provider>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) dialogs: watch::Receiver<Option<Dialog>>,
}

impl Yard {
    /// Answers dialogs of an agent that starts, each once, until it is ready for the first time.
    pub(super) fn answer_at_start(&self, entry: &Arc<Entry>, start: AtStart) {
        let AtStart { on_dialog: OnDialog::TrustCwd, provider, cwd: Some(cwd), mut dialogs } = start else {
            return;
        };
        if provider.origin() == Origin::Remote {
            return;
        }
        let (yard, entry) = (self.clone(), Arc::clone(entry));
        tokio::spawn(async move {
            let mut status = entry.terminal.status();
            let mut answered: Vec<Rule> = Vec::new();
            loop {
                let now = status.borrow_and_update().as_ref().map(|report| report.status);
                let shown = dialogs.borrow_and_update().clone();
                match (now, shown) {
                    (Some(Status::Idle | Status::Completed | Status::Exited), _) => return,
                    (Some(Status::WaitingUserAnswer), Some(dialog))
                        if dialog.about == About::TrustCwd
                            && !dialog.keys.is_empty()
                            && !answered.contains(&dialog.rule)
                            && names(&entry, &cwd).await =>
                    {
                        answered.push(dialog.rule.clone());
                        let keys = Answer::Keys(dialog.keys.join(" "));
                        match yard.answer(&TerminalRef::Id(entry.id()), &keys).await {
                            Ok(_) => {
                                tracing::info!(id = %entry.id(), rule = %dialog.rule, "answered for its operator")
                            }
                            Err(error) => {
                                tracing::warn!(id = %entry.id(), %error, "a dialog is left to a person")
                            }
                        }
                    }
                    _ => {}
                }
                tokio::select! {
                    changed = status.changed() => if changed.is_err() { return },
                    changed = dialogs.changed() => if changed.is_err() { return },
                }
            }
        });
    }
}

/// Whether the screen names this directory, and so asks about it: a row may end anywhere in it.
async fn names(entry: &Entry, cwd: &Path) -> bool {
    let Some(wanted) = cwd.to_str().map(without_blanks).filter(|wanted| wanted.len() > 1) else {
        return false;
    };
    let Ok(look) = entry.terminal.look(0).await else { return false };
    let rows: String = look.view.screen_lines().iter().map(|line| without_blanks(&line.text)).collect();
    // A longer path that begins with it is another directory.
    let ends = |at: usize| !rows[at + wanted.len()..].starts_with('/');
    rows.match_indices(wanted.as_str()).any(|(at, _)| ends(at))
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
