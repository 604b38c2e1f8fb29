//! What herdr tells: events, and the panes of a snapshot. Whatever is not understood is nothing.

use serde_json::Value;

/// What herdr says of the agent in a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentStatus {
    /// It waits, or nothing that herdr knows is on its screen.
    Idle,
    Working,
    Blocked,
    /// It waits, and nobody has looked since it finished.
    Done,
    /// herdr sees no agent, or says a word that is new.
    Unknown,
}

impl AgentStatus {
    fn of(word: &str) -> Self {
        match word {
            "idle" => Self::Idle,
            "working" => Self::Working,
            "blocked" => Self::Blocked,
            "done" => Self::Done,
            _ => Self::Unknown,
        }
    }
}

/// A pane, as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pane {
    /// Its id, which another pane may have by tomorrow.
    pub(super) pane: String,
    /// herdr's id of its terminal, which stays, where it is told.
    pub(super) terminal: Option<String>,
    pub(super) tab: Option<String>,
    pub(super) status: Option<AgentStatus>,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    Updated(Pane),
    /// A pane or a workspace was closed, now or at any time before: herdr tells all it remembers to whoever subscribes.
    /// Ids of panes may have moved.
    Closed,
}

/// An id: text, or a number.
pub(super) fn id(of: &Value, key: &str) -> Option<String> {
    match of.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

pub(super) fn pane(value: &Value) -> Option<Pane> {
    Some(Pane {
        pane: id(value, "pane_id")?,
        terminal: id(value, "terminal_id"),
        tab: id(value, "tab_id"),
        status: value.get("agent_status").and_then(Value::as_str).map(AgentStatus::of),
    })
}

/// Reads a line. Bytes that are no UTF-8 are marks in it, and no reason to miss what it says.
pub(super) fn event(line: &[u8]) -> Option<Event> {
    let text = String::from_utf8_lossy(line);
    let value: Value = serde_json::from_str(&text).ok()?;
    let name = value.get("event").or_else(|| value.get("type"))?.as_str()?.replace('.', "_");
    let data = value.get("data").filter(|data| data.is_object())?;
    match name.as_str() {
        "pane_updated" => {
            let told = match data.get("pane") {
                Some(nested) => nested,
                None => data,
            };
            pane(told).map(Event::Updated)
        }
        "pane_closed" | "workspace_closed" => Some(Event::Closed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn working(pane: &str) -> Event {
        let status = Some(AgentStatus::Working);
        Event::Updated(Pane { pane: pane.to_owned(), terminal: None, tab: None, status })
    }

    #[test]
    fn events_are_read_in_all_their_forms() {
        for line in [
            r#"{"event":"pane_updated","data":{"pane":{"pane_id":"1-2","agent_status":"working"}}}"#,
            r#"{"event":"pane.updated","data":{"pane":{"pane_id":"1-2","agent_status":"working","x":[{}]}}}"#,
            r#"{"type":"pane.updated","data":{"pane_id":"1-2","agent_status":"working"}}"#,
        ] {
            assert_eq!(event(line.as_bytes()), Some(working("1-2")), "{line}");
        }
        let numbered = br#"{"event":"pane_updated","data":{"pane":{"pane_id":7,"agent_status":"working"}}}"#;
        assert_eq!(event(numbered), Some(working("7")));
        for line in [
            r#"{"event":"pane_closed","data":{"pane_id":"1-2","workspace_id":"1"}}"#,
            r#"{"event":"workspace.closed","data":{"workspace_id":"1"}}"#,
        ] {
            assert_eq!(event(line.as_bytes()), Some(Event::Closed), "{line}");
        }
    }

    #[test]
    fn case_w14_odd_lines_are_nothing_and_end_nothing() {
        for line in [
            "[]",
            "[1,2]",
            "null",
            "7",
            "\"text\"",
            "{}",
            "{\"event\":7}",
            r#"{"id":"sub_all","result":{}}"#,
            r#"{"event":"pane_updated"}"#,
            r#"{"event":"pane_updated","data":[]}"#,
            r#"{"event":"pane_updated","data":{"pane":null}}"#,
            r#"{"event":"pane_updated","data":{"pane":{"agent_status":"working"}}}"#,
            r#"{"event":"pane_updated","pane_id":"1-2","agent_status":"working"}"#,
            r#"{"event":"workspace_created","data":{"workspace_id":"1"}}"#,
            "{\"event\":\"pane_updated\",\"data\":",
        ] {
            assert_eq!(event(line.as_bytes()), None, "{line}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(event(deep.as_bytes()), None);
        let mut bad = br#"{"event":"pane_updated","data":{"pane":{"title":""#.to_vec();
        bad.extend_from_slice(b"\xff\xfe\xc3");
        bad.extend_from_slice(br#"","pane_id":"1-2","agent_status":"working"}}}"#);
        assert_eq!(event(&bad), Some(working("1-2")));
    }

    proptest! {
        #[test]
        fn case_w14_no_bytes_end_anything(line in prop::collection::vec(any::<u8>(), 0..200)) {
            let _nothing_or_something = event(&line);
        }
    }
}
