//! The idempotency keys of a terminal, written down beside its log: a write that was repeated because its server died is
//! not typed twice by the next one.

use std::collections::VecDeque;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ptyard_terminal::Written;
use serde::{Deserialize, Serialize};

use crate::error::YardError;
use crate::spec::TypedInput;

/// How many keys a terminal remembers; of more, the oldest are forgotten.
const KEYS: usize = 256;

/// From this many lines on the file is written anew with what counts.
const MOST_LINES: usize = 4 * KEYS;

const FILE: &str = "keys";

/// What a key says about a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyState {
    /// It is new: type.
    New,
    /// It was used for this very input: what came of it, if that is known by now.
    Seen(Option<Written>),
}

/// The keys.
///
/// # Invariants
/// 1. A key is in the file before anything of its write is typed.
#[derive(Debug)]
pub(crate) struct Keys {
    file: PathBuf,
    lines: usize,
    seen: VecDeque<Key>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    key: String,
    /// A digest of the input, which can be megabytes.
    input: u64,
    written: Option<Taken>,
}

/// [`Written`], as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Taken {
    taken: usize,
    taken_back: usize,
    mark: u64,
    input_ended: bool,
}

/// One line of the file. Of a key the last one counts.
#[derive(Debug, Serialize, Deserialize)]
enum Line {
    Is(Key),
    Free(String),
}

impl Keys {
    /// Those of the terminal in `directory`.
    pub(crate) fn of(directory: &Path) -> Self {
        let mut keys = Self { file: directory.join(FILE), lines: 0, seen: VecDeque::new() };
        // Most terminals never had one.
        for line in fs::read_to_string(&keys.file).unwrap_or_default().lines() {
            keys.lines += 1;
            // A line that is not whole was not written to the end: nothing of its write was typed.
            match serde_json::from_str(line) {
                Ok(Line::Is(key)) => keys.put(key),
                Ok(Line::Free(key)) => keys.seen.retain(|seen| seen.key != key),
                Err(_) => {}
            }
        }
        keys
    }

    /// Looks a key up, and takes note of it when it is new.
    pub(crate) fn look_up(&mut self, key: &str, input: &TypedInput) -> Result<KeyState, YardError> {
        let input = digest(input);
        if let Some(seen) = self.seen.iter().find(|seen| seen.key == key) {
            return if seen.input == input {
                Ok(KeyState::Seen(seen.written.map(Into::into)))
            } else {
                Err(YardError::KeyConflict(key.to_owned()))
            };
        }
        let key = Key { key: key.to_owned(), input, written: None };
        self.put(key.clone());
        self.note(&Line::Is(key));
        Ok(KeyState::New)
    }

    /// Takes note of what came of a keyed write. Of one that typed nothing the key is free again.
    pub(crate) fn written(&mut self, key: &str, written: Option<Written>) {
        match written.filter(|written| written.taken > 0) {
            Some(written) => {
                let Some(seen) = self.seen.iter_mut().find(|seen| seen.key == key) else { return };
                seen.written = Some(written.into());
                let line = Line::Is(seen.clone());
                self.note(&line);
            }
            None => {
                self.seen.retain(|seen| seen.key != key);
                self.note(&Line::Free(key.to_owned()));
            }
        }
    }

    fn put(&mut self, key: Key) {
        if let Some(seen) = self.seen.iter_mut().find(|seen| seen.key == key.key) {
            *seen = key;
            return;
        }
        if self.seen.len() == KEYS {
            self.seen.pop_front();
        }
        self.seen.push_back(key);
    }

    fn note(&mut self, line: &Line) {
        self.lines += 1;
        let noted = if self.lines > MOST_LINES { self.write_anew() } else { self.append(line) };
        if let Err(error) = noted {
            tracing::warn!(%error, "a key is not written down: after a restart its write could be typed again");
        }
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).open(&self.file)?.write_all(&bytes(line)?)
    }

    fn write_anew(&mut self) -> io::Result<()> {
        let part = self.file.with_extension("part");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        for key in &self.seen {
            file.write_all(&bytes(&Line::Is(key.clone()))?)?;
        }
        self.lines = self.seen.len();
        fs::rename(&part, &self.file)
    }
}

fn bytes(line: &Line) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// FNV-1a, 64 bits: the same in every version of this program, and only there to notice a mistake.
fn digest(input: &TypedInput) -> u64 {
    let feed = |digest: u64, bytes: &[u8]| {
        bytes.iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    };
    let start = 0xcbf2_9ce4_8422_2325;
    match input {
        TypedInput::Bytes(bytes) => feed(feed(start, b"b"), bytes),
        TypedInput::Keys(names) => feed(feed(start, b"k"), names.as_bytes()),
        TypedInput::Paste(text) => feed(feed(start, b"p"), text.as_bytes()),
    }
}

impl From<Written> for Taken {
    fn from(written: Written) -> Self {
        let Written { taken, taken_back, mark, input_ended } = written;
        Self { taken, taken_back, mark, input_ended }
    }
}

impl From<Taken> for Written {
    fn from(taken: Taken) -> Self {
        let Taken { taken, taken_back, mark, input_ended } = taken;
        Self { taken, taken_back, mark, input_ended }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> TypedInput {
        TypedInput::Bytes(text.into())
    }

    const WRITTEN: Written = Written { taken: 3, taken_back: 1, mark: 7, input_ended: false };

    #[test]
    fn law_07_keys_are_known_to_the_next_server_whatever_came_of_them() {
        let directory = tempfile::tempdir().unwrap();
        let mut keys = Keys::of(directory.path());
        for key in ["done", "begun", "free"] {
            assert_eq!(keys.look_up(key, &input(key)).unwrap(), KeyState::New);
        }
        keys.written("done", Some(WRITTEN));
        keys.written("free", None);
        let mut next = Keys::of(directory.path());
        assert_eq!(next.look_up("done", &input("done")).unwrap(), KeyState::Seen(Some(WRITTEN)));
        assert_eq!(next.look_up("begun", &input("begun")).unwrap(), KeyState::Seen(None));
        assert!(next.look_up("done", &input("other")).is_err());
        assert_eq!(next.look_up("free", &input("free")).unwrap(), KeyState::New);
    }

    #[test]
    fn the_file_does_not_grow_with_the_writes_and_a_torn_line_is_no_key() {
        let directory = tempfile::tempdir().unwrap();
        let mut keys = Keys::of(directory.path());
        for n in 0..5 * MOST_LINES {
            assert_eq!(keys.look_up(&n.to_string(), &input("x")).unwrap(), KeyState::New);
        }
        let lines = fs::read_to_string(directory.path().join(FILE)).unwrap().lines().count();
        assert!(lines <= MOST_LINES, "{lines}");
        let mut file = OpenOptions::new().append(true).open(directory.path().join(FILE)).unwrap();
        file.write_all(b"{\"Is\":{\"key\":\"to").unwrap();
        let next = Keys::of(directory.path());
        assert_eq!(next.seen, keys.seen);
    }
}
