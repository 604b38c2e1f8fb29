//! Looking at mail.

use std::fmt::Write;

use ptyard_core::{AttemptId, MessageId, TerminalId};
use rusqlite::{Connection, Error, OptionalExtension, Row, ToSql};

use crate::inbox::{
    Batching, Mailbox, Message, MessageState, OpenTurn, Page, Purpose, Select, Turn, Urgency,
};
use crate::sqlite::convert::{parsed, parsed_if_any, signed, time, unsigned, word, word_if_any};
use crate::sqlite::fault::Fault;

pub(super) fn message(connection: &Connection, id: MessageId) -> Result<Option<Message>, Fault> {
    let mut one = connection.prepare_cached("SELECT * FROM message WHERE id = ?1")?;
    Ok(one.query_row([signed(id.get())], row).optional()?)
}

/// The messages of an attempt, in order.
pub(super) fn of_attempt(connection: &Connection, attempt: AttemptId) -> Result<Vec<Message>, Fault> {
    let mut some = connection.prepare_cached("SELECT * FROM message WHERE attempt = ?1 ORDER BY seq")?;
    let rows = some.query_map([signed(attempt.get())], row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn messages(connection: &Connection, select: &Select, page: Page) -> Result<Vec<Message>, Fault> {
    let after = signed(page.after.map_or(0, MessageId::get));
    let most = page.most.min(Page::MOST);
    let mut sql = "SELECT * FROM message WHERE id > ?1".to_owned();
    let receiver = select.receiver.map(|receiver| receiver.to_string());
    let mut values: Vec<&dyn ToSql> = vec![&after];
    if let Some(receiver) = &receiver {
        values.push(receiver);
        sql.push_str(" AND receiver = ?2");
    }
    // Words of ours, not of a caller.
    for (place, state) in select.states.iter().enumerate() {
        let before = if place == 0 { " AND state IN (" } else { ", " };
        let _infallible = write!(sql, "{before}'{state}'");
    }
    if !select.states.is_empty() {
        sql.push(')');
    }
    // Of one receiver both orders are the same, and an index has only this one.
    let order = if receiver.is_some() { "seq" } else { "id" };
    let _infallible = write!(sql, " ORDER BY {order} LIMIT {most}");
    let mut some = connection.prepare_cached(&sql)?;
    let rows = some.query_map(values.as_slice(), row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn mailbox(connection: &Connection, receiver: TerminalId) -> Result<Mailbox, Fault> {
    let of = receiver.to_string();
    let count = |sql: &str| -> Result<u64, Fault> {
        Ok(unsigned(connection.prepare_cached(sql)?.query_row([&of], |row| row.get(0))?))
    };
    let oldest = connection
        .prepare_cached(
            "SELECT id, created_ms FROM message WHERE receiver = ?1 AND state = 'pending' ORDER BY seq LIMIT 1",
        )?
        .query_row([&of], |row| Ok((MessageId::new(unsigned(row.get(0)?)), time(row.get(1)?))))
        .optional()?;
    let batching = connection
        .prepare_cached("SELECT batching FROM inbox WHERE receiver = ?1")?
        .query_row([&of], |row| word(row, "batching", Batching::of_word))
        .optional()?;
    Ok(Mailbox {
        batching: batching.unwrap_or_default(),
        urgent: count(
            "SELECT count(*) FROM message WHERE receiver = ?1 AND state = 'pending' AND urgency = 'now'",
        )?,
        pending: count("SELECT count(*) FROM message WHERE receiver = ?1 AND state = 'pending'")?,
        uncertain: count("SELECT count(*) FROM message WHERE receiver = ?1 AND state = 'uncertain'")?,
        oldest,
    })
}

pub(super) fn has_urgent(connection: &Connection, receiver: TerminalId) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS
               (SELECT 1 FROM message WHERE receiver = ?1 AND state = 'pending' AND urgency = 'now')";
    Ok(connection.prepare_cached(sql)?.query_row([receiver.to_string()], |row| row.get(0))?)
}

pub(super) fn receivers_waiting(connection: &Connection) -> Result<Vec<TerminalId>, Fault> {
    let mut all = connection
        .prepare_cached("SELECT DISTINCT receiver FROM message WHERE state = 'pending' ORDER BY receiver")?;
    let rows = all.query_map([], |row| parsed(row, "receiver"))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn open_turn(connection: &Connection, receiver: TerminalId) -> Result<Option<OpenTurn>, Fault> {
    let last = connection
        .prepare_cached(
            "SELECT * FROM message WHERE receiver = ?1 AND turn = 'open' ORDER BY id DESC LIMIT 1",
        )?
        .query_row([receiver.to_string()], row)
        .optional()?;
    Ok(last.and_then(|message| Some(OpenTurn { attempt: message.attempt?, offset: message.offset })))
}

fn row(row: &Row<'_>) -> Result<Message, Error> {
    let number =
        |column: &str| -> Result<Option<u64>, Error> { Ok(row.get::<_, Option<i64>>(column)?.map(unsigned)) };
    Ok(Message {
        id: MessageId::new(unsigned(row.get("id")?)),
        seq: unsigned(row.get("seq")?),
        to: parsed(row, "receiver")?,
        from: parsed_if_any(row, "sender")?,
        origin: parsed_if_any(row, "origin")?,
        purpose: word(row, "purpose", Purpose::of_word)?,
        text: row.get("text")?,
        key: row.get("key")?,
        urgency: word(row, "urgency", Urgency::of_word)?,
        state: word(row, "state", MessageState::of_word)?,
        attempts: row.get("attempts")?,
        attempt: number("attempt")?.map(AttemptId::new),
        reason: row.get("reason")?,
        created_at: time(row.get("created_ms")?),
        delivered_at: row.get::<_, Option<i64>>("delivered_ms")?.map(time),
        evidence: row.get("evidence")?,
        offset: number("evidence_offset")?,
        turn: word_if_any(row, "turn", Turn::of_word)?,
    })
}
