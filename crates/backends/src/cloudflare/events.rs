//! Events of a server, as `text/event-stream` has them.

use crate::remote::http::CallError;

/// Longest event, in bytes.
const MOST_EVENT: usize = 4 << 20;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    /// Lines of data are put together with line breaks.
    pub(super) data: String,
}

/// Takes bytes as they come and gives events.
#[derive(Debug, Default)]
pub(super) struct Events {
    held: Vec<u8>,
}

impl Events {
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), CallError> {
        self.held.extend(bytes.iter().filter(|&&byte| byte != b'\r'));
        if self.held.len() > MOST_EVENT {
            return Err(CallError::garbled(format!("an event of more than {MOST_EVENT} bytes")));
        }
        Ok(())
    }

    /// The next whole event, when there is one.
    pub(super) fn next(&mut self) -> Option<Event> {
        loop {
            let length = self.held.windows(2).position(|pair| pair == b"\n\n")?;
            let text: Vec<u8> = self.held.drain(..length + 2).collect();
            let text = String::from_utf8_lossy(&text);
            let field = |name: &str| {
                let found = text.lines().filter_map(move |line| line.strip_prefix(name)?.strip_prefix(':'));
                found.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect::<Vec<_>>().join("\n")
            };
            let event = Event { name: field("event"), data: field("data") };
            // Comments keep connections alive and are no events.
            if event != Event::default() {
                return Some(event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_they_were_cut() {
        let wire =
            b": alive\n\nevent: stdout\ndata: aGkK\n\nevent:exit\r\ndata:{\"exit_code\":\r\ndata:3}\r\n\r\n";
        let event = |name: &str, data: &str| Event { name: name.to_owned(), data: data.to_owned() };
        for piece in 1..wire.len() {
            let (mut events, mut got) = (Events::default(), Vec::new());
            for piece in wire.chunks(piece) {
                events.take(piece).unwrap();
                got.extend(std::iter::from_fn(|| events.next()));
            }
            assert_eq!(got, [event("stdout", "aGkK"), event("exit", "{\"exit_code\":\n3}")]);
        }
    }
}
