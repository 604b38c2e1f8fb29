//! Idempotency keys.

use ptyard_core::TerminalId;
use rusqlite::OptionalExtension;

use crate::answer::{Answer, Survives};
use crate::error::StoreError;
use crate::keys::{KeyClaim, Keys};
use crate::sqlite::{KEYS_KEPT, SqliteStore};

impl Keys for SqliteStore {
    fn claim_key(&self, terminal: TerminalId, key: String, digest: u64) -> Answer<'_, KeyClaim> {
        // All 64 bits count; the sign means nothing.
        let digest = digest.cast_signed();
        self.write(Survives::Server, move |connection| {
            let of = terminal.to_string();
            let seen: Option<(i64, Option<String>)> = connection
                .prepare_cached(
                    "SELECT digest, outcome FROM idempotency_key WHERE terminal = ?1 AND key = ?2",
                )?
                .query_row((&of, &key), |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            match seen {
                Some((of_then, outcome)) if of_then == digest => Ok(KeyClaim::Seen(outcome)),
                Some(_) => Err(StoreError::KeyConflict(key).into()),
                None => {
                    connection
                        .prepare_cached(
                            "INSERT INTO idempotency_key (terminal, key, digest) VALUES (?1, ?2, ?3)",
                        )?
                        .execute((&of, &key, digest))?;
                    connection
                        .prepare_cached(
                            "DELETE FROM idempotency_key WHERE terminal = ?1 AND n NOT IN
                             (SELECT n FROM idempotency_key WHERE terminal = ?1 ORDER BY n DESC LIMIT ?2)",
                        )?
                        .execute((&of, KEYS_KEPT))?;
                    Ok(KeyClaim::New)
                }
            }
        })
    }

    fn settle_key(&self, terminal: TerminalId, key: String, outcome: String) -> Answer<'_, ()> {
        self.write(Survives::Server, move |connection| {
            connection
                .prepare_cached("UPDATE idempotency_key SET outcome = ?3 WHERE terminal = ?1 AND key = ?2")?
                .execute((terminal.to_string(), key, outcome))?;
            Ok(())
        })
    }

    fn free_key(&self, terminal: TerminalId, key: String) -> Answer<'_, ()> {
        self.write(Survives::Server, move |connection| {
            connection
                .prepare_cached("DELETE FROM idempotency_key WHERE terminal = ?1 AND key = ?2")?
                .execute((terminal.to_string(), key))?;
            Ok(())
        })
    }
}
