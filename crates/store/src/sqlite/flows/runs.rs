//! Runs of flows.

use std::time::SystemTime;

use ptyard_core::{FlowRunId, MessageId};
use rusqlite::{Connection, Error, OptionalExtension, Row};

use crate::error::StoreError;
use crate::flows::{Cause, ClaimedFlow, DueFlow, FlowRunRow, FlowRunState};
use crate::inbox::{NewMessage, Posted};
use crate::sqlite::FLOW_RUNS_KEPT;
use crate::sqlite::convert::{millis, parsed_if_any, signed, time, unsigned, word};
use crate::sqlite::fault::Fault;
use crate::sqlite::inbox::post::post as post_message;

impl Cause {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Asked => "asked",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Schedule, Self::Asked].into_iter().find(|cause| cause.as_str() == word)
    }
}

impl FlowRunState {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Held => "held",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Missed => "missed",
            Self::Overlap => "overlap",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        use FlowRunState as S;
        [S::Starting, S::Running, S::Held, S::Completed, S::Failed, S::Missed, S::Overlap]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

/// A run to be written down.
struct NewRun<'a> {
    flow: &'a str,
    cause: Cause,
    moment: Option<SystemTime>,
    count: u32,
    state: FlowRunState,
    at: SystemTime,
    note: Option<String>,
}

pub(super) fn claim(connection: &Connection, due: DueFlow) -> Result<Option<ClaimedFlow>, Fault> {
    let claimed = connection
        .prepare_cached(
            "UPDATE flow SET done_until_ms = ?3 WHERE name = ?1 AND paused = 0 AND done_until_ms = ?2",
        )?
        .execute((&due.name, millis(due.done_until), millis(due.until)))?;
    if claimed == 0 {
        return Ok(None);
    }
    let new = |moment, count, state, note| NewRun {
        flow: &due.name,
        cause: Cause::Schedule,
        moment: Some(moment),
        count,
        state,
        at: due.at,
        note,
    };
    let missed = due
        .missed
        .map(|(first, count, why)| insert(connection, new(first, count, FlowRunState::Missed, Some(why))));
    let run = due.moment.map(|moment| {
        let (state, note) = match going(connection, &due.name)? {
            None => (FlowRunState::Starting, None),
            Some(going) => {
                (FlowRunState::Overlap, Some(format!("{} was still {}", going.id, going.state.as_str())))
            }
        };
        insert(connection, new(moment, 1, state, note))
    });
    let claimed = ClaimedFlow { missed: missed.transpose()?, run: run.transpose()? };
    forget_old(connection, &due.name)?;
    Ok(Some(claimed))
}

pub(super) fn begin(connection: &Connection, name: String, at: SystemTime) -> Result<FlowRunRow, Fault> {
    if let Some(going) = going(connection, &name)? {
        return Err(StoreError::FlowRunning { flow: name, run: going.id }.into());
    }
    let state = FlowRunState::Starting;
    let new = NewRun { flow: &name, cause: Cause::Asked, moment: None, count: 1, state, at, note: None };
    let run = insert(connection, new)?;
    forget_old(connection, &name)?;
    Ok(run)
}

pub(super) fn post(
    connection: &Connection,
    id: FlowRunId,
    message: &NewMessage,
) -> Result<(FlowRunRow, Posted), Fault> {
    let posted = post_message(connection, message)?;
    let noted = connection
        .prepare_cached(
            "UPDATE flow_run SET state = 'running', terminal = ?2, message = ?3
             WHERE id = ?1 AND state = 'starting'",
        )?
        .execute((signed(id.get()), message.to.to_string(), signed(posted.id.get())))?;
    if noted == 0 {
        return Err(refused(connection, id)?);
    }
    Ok((known(connection, id)?, posted))
}

