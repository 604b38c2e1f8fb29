//! Events.

use rusqlite::{Error, Row};

use crate::answer::{Answer, Survives};
use crate::events::{EventPage, EventRow, Events};
use crate::sqlite::convert::{millis, parsed_if_any, signed, time, unsigned};
use crate::sqlite::{EVENTS_KEPT, SqliteStore};

impl Events for SqliteStore {
    fn reserve_events(&self, upto: u64) -> Answer<'_, u64> {
        self.write(Survives::Server, move |connection| {
            let taken = connection
                .prepare_cached(
                    "INSERT INTO counter (name, value) VALUES ('event', ?1)
                     ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value) RETURNING value",
                )?
                .query_row([signed(upto)], |row| row.get(0))?;
            Ok(unsigned(taken))
        })
    }

    fn release_events(&self, last: u64) -> Answer<'_, ()> {
        self.write(Survives::Server, move |connection| {
            connection
                .prepare_cached("UPDATE counter SET value = min(value, ?1) WHERE name = 'event'")?
                .execute([signed(last)])?;
            Ok(())
        })
    }

    fn append_events(&self, events: Vec<EventRow>) -> Answer<'_, ()> {
        self.write(Survives::Server, move |connection| {
            let Some(newest) = events.iter().map(|event| event.seq).max() else { return Ok(()) };
            let mut insert = connection.prepare_cached(
                "INSERT INTO event (seq, at_ms, kind, terminal, data) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (seq) DO NOTHING",
            )?;
            for event in &events {
                let about = event.terminal.map(|id| id.to_string());
                insert.execute((signed(event.seq), millis(event.at), &event.kind, about, &event.data))?;
            }
            connection
                .prepare_cached("DELETE FROM event WHERE seq <= ?1")?
                .execute([signed(newest.saturating_sub(EVENTS_KEPT))])?;
            Ok(())
        })
    }

    fn events_since(&self, since: u64, most: u32) -> Answer<'_, EventPage> {
        self.read(move |connection| {
            let oldest: Option<i64> =
                connection.prepare_cached("SELECT min(seq) FROM event")?.query_row([], |row| row.get(0))?;
            let mut some =
                connection.prepare_cached("SELECT * FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
            let events = some.query_map((signed(since), most), row)?.collect::<Result<_, _>>()?;
            Ok(EventPage { events, oldest: oldest.map(unsigned) })
        })
    }
}

fn row(row: &Row<'_>) -> Result<EventRow, Error> {
    Ok(EventRow {
        seq: unsigned(row.get("seq")?),
        at: time(row.get("at_ms")?),
        kind: row.get("kind")?,
        terminal: parsed_if_any(row, "terminal")?,
        data: row.get("data")?,
    })
}
