//! Sessions.

use rusqlite::{Error, Row};

use crate::answer::{Answer, Survives};
use crate::sessions::{SessionName, SessionRow, Sessions};
use crate::sqlite::SqliteStore;
use crate::sqlite::convert::{millis, parsed_if_any, time, word};

impl Sessions for SqliteStore {
    fn put_session(&self, row: SessionRow) -> Answer<'_, ()> {
        self.write(Survives::Machine, move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO session (name, conductor, created_ms) VALUES (?1, ?2, ?3)
                     ON CONFLICT (name) DO UPDATE SET conductor = excluded.conductor",
                )?
                .execute((
                    row.name.as_str(),
                    row.conductor.map(|id| id.to_string()),
                    millis(row.created_at),
                ))?;
            Ok(())
        })
    }

    fn remove_session(&self, name: SessionName) -> Answer<'_, ()> {
        self.write(Survives::Machine, move |connection| {
            connection.prepare_cached("DELETE FROM session WHERE name = ?1")?.execute([name.as_str()])?;
            Ok(())
        })
    }

    fn sessions(&self) -> Answer<'_, Vec<SessionRow>> {
        self.read(|connection| {
            let mut all = connection.prepare_cached("SELECT * FROM session ORDER BY n")?;
            let rows = all.query_map([], row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn row(row: &Row<'_>) -> Result<SessionRow, Error> {
    Ok(SessionRow {
        name: word(row, "name", |name| SessionName::new(name))?,
        conductor: parsed_if_any(row, "conductor")?,
        created_at: time(row.get("created_ms")?),
    })
}
