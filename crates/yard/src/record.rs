//! What is written down about a terminal, beside its log.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::SystemTime;

use ptyard_core::{SessionId, Size, TerminalId};
use ptyard_terminal::backend::{Io, Stdin};
use ptyard_terminal::local::Identity;
use serde::{Deserialize, Serialize};

use crate::limits::Granted;

/// A terminal as it was started. Values of variables the caller gave are not in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) id: TerminalId,
    pub(crate) session_id: SessionId,
    pub(crate) name: Option<String>,
    pub(crate) backend: String,
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) tty: bool,
    pub(crate) size: Size,
    pub(crate) env: BTreeMap<String, Option<String>>,
    pub(crate) client: Option<String>,
    pub(crate) created_at: SystemTime,
    /// The program's process on this machine, once it was started.
    #[serde(default)]
    pub(crate) process: Option<Identity>,
    #[serde(default)]
    pub(crate) stage: Stage,
    #[serde(default)]
    pub(crate) limits: Granted,
}

/// How far a start came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// The program is about to be started: when it is not there, it never was.
    Starting,
    /// It was started.
    #[default]
    Started,
}

const FILE: &str = "terminal.json";

impl Record {
    /// Its streams, as far as a reader needs to know.
    pub(crate) fn io(&self) -> Io {
        if self.tty { Io::Tty(self.size) } else { Io::Pipes(Stdin::Null) }
    }

    /// Writes it into the terminal's directory, whole or not at all.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        let part = directory.join("terminal.json.part");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        drop(file);
        std::fs::rename(&part, directory.join(FILE))
    }

    /// Reads it from a terminal's directory.
    pub(crate) fn read(directory: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&std::fs::read(directory.join(FILE))?)?)
    }
}
