//! What was left half done.

use ptyard_core::{AttemptId, TerminalId};
use rusqlite::{Connection, Error, Row};

use crate::inbox::{Found, Recovered, Step};
use crate::owner::Owner;
use crate::sqlite::convert::{parsed, unsigned, word};
use crate::sqlite::fault::Fault;
use crate::sqlite::inbox::{look, settle};

/// Why a message waits again or is uncertain.
const SERVER_DIED: &str = "server_died";

/// Why a message will never be delivered.
const RECEIVER_REMOVED: &str = "receiver_removed";

pub(super) fn recover(connection: &Connection, owner: &Owner) -> Result<Vec<Recovered>, Fault> {
    let left: Vec<(AttemptId, TerminalId, Step)> = connection
        .prepare_cached("SELECT * FROM attempt WHERE state = 'open' AND owner <> ?1 ORDER BY id")?
        .query_map([owner.as_str()], |row| Ok((id(row)?, parsed(row, "receiver")?, step(row)?)))?
        .collect::<Result<_, _>>()?;
    let mut found = Vec::with_capacity(left.len());
    for (attempt, receiver, step) in left {
        let messages = look::of_attempt(connection, attempt)?.iter().map(|message| message.id).collect();
        let became = if step == Step::Claimed {
            settle::abort(connection, attempt, SERVER_DIED)?;
            Found::Pending
        } else {
            settle::lose(connection, attempt, SERVER_DIED)?;
            Found::Uncertain
        };
        found.push(Recovered { attempt, receiver, step, found: became, messages });
    }
    Ok(found)
}

/// Settles the mail of a receiver that is no more.
pub(in crate::sqlite) fn receiver_removed(
    connection: &Connection,
    receiver: TerminalId,
) -> Result<(), Fault> {
    let of = receiver.to_string();
    let open: Vec<(AttemptId, Step)> = connection
        .prepare_cached("SELECT * FROM attempt WHERE receiver = ?1 AND state = 'open'")?
        .query_map([&of], |row| Ok((id(row)?, step(row)?)))?
        .collect::<Result<_, _>>()?;
    for (attempt, step) in open {
        match step {
            Step::Claimed => settle::fail(connection, attempt, RECEIVER_REMOVED)?,
            Step::Begun | Step::Written { .. } => settle::lose(connection, attempt, RECEIVER_REMOVED)?,
        }
    }
    connection
        .prepare_cached(
            "UPDATE message SET state = 'failed', reason = ?2 WHERE receiver = ?1 AND state = 'pending'",
        )?
        .execute((of, RECEIVER_REMOVED))?;
    Ok(())
}

fn id(row: &Row<'_>) -> Result<AttemptId, Error> {
    Ok(AttemptId::new(unsigned(row.get("id")?)))
}

fn step(row: &Row<'_>) -> Result<Step, Error> {
    let boundary: Option<i64> = row.get("boundary")?;
    word(row, "step", |step| match (step, boundary) {
        ("claimed", None) => Some(Step::Claimed),
        ("begun", None) => Some(Step::Begun),
        ("written", Some(boundary)) => Some(Step::Written { boundary: unsigned(boundary) }),
        _ => None,
    })
}
