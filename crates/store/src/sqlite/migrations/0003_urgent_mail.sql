-- How much one attempt takes.
ALTER TABLE inbox ADD COLUMN batching TEXT NOT NULL DEFAULT 'one' CHECK (batching IN ('one', 'drain'));

-- 'now' comes before 'ready', as it is to be handed over.
CREATE INDEX message_due ON message (receiver, urgency, seq) WHERE state = 'pending';
DROP INDEX message_pending;
