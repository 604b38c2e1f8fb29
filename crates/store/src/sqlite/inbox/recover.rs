//! What was left half done.

use ptyard_core::{AttemptId, TerminalId};
use rusqlite::{Connection, Error, Row};

use crate::inbox::Attempt;
use crate::owner::Owner;
use crate::sqlite::convert::{parsed, unsigned};
use crate::sqlite::fault::Fault;
use crate::sqlite::inbox::{look, settle};

/// Why a message will never be delivered, or is uncertain.
const RECEIVER_REMOVED: &str = "receiver_removed";

pub(super) fn take_over(connection: &Connection, owner: &Owner) -> Result<Vec<Attempt>, Fault> {
    let left: Vec<(AttemptId, TerminalId)> = connection
        .prepare_cached(
            "UPDATE attempt SET owner = ?1 WHERE state = 'open' AND owner <> ?1 RETURNING id, receiver",
        )?
        .query_map([owner.as_str()], |row| Ok((id(row)?, parsed(row, "receiver")?)))?
        .collect::<Result<_, _>>()?;
    let attempt = |(id, receiver)| Ok(Attempt { id, receiver, messages: look::of_attempt(connection, id)? });
    let mut attempts = left.into_iter().map(attempt).collect::<Result<Vec<_>, Fault>>()?;
    attempts.sort_by_key(|attempt| attempt.id);
    Ok(attempts)
}

/// Settles the mail of a receiver that is no more. What was under way may have arrived.
pub(in crate::sqlite) fn receiver_removed(
    connection: &Connection,
    receiver: TerminalId,
) -> Result<(), Fault> {
    let of = receiver.to_string();
    let open: Vec<AttemptId> = connection
        .prepare_cached("SELECT id FROM attempt WHERE receiver = ?1 AND state = 'open'")?
        .query_map([&of], id)?
        .collect::<Result<_, _>>()?;
    for attempt in open {
        settle::lose(connection, attempt, RECEIVER_REMOVED)?;
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
