//! What is written down about a terminal.

use std::collections::BTreeMap;
use std::time::SystemTime;

use ptyard_core::{SessionId, Size, TerminalId};
use ptyard_store::TerminalRow;
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

impl Record {
    /// Its streams, as far as a reader needs to know.
    pub(crate) fn io(&self) -> Io {
        if self.tty { Io::Tty(self.size) } else { Io::Pipes(Stdin::Null) }
    }

    /// What is known of a terminal of which nothing is written down but its log.
    pub(crate) fn unknown(id: TerminalId, session_id: SessionId) -> Self {
        Self {
            id,
            session_id,
            name: None,
            backend: "local".to_owned(),
            argv: Vec::new(),
            cwd: "/".to_owned(),
            tty: true,
            size: Size::DEFAULT,
            env: BTreeMap::new(),
            client: None,
            created_at: SystemTime::UNIX_EPOCH,
            process: None,
            stage: Stage::Started,
            limits: Granted::default(),
        }
    }

    /// As it stands in the store.
    pub(crate) fn row(&self) -> Result<TerminalRow, serde_json::Error> {
        Ok(TerminalRow {
            id: self.id,
            short: self.session_id,
            name: self.name.clone(),
            session: None,
            stage: match self.stage {
                Stage::Starting => ptyard_store::Stage::Starting,
                Stage::Started => ptyard_store::Stage::Started,
            },
            details: serde_json::to_string(self)?,
        })
    }

    /// From the store.
    pub(crate) fn of_row(row: &TerminalRow) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&row.details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_from_its_row() {
        let id = TerminalId::from_bits(7);
        let mut record = Record::unknown(id, SessionId::new(1_000).unwrap());
        record.env.insert("TOKEN".to_owned(), None);
        record.stage = Stage::Starting;
        let row = record.row().unwrap();
        assert_eq!((row.id, row.stage), (id, ptyard_store::Stage::Starting));
        assert_eq!(Record::of_row(&row).unwrap(), record);
    }
}
