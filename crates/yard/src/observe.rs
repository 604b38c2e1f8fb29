//! From what happens in terminals to the yard's events.

use ptyard_core::{Exit, TerminalId};
use ptyard_terminal::{Observer, TerminalEvent};
use serde_json::json;

use crate::events::Events;
use crate::inbox::Ended;
use crate::yard::Yard;

/// Turns what happens in one terminal into events.
pub(crate) struct EventObserver {
    pub(crate) id: TerminalId,
    pub(crate) events: Events,
    pub(crate) ended: Ended,
}

impl Yard {
    /// Who is told what happens in a terminal.
    pub(crate) fn observer(&self, id: TerminalId) -> EventObserver {
        EventObserver { id, events: self.inner.events.clone(), ended: self.inner.ended.clone() }
    }
}

impl Observer for EventObserver {
    fn event(&self, event: TerminalEvent) {
        let (kind, data) = match event {
            TerminalEvent::Title(title) => ("title", json!({ "title": title })),
            TerminalEvent::Resized(size) => ("resized", json!({ "cols": size.cols(), "rows": size.rows() })),
            TerminalEvent::Status(status) => (
                "program_status",
                json!({
                    "state": status.state.as_str(),
                    "kind": status.kind,
                    "app": status.app,
                    "message": status.message,
                    "id": status.id,
                    "progress": status.progress,
                }),
            ),
            TerminalEvent::Notification { title, body } => {
                ("notification", json!({ "title": title, "body": body }))
            }
            TerminalEvent::ClipboardDropped { encoded_len } => {
                ("clipboard", json!({ "encoded_len": encoded_len, "policy": "dropped" }))
            }
            TerminalEvent::HeldBack(why) => ("log_error", json!({ "error": why, "held_back": true })),
            TerminalEvent::Resumed => ("log_error", json!({ "error": null, "held_back": false })),
            TerminalEvent::LimitReached(limit) => {
                tracing::info!(id = %self.id, %limit, "a program reached a limit");
                ("limit", json!({ "limit": limit }))
            }
            TerminalEvent::Exited(exit, _) => {
                let Exit { code, signal, by, .. } = &exit;
                tracing::info!(id = %self.id, code, signal, by, "a program ended");
                self.ended.note(self.id);
                ("exited", json!({ "exit": exit }))
            }
        };
        self.events.push(kind, Some(self.id), data);
    }
}
