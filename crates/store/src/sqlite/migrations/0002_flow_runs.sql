CREATE TABLE flow_2 (
    name          TEXT PRIMARY KEY,
    cron          TEXT NOT NULL,
    zone          TEXT NOT NULL,
    agent         TEXT NOT NULL,
    text          TEXT NOT NULL,
    paused        INTEGER NOT NULL CHECK (paused IN (0, 1)),
    created_ms    INTEGER NOT NULL,
    done_until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was made before had no time of its own: it counts from now on.
INSERT INTO flow_2
SELECT name, cron, 'UTC', json_object('profile', profile), text, paused,
       CAST(unixepoch('subsec') * 1000 AS INTEGER), CAST(unixepoch('subsec') * 1000 AS INTEGER)
FROM flow;

DROP TABLE flow;
ALTER TABLE flow_2 RENAME TO flow;

CREATE TABLE flow_run (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    flow      TEXT NOT NULL REFERENCES flow (name) ON DELETE CASCADE,
    cause     TEXT NOT NULL CHECK (cause IN ('schedule', 'asked')),
    moment_ms INTEGER,
    count     INTEGER NOT NULL,
    state     TEXT NOT NULL
              CHECK (state IN ('starting', 'running', 'held', 'completed', 'failed', 'missed', 'overlap')),
    begun_ms  INTEGER NOT NULL,
    ended_ms  INTEGER,
    terminal  TEXT,
    message   INTEGER REFERENCES message (id) ON DELETE SET NULL,
    note      TEXT,
    CHECK ((state IN ('starting', 'running', 'held')) = (ended_ms IS NULL))
) STRICT;

CREATE INDEX flow_run_flow ON flow_run (flow, id);
CREATE INDEX flow_run_message ON flow_run (message) WHERE message IS NOT NULL;

-- A flow has one run at a time.
CREATE UNIQUE INDEX flow_run_open ON flow_run (flow) WHERE state IN ('starting', 'running', 'held');
