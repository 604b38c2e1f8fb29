//! What is said about an attempt.

use ptyard_core::AttemptId;
use rusqlite::{Connection, OptionalExtension};

use crate::error::StoreError;
use crate::inbox::{Message, Receipt};
use crate::sqlite::convert::{millis, signed};
use crate::sqlite::fault::Fault;
use crate::sqlite::inbox::look;

pub(super) fn confirm(
    connection: &Connection,
    attempt: AttemptId,
    receipt: &Receipt,
) -> Result<Vec<Message>, Fault> {
    step(
        connection,
        attempt,
        "UPDATE attempt SET state = 'delivered', reason = NULL WHERE id = ?1 AND state IN ('open', 'uncertain')",
    )?;
    connection
        .prepare_cached(
            "UPDATE message SET state = 'delivered', reason = NULL, delivered_ms = ?2, evidence = ?3,
                 evidence_offset = ?4, turn = 'open'
             WHERE attempt = ?1 AND state IN ('dispatching', 'uncertain')",
        )?
        .execute((
            signed(attempt.get()),
            millis(receipt.at),
            &receipt.evidence,
            receipt.offset.map(signed),
        ))?;
    look::of_attempt(connection, attempt)
}

pub(super) fn abort(
    connection: &Connection,
    attempt: AttemptId,
    reason: &str,
) -> Result<Vec<Message>, Fault> {
    let sql = "UPDATE attempt SET state = 'aborted', reason = ?2 WHERE id = ?1 AND state = 'open'";
    end(connection, attempt, sql, "pending", reason)
}

pub(super) fn fail(connection: &Connection, attempt: AttemptId, reason: &str) -> Result<Vec<Message>, Fault> {
    let sql =
        "UPDATE attempt SET state = 'failed', reason = ?2 WHERE id = ?1 AND state IN ('open', 'uncertain')";
    end(connection, attempt, sql, "failed", reason)
}

pub(super) fn lose(connection: &Connection, attempt: AttemptId, reason: &str) -> Result<Vec<Message>, Fault> {
    let sql = "UPDATE attempt SET state = 'uncertain', reason = ?2 WHERE id = ?1 AND state = 'open'";
    end(connection, attempt, sql, "uncertain", reason)
}

pub(super) fn complete_turn(connection: &Connection, attempt: AttemptId) -> Result<Vec<Message>, Fault> {
    connection
        .prepare_cached("UPDATE message SET turn = 'completed' WHERE attempt = ?1 AND state = 'delivered'")?
        .execute([signed(attempt.get())])?;
    look::of_attempt(connection, attempt)
}

/// Ends an attempt by `sql`, and its messages with it.
fn end(
    connection: &Connection,
    attempt: AttemptId,
    sql: &str,
    state: &str,
    reason: &str,
) -> Result<Vec<Message>, Fault> {
    let number = signed(attempt.get());
    let changed = connection.prepare_cached(sql)?.execute((number, reason))?;
    changed_one(connection, attempt, changed)?;
    connection
        .prepare_cached(
            "UPDATE message SET state = ?2, reason = ?3
             WHERE attempt = ?1 AND state IN ('dispatching', 'uncertain')",
        )?
        .execute((number, state, reason))?;
    look::of_attempt(connection, attempt)
}

fn step(connection: &Connection, attempt: AttemptId, sql: &str) -> Result<(), Fault> {
    let changed = connection.prepare_cached(sql)?.execute([signed(attempt.get())])?;
    changed_one(connection, attempt, changed)
}

/// Says why an attempt was not changed.
fn changed_one(connection: &Connection, attempt: AttemptId, changed: usize) -> Result<(), Fault> {
    if changed == 1 {
        return Ok(());
    }
    let there: Option<()> = connection
        .prepare_cached("SELECT 1 FROM attempt WHERE id = ?1")?
        .query_row([signed(attempt.get())], |_row| Ok(()))
        .optional()?;
    Err(there.map_or(StoreError::UnknownAttempt(attempt), |()| StoreError::AttemptOver(attempt)).into())
}
