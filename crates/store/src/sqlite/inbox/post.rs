//! Accepting messages.

use ptyard_core::{MessageId, TerminalId};
use rusqlite::{Connection, OptionalExtension};

use crate::error::StoreError;
use crate::inbox::{NewMessage, Posted};
use crate::sqlite::convert::{millis, signed, unsigned};
use crate::sqlite::fault::Fault;
use crate::sqlite::{MOST_PENDING, MOST_TEXT_BYTES};

pub(in crate::sqlite) fn post(connection: &Connection, message: &NewMessage) -> Result<Posted, Fault> {
    if message.text.len() > MOST_TEXT_BYTES {
        let refused = StoreError::TextTooLong { bytes: message.text.len(), most: MOST_TEXT_BYTES };
        return Err(refused.into());
    }
    if let Some(earlier) = posted_before(connection, message)? {
        return Ok(earlier);
    }
    let to = message.to.to_string();
    let pending = count_pending(connection, message.to)?;
    if pending >= MOST_PENDING {
        return Err(StoreError::InboxFull { pending }.into());
    }
    let seq: i64 = connection
        .prepare_cached(
            "INSERT INTO inbox (receiver, last_seq) VALUES (?1, 1)
             ON CONFLICT (receiver) DO UPDATE SET last_seq = last_seq + 1 RETURNING last_seq",
        )?
        .query_row([&to], |row| row.get(0))?;
    connection
        .prepare_cached(
            "INSERT INTO message (receiver, seq, sender, origin, purpose, text, key, urgency, created_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            &to,
            seq,
            message.from.map(|id| id.to_string()),
            message.origin.as_ref().map(ToString::to_string),
            message.purpose.as_str(),
            &message.text,
            &message.key,
            message.urgency.as_str(),
            millis(message.at),
        ))?;
    let id = MessageId::new(unsigned(connection.last_insert_rowid()));
    Ok(Posted { id, seq: unsigned(seq), repeated: false })
}

/// The message its key stands for. Who sends it again may be another connection of the sender, not another sender.
fn posted_before(connection: &Connection, message: &NewMessage) -> Result<Option<Posted>, Fault> {
    let Some(key) = &message.key else { return Ok(None) };
    let found = connection
        .prepare_cached(
            "SELECT id, seq, text = ?3 AND purpose = ?4 AND sender IS ?5 AND origin IS ?6 AS same
             FROM message WHERE receiver = ?1 AND key = ?2",
        )?
        .query_row(
            (
                message.to.to_string(),
                key,
                &message.text,
                message.purpose.as_str(),
                message.from.map(|id| id.to_string()),
                message.origin.as_ref().map(ToString::to_string),
            ),
            |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?)),
        )
        .optional()?;
    match found {
        None => Ok(None),
        Some((id, seq, true)) => {
            Ok(Some(Posted { id: MessageId::new(unsigned(id)), seq: unsigned(seq), repeated: true }))
        }
        Some((.., false)) => Err(StoreError::KeyConflict(key.clone()).into()),
    }
}

/// How many messages wait for a receiver, counted no further than the bound needs.
fn count_pending(connection: &Connection, receiver: TerminalId) -> Result<u64, Fault> {
    let count: i64 = connection
        .prepare_cached(
            "SELECT count(*) FROM
             (SELECT 1 FROM message WHERE receiver = ?1 AND state = 'pending' LIMIT ?2)",
        )?
        .query_row((receiver.to_string(), signed(MOST_PENDING)), |row| row.get(0))?;
    Ok(unsigned(count))
}
