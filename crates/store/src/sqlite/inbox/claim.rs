//! Taking the next batch.

use ptyard_core::AttemptId;
use rusqlite::{Connection, Error, OptionalExtension, Row, Rows};

use crate::inbox::{Attempt, Batch, Claim, Due};
use crate::sqlite::convert::{signed, unsigned};
use crate::sqlite::fault::Fault;
use crate::sqlite::inbox::look;

/// An attempt, when the receiver has none that is not over and a message is due.
const OPEN: &str = "
INSERT INTO attempt (receiver, owner)
SELECT ?1, ?2
WHERE NOT EXISTS (SELECT 1 FROM attempt WHERE receiver = ?1 AND state = 'open')
  AND EXISTS (SELECT 1 FROM message WHERE receiver = ?1 AND state = 'pending' AND (NOT ?3 OR urgency = 'now'))
RETURNING id";

/// What is due, in the order in which it goes: urgent ones before others.
const DUE: &str = "
SELECT id, urgency, purpose, sender, origin, length(CAST(text AS BLOB)) FROM message
WHERE receiver = ?1 AND state = 'pending' AND (NOT ?2 OR urgency = 'now')
ORDER BY urgency, seq LIMIT ?3";

const TAKE: &str = "
UPDATE message SET state = 'dispatching', attempt = ?2, attempts = attempts + 1, reason = NULL WHERE id = ?1";

pub(super) fn claim(connection: &Connection, claim: &Claim) -> Result<Option<Attempt>, Fault> {
    let receiver = claim.receiver.to_string();
    let urgent_only = claim.due == Due::Urgent;
    let (most, bytes) = match claim.batch {
        Batch::One => (1, 0),
        Batch::Run { most, bytes } => (most.max(1), signed(bytes)),
    };
    let attempt: Option<i64> = connection
        .prepare_cached(OPEN)?
        .query_row((&receiver, claim.owner.as_str(), urgent_only), |row| row.get(0))
        .optional()?;
    let Some(attempt) = attempt else { return Ok(None) };
    let run = run(&mut connection.prepare_cached(DUE)?.query((&receiver, urgent_only, most))?, bytes)?;
    let mut take = connection.prepare_cached(TAKE)?;
    for id in run {
        take.execute((id, attempt))?;
    }
    let id = AttemptId::new(unsigned(attempt));
    Ok(Some(Attempt { id, receiver: claim.receiver, messages: look::of_attempt(connection, id)? }))
}

/// The first message that is due and those right behind it that may go with it, up to so many bytes in all. Work is never
/// batched, because its answer is what the turn ends with.
fn run(due: &mut Rows<'_>, most_bytes: i64) -> Result<Vec<i64>, Error> {
    let kind = |row: &Row<'_>| -> Result<(String, String, Option<String>, Option<String>), Error> {
        Ok((row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    };
    let Some(first) = due.next()? else { return Ok(Vec::new()) };
    let (mut run, mut bytes) = (vec![first.get(0)?], first.get::<_, i64>(5)?);
    let of_first = kind(first)?;
    let is_work = !matches!(of_first.1.as_str(), "message" | "notice");
    while !is_work && let Some(next) = due.next()? {
        bytes += next.get::<_, i64>(5)?;
        if bytes > most_bytes || kind(next)? != of_first {
            break;
        }
        run.push(next.get(0)?);
    }
    Ok(run)
}
