//! Flows and their runs.

mod runs;

use std::time::SystemTime;

use ptyard_core::FlowRunId;
use rusqlite::{Connection, Error, OptionalExtension, Row};

use crate::answer::{Answer, Survives};
use crate::error::StoreError;
use crate::flows::{ClaimedFlow, DueFlow, FlowRow, FlowRunRow, FlowRunState, Flows, Run};
use crate::inbox::{NewMessage, Posted};
use crate::sqlite::SqliteStore;
use crate::sqlite::convert::{millis, time};
use crate::sqlite::fault::Fault;

impl Flows for SqliteStore {
    fn add_flow(&self, flow: FlowRow) -> Answer<'_, ()> {
        self.write(Survives::Machine, move |connection| {
            let added = connection
                .prepare_cached(
                    "INSERT INTO flow (name, cron, zone, agent, text, paused, created_ms, done_until_ms)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (name) DO NOTHING",
                )?
                .execute((
                    &flow.name,
                    &flow.cron,
                    &flow.zone,
                    &flow.agent,
                    &flow.text,
                    flow.run == Run::Paused,
                    millis(flow.created_at),
                    millis(flow.done_until),
                ))?;
            if added == 0 { Err(StoreError::FlowTaken(flow.name).into()) } else { Ok(()) }
        })
    }

    fn remove_flow(&self, name: String) -> Answer<'_, FlowRow> {
        self.write(Survives::Machine, move |connection| {
            let was = known(connection, &name)?;
            connection.prepare_cached("DELETE FROM flow WHERE name = ?1")?.execute([&name])?;
            Ok(was)
        })
    }

    fn set_flow_run(&self, name: String, run: Run, at: SystemTime) -> Answer<'_, FlowRow> {
        self.write(Survives::Machine, move |connection| {
            // One that was not paused is not resumed: its moments are not done.
            connection
                .prepare_cached(
                    "UPDATE flow SET paused = ?2,
                         done_until_ms = CASE WHEN paused = 1 AND ?2 = 0 THEN max(done_until_ms, ?3)
                                              ELSE done_until_ms END
                     WHERE name = ?1",
                )?
                .execute((&name, run == Run::Paused, millis(at)))?;
            known(connection, &name)
        })
    }

    fn claim_flow(&self, due: DueFlow) -> Answer<'_, Option<ClaimedFlow>> {
        self.write(Survives::Machine, move |connection| runs::claim(connection, due))
    }

    fn begin_flow_run(&self, name: String, at: SystemTime) -> Answer<'_, FlowRunRow> {
        self.write(Survives::Machine, move |connection| {
            known(connection, &name)?;
            runs::begin(connection, name, at)
        })
    }

    fn post_flow_run(&self, id: FlowRunId, message: NewMessage) -> Answer<'_, (FlowRunRow, Posted)> {
        self.write(Survives::Machine, move |connection| runs::post(connection, id, &message))
    }

    fn note_flow_run(
        &self,
        id: FlowRunId,
        state: FlowRunState,
        note: Option<String>,
        at: SystemTime,
    ) -> Answer<'_, FlowRunRow> {
        self.write(Survives::Machine, move |connection| runs::note(connection, id, state, note, at))
    }

    fn flows(&self) -> Answer<'_, Vec<FlowRow>> {
        self.read(|connection| {
            let mut all = connection.prepare_cached("SELECT * FROM flow ORDER BY name")?;
            let rows = all.query_map([], row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn flow(&self, name: String) -> Answer<'_, Option<FlowRow>> {
        self.read(move |connection| find(connection, &name))
    }

    fn flow_runs(&self, name: String, most: u32) -> Answer<'_, Vec<FlowRunRow>> {
        self.read(move |connection| runs::of_flow(connection, &name, most))
    }

    fn flow_run(&self, id: FlowRunId) -> Answer<'_, Option<FlowRunRow>> {
        self.read(move |connection| runs::find(connection, id))
    }

    fn open_flow_runs(&self) -> Answer<'_, Vec<FlowRunRow>> {
        self.read(runs::open)
    }
}

fn find(connection: &Connection, name: &str) -> Result<Option<FlowRow>, Fault> {
    let mut one = connection.prepare_cached("SELECT * FROM flow WHERE name = ?1")?;
    Ok(one.query_row([name], row).optional()?)
}

fn known(connection: &Connection, name: &str) -> Result<FlowRow, Fault> {
    find(connection, name)?.ok_or_else(|| StoreError::UnknownFlow(name.to_owned()).into())
}

fn row(row: &Row<'_>) -> Result<FlowRow, Error> {
    Ok(FlowRow {
        name: row.get("name")?,
        cron: row.get("cron")?,
        zone: row.get("zone")?,
        agent: row.get("agent")?,
        text: row.get("text")?,
        run: if row.get("paused")? { Run::Paused } else { Run::Scheduled },
        created_at: time(row.get("created_ms")?),
        done_until: time(row.get("done_until_ms")?),
    })
}
