//! What a person, or time, does to mail.

use ptyard_core::{MessageId, TerminalId};
use rusqlite::Connection;

use crate::error::StoreError;
use crate::inbox::{Batching, MOST_DEAD_LETTERS, Message, MessageState};
use crate::sqlite::convert::{signed, unsigned};
use crate::sqlite::fault::Fault;
use crate::sqlite::inbox::look;

pub(super) fn cancel(connection: &Connection, id: MessageId) -> Result<Message, Fault> {
    let sql = "UPDATE message SET state = 'cancelled' WHERE id = ?1 AND state IN ('pending', 'failed', 'uncertain')";
    change(connection, id, sql, MessageState::Cancelled)
}

pub(super) fn retry(connection: &Connection, id: MessageId) -> Result<Message, Fault> {
    // The attempt of before is no longer its own: evidence that comes for it now is not evidence of the next.
    let sql = "UPDATE message SET state = 'pending', attempt = NULL, reason = NULL
               WHERE id = ?1 AND state IN ('failed', 'uncertain', 'cancelled')";
    change(connection, id, sql, MessageState::Pending)
}

/// Changes a message by `sql`; one that is `already` so stays as it is.
fn change(
    connection: &Connection,
    id: MessageId,
    sql: &str,
    already: MessageState,
) -> Result<Message, Fault> {
    let changed = connection.prepare_cached(sql)?.execute([signed(id.get())])?;
    let message = look::message(connection, id)?.ok_or(StoreError::UnknownMessage(id))?;
    if changed == 0 && message.state != already {
        return Err(StoreError::Settled { message: id, state: message.state }.into());
    }
    Ok(message)
}

pub(super) fn set_batching(
    connection: &Connection,
    receiver: TerminalId,
    batching: Batching,
) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO inbox (receiver, last_seq, batching) VALUES (?1, 0, ?2)
             ON CONFLICT (receiver) DO UPDATE SET batching = ?2",
        )?
        .execute((receiver.to_string(), batching.as_str()))?;
    Ok(())
}

pub(super) fn give_up(
    connection: &Connection,
    receiver: TerminalId,
    reason: &str,
) -> Result<Vec<Message>, Fault> {
    let of = receiver.to_string();
    let ids: Vec<i64> = connection
        .prepare_cached(
            "UPDATE message SET state = 'failed', reason = ?2 WHERE id IN
             (SELECT id FROM message WHERE receiver = ?1 AND state = 'pending' ORDER BY seq LIMIT ?3)
             RETURNING id",
        )?
        .query_map((of, reason, MOST_DEAD_LETTERS), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let message = |id| look::message(connection, MessageId::new(unsigned(id)));
    let mut given_up =
        ids.into_iter().filter_map(|id| message(id).transpose()).collect::<Result<Vec<_>, _>>()?;
    given_up.sort_by_key(|message| message.id);
    Ok(given_up)
}

pub(super) fn forget_settled(connection: &Connection, keep: u32) -> Result<u64, Fault> {
    let forgotten = connection
        .prepare_cached(
            "DELETE FROM message WHERE state IN ('delivered', 'failed', 'cancelled') AND id <=
             (SELECT id FROM message WHERE state IN ('delivered', 'failed', 'cancelled')
              ORDER BY id DESC LIMIT 1 OFFSET ?1)",
        )?
        .execute([keep])?;
    if forgotten > 0 {
        connection
            .prepare_cached(
                "DELETE FROM attempt WHERE state <> 'open'
                 AND NOT EXISTS (SELECT 1 FROM message WHERE message.attempt = attempt.id)",
            )?
            .execute([])?;
    }
    Ok(forgotten as u64)
}
