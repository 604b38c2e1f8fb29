//! Taking the next batch.

use ptyard_core::AttemptId;
use rusqlite::{Connection, OptionalExtension};

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

/// Gives the attempt its messages: the first that is due, urgent ones before others, and those right behind it that may
/// go with it. Work is never batched, because its answer is what the turn ends with.
const TAKE: &str = "
WITH due AS (
    SELECT id, seq, sender, origin, purpose,
           urgency,
           row_number() OVER (ORDER BY urgency, seq) AS place,
           sum(length(CAST(text AS BLOB))) OVER (ORDER BY urgency, seq) AS bytes
    FROM (SELECT * FROM message
          WHERE receiver = ?1 AND state = 'pending' AND (NOT ?3 OR urgency = 'now')
          ORDER BY urgency, seq LIMIT ?4)
),
first AS (SELECT * FROM due WHERE place = 1),
run AS (
    SELECT due.id FROM due, first
    WHERE due.place = 1
       OR (due.bytes <= ?5
           AND due.purpose IN ('message', 'notice')
           AND NOT EXISTS (SELECT 1 FROM due AS before
                           WHERE before.place <= due.place
                             AND (before.sender IS NOT first.sender
                                  OR before.origin IS NOT first.origin OR before.purpose <> first.purpose
                                  OR before.urgency <> first.urgency)))
)
UPDATE message SET state = 'dispatching', attempt = ?2, attempts = attempts + 1, reason = NULL
WHERE id IN run";

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
    connection.prepare_cached(TAKE)?.execute((&receiver, attempt, urgent_only, most, bytes))?;
    let id = AttemptId::new(unsigned(attempt));
    Ok(Some(Attempt { id, receiver: claim.receiver, messages: look::of_attempt(connection, id)? }))
}
