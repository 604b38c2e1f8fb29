//! Flows.

use std::time::SystemTime;

use rusqlite::{Error, Row};

use crate::answer::{Answer, Survives};
use crate::error::StoreError;
use crate::flows::{FlowRow, Flows, Run};
use crate::sqlite::SqliteStore;
use crate::sqlite::convert::{millis, time};
use crate::sqlite::fault::Fault;

impl Flows for SqliteStore {
    fn put_flow(&self, flow: FlowRow) -> Answer<'_, ()> {
        self.write(Survives::Machine, move |connection| {
            connection
                .prepare_cached(
                    "INSERT INTO flow (name, cron, profile, text, paused, last_run_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, profile = excluded.profile,
                         text = excluded.text, paused = excluded.paused",
                )?
                .execute((
                    &flow.name,
                    &flow.cron,
                    &flow.profile,
                    &flow.text,
                    flow.run == Run::Paused,
                    flow.last_run.map(millis),
                ))?;
            Ok(())
        })
    }

    fn remove_flow(&self, name: String) -> Answer<'_, ()> {
        self.write(Survives::Machine, move |connection| {
            let gone = connection.prepare_cached("DELETE FROM flow WHERE name = ?1")?.execute([&name])?;
            one(gone, name)
        })
    }

    fn set_flow_run(&self, name: String, run: Run) -> Answer<'_, ()> {
        self.write(Survives::Machine, move |connection| {
            let set = connection
                .prepare_cached("UPDATE flow SET paused = ?2 WHERE name = ?1")?
                .execute((&name, run == Run::Paused))?;
            one(set, name)
        })
    }

    fn claim_flow_run(&self, name: String, last: Option<SystemTime>, this: SystemTime) -> Answer<'_, bool> {
        self.write(Survives::Machine, move |connection| {
            let claimed = connection
                .prepare_cached(
                    "UPDATE flow SET last_run_ms = ?3 WHERE name = ?1 AND paused = 0 AND last_run_ms IS ?2",
                )?
                .execute((name, last.map(millis), millis(this)))?;
            Ok(claimed == 1)
        })
    }

    fn flows(&self) -> Answer<'_, Vec<FlowRow>> {
        self.read(|connection| {
            let mut all = connection.prepare_cached("SELECT * FROM flow ORDER BY name")?;
            let rows = all.query_map([], row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn one(changed: usize, name: String) -> Result<(), Fault> {
    if changed == 0 { Err(StoreError::UnknownFlow(name).into()) } else { Ok(()) }
}

fn row(row: &Row<'_>) -> Result<FlowRow, Error> {
    Ok(FlowRow {
        name: row.get("name")?,
        cron: row.get("cron")?,
        profile: row.get("profile")?,
        text: row.get("text")?,
        run: if row.get("paused")? { Run::Paused } else { Run::Scheduled },
        last_run: row.get::<_, Option<i64>>("last_run_ms")?.map(time),
    })
}
