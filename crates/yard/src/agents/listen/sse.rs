//! Server-sent events: from bytes to the documents of events.

/// Longest event that is read, in bytes. A longer one is passed over up to its end, and nothing else with it: what tells
/// of turns is short.
pub(super) const LONGEST_EVENT: usize = 256 << 10;

/// Reads events, however they are cut.
///
/// # Invariants
/// 1. `line` and `data` hold no more than [`LONGEST_EVENT`] together.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// What the event that has not ended yet holds.
    data: Vec<u8>,
    /// The event is too long: its end is waited for.
    is_passed_over: bool,
}

impl Events {
    /// The events that end in `bytes`, in order.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut ended = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = piece.ends_with(b"\n");
            self.push(piece.strip_suffix(b"\n").unwrap_or(piece));
            if is_whole {
                ended.extend(self.end_of_line());
            }
        }
        ended
    }

    fn push(&mut self, piece: &[u8]) {
        if self.line.len() + self.data.len() + piece.len() > LONGEST_EVENT {
            self.is_passed_over = true;
            self.data.clear();
        }
        // Of a line that is passed over it only matters whether it is blank.
        let room = if self.is_passed_over { 2 } else { LONGEST_EVENT };
        self.line.truncate(room);
        let left = room - self.line.len();
        self.line.extend_from_slice(&piece[..piece.len().min(left)]);
        debug_assert!(self.line.len() + self.data.len() <= LONGEST_EVENT, "invariant 1");
    }

    fn end_of_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            let is_passed_over = std::mem::take(&mut self.is_passed_over);
            return (!is_passed_over && !data.is_empty()).then_some(data);
        }
        if let Some(data) = line.strip_prefix(b"data:").filter(|_| !self.is_passed_over) {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Vec<String> {
        texts(Events::default().take(bytes))
    }

    fn texts(events: Vec<Vec<u8>>) -> Vec<String> {
        events.into_iter().map(|event| String::from_utf8(event).unwrap()).collect()
    }

    #[test]
    fn events_are_read_with_whatever_else_stands_there() {
        let stream = b": hello\nevent: x\ndata: one\n\nid: 4\r\ndata:two\r\ndata: three\r\n\r\n\n\nretry: 1\n\ndata: open";
        assert_eq!(read(stream), ["one", "two\nthree"]);
    }

    #[test]
    fn one_that_is_too_long_is_passed_over_alone() {
        let long = "x".repeat(LONGEST_EVENT);
        let mut stream = b"data: one\n\n".to_vec();
        stream.extend_from_slice(format!("data: {long}\n\ndata: two\n\n").as_bytes());
        // In many lines, and with more behind what is too long.
        let lines = format!("data: {}\n", "y".repeat(1000)).repeat(LONGEST_EVENT / 1000 + 1);
        stream.extend_from_slice(format!("{lines}data: z\n\r\n\ndata: three\n\n").as_bytes());
        assert_eq!(read(&stream), ["one", "two", "three"]);
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_they_are_cut(
            lines in proptest::collection::vec("(data: ?[a-z]{0,4}|[a-z:]{0,3}|)\r?\n", 0..20),
            cuts in proptest::collection::vec(1_usize..6, 1..20),
        ) {
            let whole = lines.concat();
            let mut events = Events::default();
            let mut pieces = Vec::new();
            let mut rest = whole.as_bytes();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.extend(events.take(piece));
                rest = after;
            }
            prop_assert_eq!(texts(pieces), read(whole.as_bytes()));
        }
    }
}
