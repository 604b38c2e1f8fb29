-- Times are milliseconds since 1970 for people to read; nothing is ordered by one.

CREATE TABLE session (
    n          INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL UNIQUE,
    conductor  TEXT REFERENCES terminal (id) ON DELETE SET NULL,
    created_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX session_conductor ON session (conductor) WHERE conductor IS NOT NULL;

CREATE TABLE terminal (
    id      TEXT PRIMARY KEY,
    short   INTEGER NOT NULL,
    name    TEXT,
    session TEXT REFERENCES session (name) ON DELETE SET NULL,
    stage   TEXT NOT NULL CHECK (stage IN ('starting', 'started')),
    details TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX terminal_session ON terminal (session) WHERE session IS NOT NULL;

CREATE TABLE idempotency_key (
    n        INTEGER PRIMARY KEY AUTOINCREMENT,
    terminal TEXT NOT NULL REFERENCES terminal (id) ON DELETE CASCADE,
    key      TEXT NOT NULL,
    digest   INTEGER NOT NULL,
    outcome  TEXT,
    UNIQUE (terminal, key)
) STRICT;

-- Numbers that were taken, which may be more than what is kept.
CREATE TABLE counter (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    seq      INTEGER PRIMARY KEY,
    at_ms    INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    terminal TEXT,
    data     TEXT NOT NULL
) STRICT;

-- The last number given in each inbox. It outlives the messages.
CREATE TABLE inbox (
    receiver TEXT PRIMARY KEY,
    last_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    receiver TEXT NOT NULL,
    owner    TEXT NOT NULL,
    state    TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'delivered', 'failed', 'aborted', 'uncertain')),
    reason   TEXT
) STRICT;

CREATE UNIQUE INDEX attempt_open ON attempt (receiver) WHERE state = 'open';

CREATE TABLE message (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    receiver        TEXT NOT NULL,
    seq             INTEGER NOT NULL,
    sender          TEXT,
    purpose         TEXT NOT NULL CHECK (purpose IN ('message', 'handoff', 'assign', 'notice')),
    text            TEXT NOT NULL,
    key             TEXT,
    urgency         TEXT NOT NULL CHECK (urgency IN ('now', 'ready')),
    state           TEXT NOT NULL DEFAULT 'pending'
                    CHECK (state IN ('pending', 'dispatching', 'delivered', 'failed', 'uncertain', 'cancelled')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    attempt         INTEGER REFERENCES attempt (id),
    reason          TEXT,
    created_ms      INTEGER NOT NULL,
    delivered_ms    INTEGER,
    evidence        TEXT,
    evidence_offset INTEGER,
    turn            TEXT CHECK (turn IN ('open', 'completed')),
    UNIQUE (receiver, seq),
    UNIQUE (receiver, key),
    CHECK (state <> 'dispatching' OR attempt IS NOT NULL),
    CHECK ((state = 'delivered') = (delivered_ms IS NOT NULL))
) STRICT;

CREATE INDEX message_pending ON message (receiver, seq) WHERE state = 'pending';
CREATE INDEX message_uncertain ON message (receiver) WHERE state = 'uncertain';
CREATE INDEX message_settled ON message (id) WHERE state IN ('delivered', 'failed', 'cancelled');
CREATE INDEX message_turn ON message (receiver, id) WHERE turn = 'open';
CREATE INDEX message_attempt ON message (attempt) WHERE attempt IS NOT NULL;

CREATE TABLE handoff (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    caller     TEXT,
    worker     TEXT NOT NULL,
    message    INTEGER REFERENCES message (id) ON DELETE SET NULL,
    created_ms INTEGER NOT NULL,
    state      TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'failed')),
    result     TEXT,
    CHECK ((state = 'open') = (result IS NULL))
) STRICT;

CREATE INDEX handoff_open ON handoff (id) WHERE state = 'open';
CREATE INDEX handoff_message ON handoff (message) WHERE message IS NOT NULL;

CREATE TABLE flow (
    name        TEXT PRIMARY KEY,
    cron        TEXT NOT NULL,
    profile     TEXT NOT NULL,
    text        TEXT NOT NULL,
    paused      INTEGER NOT NULL CHECK (paused IN (0, 1)),
    last_run_ms INTEGER
) STRICT, WITHOUT ROWID;