pub(super) fn note(
    connection: &Connection,
    id: FlowRunId,
    state: FlowRunState,
    note: Option<String>,
    at: SystemTime,
) -> Result<FlowRunRow, Fault> {
    let ended = (!state.is_open()).then(|| millis(at));
    let noted = connection
        .prepare_cached(
            "UPDATE flow_run SET state = ?2, note = ?3, ended_ms = ?4
             WHERE id = ?1 AND state IN ('starting', 'running', 'held')",
        )?
        .execute((signed(id.get()), state.as_str(), note, ended))?;
    if noted == 0 {
        return Err(refused(connection, id)?);
    }
    known(connection, id)
}

pub(super) fn of_flow(connection: &Connection, name: &str, most: u32) -> Result<Vec<FlowRunRow>, Fault> {
    let mut runs =
        connection.prepare_cached("SELECT * FROM flow_run WHERE flow = ?1 ORDER BY id DESC LIMIT ?2")?;
    let rows = runs.query_map((name, most), row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn open(connection: &Connection) -> Result<Vec<FlowRunRow>, Fault> {
    let mut runs = connection.prepare_cached(
        "SELECT * FROM flow_run WHERE state IN ('starting', 'running', 'held') ORDER BY id",
    )?;
    let rows = runs.query_map([], row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn find(connection: &Connection, id: FlowRunId) -> Result<Option<FlowRunRow>, Fault> {
    let mut one = connection.prepare_cached("SELECT * FROM flow_run WHERE id = ?1")?;
    Ok(one.query_row([signed(id.get())], row).optional()?)
}

fn known(connection: &Connection, id: FlowRunId) -> Result<FlowRunRow, Fault> {
    find(connection, id)?.ok_or_else(|| StoreError::UnknownFlowRun(id).into())
}

/// The run of a flow that is still going.
fn going(connection: &Connection, flow: &str) -> Result<Option<FlowRunRow>, Fault> {
    let mut one = connection.prepare_cached(
        "SELECT * FROM flow_run WHERE flow = ?1 AND state IN ('starting', 'running', 'held')",
    )?;
    Ok(one.query_row([flow], row).optional()?)
}

fn insert(connection: &Connection, new: NewRun<'_>) -> Result<FlowRunRow, Fault> {
    let ended = (!new.state.is_open()).then(|| millis(new.at));
    connection
        .prepare_cached(
            "INSERT INTO flow_run (flow, cause, moment_ms, count, state, begun_ms, ended_ms, note)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute((
            new.flow,
            new.cause.as_str(),
            new.moment.map(millis),
            new.count,
            new.state.as_str(),
            millis(new.at),
            ended,
            new.note,
        ))?;
    known(connection, FlowRunId::new(unsigned(connection.last_insert_rowid())))
}

fn forget_old(connection: &Connection, flow: &str) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "DELETE FROM flow_run WHERE flow = ?1 AND ended_ms IS NOT NULL AND id <=
             (SELECT id FROM flow_run WHERE flow = ?1 AND ended_ms IS NOT NULL
              ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute((flow, FLOW_RUNS_KEPT))?;
    Ok(())
}

/// Why a run could not be changed.
fn refused(connection: &Connection, id: FlowRunId) -> Result<Fault, Fault> {
    known(connection, id)?;
    Ok(StoreError::FlowRunOver(id).into())
}

fn row(row: &Row<'_>) -> Result<FlowRunRow, Error> {
    Ok(FlowRunRow {
        id: FlowRunId::new(unsigned(row.get("id")?)),
        flow: row.get("flow")?,
        cause: word(row, "cause", Cause::of_word)?,
        moment: row.get::<_, Option<i64>>("moment_ms")?.map(time),
        count: row.get("count")?,
        state: word(row, "state", FlowRunState::of_word)?,
        begun_at: time(row.get("begun_ms")?),
        ended_at: row.get::<_, Option<i64>>("ended_ms")?.map(time),
        terminal: parsed_if_any(row, "terminal")?,
        message: row.get::<_, Option<i64>>("message")?.map(|id| MessageId::new(unsigned(id))),
        note: row.get("note")?,
    })
}
