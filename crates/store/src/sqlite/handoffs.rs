//! Handoffs.

use ptyard_core::{HandoffId, MessageId, TerminalId};
use rusqlite::{Connection, Error, OptionalExtension, Row};

use crate::answer::{Answer, Survives};
use crate::error::StoreError;
use crate::handoffs::{HandoffRow, HandoffState, Handoffs, NewHandoff};
use crate::inbox::{NewMessage, Posted};
use crate::sqlite::convert::{millis, parsed, parsed_if_any, signed, time, unsigned, word};
use crate::sqlite::fault::Fault;
use crate::sqlite::inbox::post::post;
use crate::sqlite::{HANDOFFS_KEPT, SqliteStore};

impl HandoffState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Open, Self::Done, Self::Failed].into_iter().find(|state| state.as_str() == word)
    }
}

impl Handoffs for SqliteStore {
    fn post_handoff(&self, message: NewMessage, handoff: NewHandoff) -> Answer<'_, (Posted, HandoffId)> {
        self.write(Survives::Machine, move |connection| {
            let posted = post(connection, &message)?;
            let id = open(connection, &NewHandoff { message: Some(posted.id), ..handoff })?;
            Ok((posted, id))
        })
    }

    fn close_handoff(&self, id: HandoffId, state: HandoffState, result: String) -> Answer<'_, ()> {
        self.write(Survives::Machine, move |connection| {
            let number = signed(id.get());
            let closed = connection
                .prepare_cached(
                    "UPDATE handoff SET state = ?2, result = ?3 WHERE id = ?1 AND state = 'open'",
                )?
                .execute((number, state.as_str(), result))?;
            if closed == 0 {
                let there =
                    connection.prepare_cached("SELECT 1 FROM handoff WHERE id = ?1")?.exists([number])?;
                let refused =
                    if there { StoreError::HandoffOver(id) } else { StoreError::UnknownHandoff(id) };
                return Err(refused.into());
            }
            connection
                .prepare_cached("DELETE FROM handoff WHERE id <= ?1 AND state <> 'open'")?
                .execute([number.saturating_sub(signed(HANDOFFS_KEPT))])?;
            Ok(())
        })
    }

    fn handoff(&self, id: HandoffId) -> Answer<'_, Option<HandoffRow>> {
        self.read(move |connection| {
            let mut one = connection.prepare_cached("SELECT * FROM handoff WHERE id = ?1")?;
            Ok(one.query_row([signed(id.get())], row).optional()?)
        })
    }

    fn handoffs_of(&self, caller: Option<TerminalId>, most: u32) -> Answer<'_, Vec<HandoffRow>> {
        self.read(move |connection| {
            let mut of_caller = connection
                .prepare_cached("SELECT * FROM handoff WHERE caller IS ?1 ORDER BY id DESC LIMIT ?2")?;
            let rows = of_caller.query_map((caller.map(|id| id.to_string()), most), row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn open_handoffs(&self) -> Answer<'_, Vec<HandoffRow>> {
        self.read(|connection| {
            let mut open =
                connection.prepare_cached("SELECT * FROM handoff WHERE state = 'open' ORDER BY id")?;
            let rows = open.query_map([], row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn open(connection: &Connection, handoff: &NewHandoff) -> Result<HandoffId, Fault> {
    connection
        .prepare_cached("INSERT INTO handoff (caller, worker, message, created_ms) VALUES (?1, ?2, ?3, ?4)")?
        .execute((
            handoff.caller.map(|id| id.to_string()),
            handoff.worker.to_string(),
            handoff.message.map(|id| signed(id.get())),
            millis(handoff.at),
        ))?;
    Ok(HandoffId::new(unsigned(connection.last_insert_rowid())))
}

fn row(row: &Row<'_>) -> Result<HandoffRow, Error> {
    Ok(HandoffRow {
        id: HandoffId::new(unsigned(row.get("id")?)),
        handoff: NewHandoff {
            caller: parsed_if_any(row, "caller")?,
            worker: parsed(row, "worker")?,
            message: row.get::<_, Option<i64>>("message")?.map(|id| MessageId::new(unsigned(id))),
            at: time(row.get("created_ms")?),
        },
        state: word(row, "state", HandoffState::of_word)?,
        result: row.get("result")?,
    })
}
