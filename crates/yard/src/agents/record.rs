//! What is on record of an agent that an earlier server ran.

use ptyard_core::turn::{Epoch, Recovered};
use ptyard_store::inbox::{MessageState, Page, Select};
use ptyard_terminal::Terminal;
use ptyard_terminal::agent::{Before, Earlier};

use crate::entry::Entry;
use crate::error::YardError;
use crate::inbox;
use crate::yard::Yard;

impl Yard {
    /// The turn that an agent was in, and the mail of which it is not known whether it arrived: the note beside its log
    /// says what may have been typed, the store what became of it.
    pub(super) async fn on_record(&self, entry: &Entry) -> Result<Earlier, YardError> {
        let (id, store) = (entry.id(), &self.inner.store);
        let directory = self.inner.state.terminal(id);
        let (note, stopped) = (Terminal::noted(&directory), Terminal::is_stopped(&directory));
        let epoch = note.map_or(Epoch::default(), |note| note.epoch);
        if let Some(open) = store.open_turn(id).await? {
            let at = open.offset.unwrap_or_else(|| entry.terminal.log().bounds().end);
            let recovered = Recovered::Taken { attempt: open.attempt, at };
            return Ok(Earlier { epoch, recovered, text: None, before: Before::default(), stopped });
        }
        let doubtful = Select { receiver: Some(id), states: vec![MessageState::Uncertain] };
        let doubtful = store.messages(doubtful, Page { most: Page::MOST, ..Page::default() }).await?;
        let noted = note.and_then(|note| {
            let of_it = doubtful.into_iter().filter(|message| message.attempt == Some(note.attempt));
            let of_it: Vec<_> = of_it.collect();
            let noted = Recovered::Noted { attempt: note.attempt, from: note.from };
            (!of_it.is_empty()).then(|| (noted, inbox::typed(&of_it)))
        });
        let (recovered, text) = noted.unzip();
        let before = note.map_or_else(Before::default, |note| note.before);
        Ok(Earlier { before, epoch, recovered: recovered.unwrap_or(Recovered::Nothing), text, stopped })
    }
}
