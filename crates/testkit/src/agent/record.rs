//! What an agent understood, event by event.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One line of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// 1, 2, 3, ...
    pub seq: u64,
    /// Milliseconds since the agent started.
    pub ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Something that happened to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It started.
    Started {
        /// Its process id.
        pid: u32,
    },
    /// The composer takes input.
    Ready,
    /// Input was thrown away.
    Discarded {
        /// `boot`, `dialog` or `busy`.
        during: String,
        /// The input.
        text: String,
    },
    /// A bracketed paste came into the composer.
    Pasted {
        /// Characters.
        characters: usize,
        /// Whether it is shown as one line.
        folded: bool,
    },
    /// An Enter was taken for a line break.
    LineBreakByBurst,
    /// An Enter on an empty composer.
    EmptyEnter,
    /// A message waits for its turn.
    Queued {
        /// The message.
        text: String,
    },
    /// A message began a turn.
    Submitted {
        /// Turns from 1.
        turn: usize,
        /// The message, exactly.
        text: String,
    },
    /// A turn ended.
    TurnEnded {
        /// Turns from 1.
        turn: usize,
        /// `answer`, `error`, `rejected` or `interrupted`.
        how: String,
    },
    /// A dialog opened.
    DialogOpened {
        /// The question.
        text: String,
    },
    /// A choice was made.
    Chosen {
        /// Its text.
        label: String,
    },
    /// A control or an escape sequence that means nothing came as a key.
    Key {
        /// Its bytes, escaped.
        bytes: String,
    },
    /// The composer was cleared by a key.
    Cleared,
    /// The terminal answered that it knows OSC 7501.
    StatusAnswered,
    /// It told its status.
    Reported {
        /// `idle`, `working`, `blocked`, `done`, `error` or `clear`.
        state: String,
    },
    /// It leaves: `exit N`, `crash` or `shell`.
    Left {
        /// How.
        how: String,
    },
}

/// Writes a record. A line is in the file before the screen shows what it is about.
#[derive(Debug)]
pub(super) struct Recorder {
    file: Option<File>,
    seq: u64,
}

impl Recorder {
    /// A recorder into a new file; without a path, into nothing.
    pub(super) fn new(path: Option<&Path>) -> io::Result<Self> {
        Ok(Self { file: path.map(File::create).transpose()?, seq: 0 })
    }

    pub(super) fn write(&mut self, ms: u64, event: Event) -> io::Result<()> {
        self.seq += 1;
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut line = serde_json::to_string(&Entry { seq: self.seq, ms, event })?;
        line.push('\n');
        file.write_all(line.as_bytes())
    }
}

/// A record, read by a test.
#[derive(Debug, Clone)]
pub struct Record {
    path: PathBuf,
}

impl Record {
    /// The record in this file, which need not exist yet.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// What is in it now; nothing when the agent has not begun.
    ///
    /// # Panics
    /// When it cannot be read, or holds something else.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => panic!("the record {}: {error}", self.path.display()),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).expect("a line of the record")).collect()
    }

    /// The events, without their times.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.entries().into_iter().map(|entry| entry.event).collect()
    }

    /// The messages that began a turn, in order.
    #[must_use]
    pub fn submitted(&self) -> Vec<String> {
        let texts = self.events().into_iter().filter_map(|event| match event {
            Event::Submitted { text, .. } => Some(text),
            _ => None,
        });
        texts.collect()
    }

    /// Waits until `done` says so about the events, woken by the file system.
    ///
    /// # Panics
    /// After [`PATIENCE`](crate::PATIENCE).
    pub async fn until(&self, what: &str, done: impl Fn(&[Event]) -> bool) -> Vec<Event> {
        let mut changes = super::program::Changes::of(&self.path);
        crate::soon(what, async {
            loop {
                let events = self.events();
                if done(&events) {
                    return events;
                }
                changes.next().await;
            }
        })
        .await
    }
}
