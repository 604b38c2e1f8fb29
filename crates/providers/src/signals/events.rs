//! What a program's own server tells of its turns, as a stream of events.

use std::collections::BTreeSet;

use ptyard_core::turn::{Rule, Status};
use serde_json::Value;

use super::hook::HookSaid;

/// In which words a program's server tells what happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventWords {
    /// Those of OpenCode: documents with `type` and `properties`.
    Opencode,
}

/// Most sessions at work that are counted; further ones are not. Nothing is taken for ready by it.
const MOST_SESSIONS: usize = 64;

/// Longest id that is taken, in bytes.
const LONGEST_ID: usize = 128;

/// Reads a stream of events: while the program works.
///
/// Who writes to a stream waits for nobody, so it may be read at any time later, when another turn runs. So no text is
/// taken for submitted by it, although the program names texts: the same text may be sent twice. The end of a turn only
/// takes back that the program works: the answer may not be drawn yet, and the screen says when it is ready. Questions are
/// left to the screen too, which shows when they are gone.
#[derive(Debug)]
pub struct EventReader {
    words: EventWords,
    /// Sessions at work.
    busy: BTreeSet<String>,
    /// The last thing that was said is that it works.
    works: bool,
}

impl EventReader {
    /// One that has heard nothing.
    #[must_use]
    pub const fn new(words: EventWords) -> Self {
        Self { words, busy: BTreeSet::new(), works: false }
    }

    /// Reads one event; `None` when it says nothing of a turn.
    pub fn read(&mut self, event: &Value) -> Option<HookSaid> {
        match self.words {
            EventWords::Opencode => self.opencode(event),
        }
    }

    /// The stream ended, or holes are in it: what it said before is not known any more. `None` when that was nothing.
    pub fn lost(&mut self) -> Option<HookSaid> {
        self.busy.clear();
        std::mem::take(&mut self.works).then(|| said(Status::Unknown, "events.lost"))
    }

    fn opencode(&mut self, event: &Value) -> Option<HookSaid> {
        let properties = event.get("properties")?;
        let is = event.get("type")?.as_str()?;
        let session = properties.get("sessionID").and_then(Value::as_str);
        let session = session.filter(|id| id.len() <= LONGEST_ID);
        match is {
            "session.status" => match properties.get("status")?.get("type")?.as_str()? {
                // A request that failed is sent again.
                "busy" | "retry" => Some(self.at_work(session?)),
                "idle" => self.at_rest(session?),
                _ => None,
            },
            "session.idle" | "session.deleted" => self.at_rest(session?),
            _ => None,
        }
    }

    fn at_work(&mut self, session: &str) -> HookSaid {
        if self.busy.len() < MOST_SESSIONS {
            self.busy.insert(session.to_owned());
        }
        self.works = true;
        said(Status::Processing, "events.busy")
    }

    fn at_rest(&mut self, session: &str) -> Option<HookSaid> {
        self.busy.remove(session);
        let rests = self.busy.is_empty() && std::mem::take(&mut self.works);
        rests.then(|| said(Status::Unknown, "events.idle"))
    }
}

fn said(status: Status, rule: &'static str) -> HookSaid {
    HookSaid { status, rule: Rule::named(rule), prompt: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(session: &str, status: &str) -> Value {
        json!({"type": "session.status", "properties": {"sessionID": session, "status": {"type": status}}})
    }

    fn idle(session: &str) -> Value {
        json!({"type": "session.idle", "properties": {"sessionID": session}})
    }

    /// What is said of each event: status and rule.
    fn read(events: &[Value]) -> Vec<(Status, String)> {
        let mut reader = EventReader::new(EventWords::Opencode);
        let said = events.iter().filter_map(|event| reader.read(event));
        said.inspect(|said| assert_eq!(said.prompt, None))
            .map(|said| (said.status, said.rule.to_string()))
            .collect()
    }

    fn works() -> (Status, String) {
        (Status::Processing, "events.busy".to_owned())
    }

    fn rests() -> (Status, String) {
        (Status::Unknown, "events.idle".to_owned())
    }

    #[test]
    fn it_works_until_it_rests_and_nothing_is_ready_by_that() {
        let message = json!({"id": "m", "role": "user", "sessionID": "s"});
        let part = json!({"id": "p", "messageID": "m", "sessionID": "s", "type": "text", "text": "do it"});
        let said = read(&[
            json!({"type": "server.connected", "properties": {}}),
            json!({"type": "message.updated", "properties": {"sessionID": "s", "info": message}}),
            json!({"type": "message.part.updated", "properties": {"sessionID": "s", "part": part}}),
            status("s", "busy"),
            status("s", "retry"),
            json!({"type": "server.heartbeat", "properties": {}}),
            status("s", "idle"),
            idle("s"),
        ]);
        assert_eq!(said, [works(), works(), rests()]);
    }

    #[test]
    fn it_works_while_any_of_its_sessions_does() {
        let said = read(&[status("a", "busy"), status("b", "busy"), idle("a"), idle("c"), idle("b")]);
        assert_eq!(said, [works(), works(), rests()]);
    }

    #[test]
    fn what_was_said_is_taken_back_with_the_stream() {
        let mut reader = EventReader::new(EventWords::Opencode);
        assert_eq!(reader.lost(), None);
        reader.read(&status("s", "busy")).unwrap();
        let lost = reader.lost().unwrap();
        assert_eq!((lost.status, lost.rule.as_str()), (Status::Unknown, "events.lost"));
        assert_eq!((reader.lost(), reader.read(&idle("s"))), (None, None));
    }

    #[test]
    fn a_flood_of_sessions_is_bounded_and_garbage_is_passed_over() {
        let mut reader = EventReader::new(EventWords::Opencode);
        for number in 0..10_000 {
            reader.read(&status(&number.to_string(), "busy"));
        }
        assert_eq!(reader.busy.len(), MOST_SESSIONS);
        for garbage in [
            json!(null),
            json!([]),
            json!({"type": 1, "properties": {}}),
            json!({"type": "session.status"}),
            json!({"type": "session.status", "properties": {"sessionID": [], "status": {"type": "busy"}}}),
            json!({"type": "session.status", "properties": {"sessionID": "s", "status": "busy"}}),
            json!({"type": "session.idle", "properties": {}}),
            status(&"x".repeat(LONGEST_ID + 1), "busy"),
        ] {
            assert_eq!(reader.read(&garbage), None, "{garbage}");
        }
    }
}
