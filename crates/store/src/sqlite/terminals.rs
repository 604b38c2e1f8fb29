//! Terminals.

use ptyard_core::{SessionId, TerminalId};
use rusqlite::{Connection, Error, Row};

use crate::answer::{Answer, Survives};
use crate::sessions::SessionName;
use crate::sqlite::convert::{parsed, word, word_if_any};
use crate::sqlite::fault::Fault;
use crate::sqlite::{SqliteStore, inbox};
use crate::terminals::{Stage, TerminalRow, Terminals};

impl Stage {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Started => "started",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Starting, Self::Started].into_iter().find(|stage| stage.as_str() == word)
    }
}

impl Terminals for SqliteStore {
    fn put_terminal(&self, row: TerminalRow) -> Answer<'_, ()> {
        self.write(Survives::Server, move |connection| put(connection, &row))
    }

    fn remove_terminal(&self, id: TerminalId) -> Answer<'_, ()> {
        self.write(Survives::Server, move |connection| {
            inbox::receiver_removed(connection, id)?;
            connection.prepare_cached("DELETE FROM terminal WHERE id = ?1")?.execute([id.to_string()])?;
            Ok(())
        })
    }

    fn terminals(&self) -> Answer<'_, Vec<TerminalRow>> {
        self.read(|connection| {
            let mut all = connection.prepare_cached("SELECT * FROM terminal ORDER BY id")?;
            let rows = all.query_map([], row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn put(connection: &Connection, row: &TerminalRow) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO terminal (id, short, name, session, stage, details) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET short = excluded.short, name = excluded.name,
                 session = excluded.session, stage = excluded.stage, details = excluded.details",
        )?
        .execute((
            row.id.to_string(),
            row.short.get(),
            &row.name,
            row.session.as_ref().map(SessionName::as_str),
            row.stage.as_str(),
            &row.details,
        ))?;
    Ok(())
}

fn row(row: &Row<'_>) -> Result<TerminalRow, Error> {
    let short: u32 = row.get("short")?;
    Ok(TerminalRow {
        id: parsed(row, "id")?,
        short: SessionId::new(short).ok_or(Error::IntegralValueOutOfRange(1, short.into()))?,
        name: row.get("name")?,
        session: word_if_any(row, "session", |name| SessionName::new(name))?,
        stage: word(row, "stage", Stage::of_word)?,
        details: row.get("details")?,
    })
}
