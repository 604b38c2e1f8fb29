//! The schema, and how a database of an earlier version comes to it.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::error::StoreError;
use crate::sqlite::fault::told;

/// In the header of our databases: `ptyd`.
pub(super) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"ptyd");

/// The steps from an empty database on; step `n` leads to schema `n + 1`. Steps are added, never changed.
const STEPS: [&str; 4] = [
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_flow_runs.sql"),
    include_str!("migrations/0003_urgent_mail.sql"),
    include_str!("migrations/0004_origin_of_mail.sql"),
];

const OURS: &str = env!("CARGO_PKG_VERSION");

/// Brings the database to the newest schema: each step in a transaction of its own, so that a death between two leaves a
/// database of an earlier version, and nothing in between.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    migrate_by(connection, path, &STEPS)
}

fn migrate_by(connection: &mut Connection, path: &Path, steps: &[&str]) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| told(&error, path);
    loop {
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        step.execute_batch(
            "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, made_by TEXT NOT NULL) STRICT",
        )
        .map_err(failed)?;
        let newest = step
            .query_row(
                "SELECT version, made_by FROM schema_version ORDER BY version DESC LIMIT 1",
                [],
                |row| Ok((row.get::<_, u32>(0)?, row.get::<_, String>(1)?)),
            )
            .optional()
            .map_err(failed)?;
        let (have, made_by) = newest.unwrap_or_default();
        if have as usize > steps.len() {
            return Err(StoreError::Newer {
                path: path.to_owned(),
                their_version: made_by,
                their_schema: have,
                our_version: OURS,
                our_schema: u32::try_from(steps.len()).unwrap_or(u32::MAX),
            });
        }
        let Some(next) = steps.get(have as usize) else { return Ok(()) };
        step.execute_batch(next).map_err(failed)?;
        step.execute("INSERT INTO schema_version VALUES (?1, ?2)", (have + 1, OURS)).map_err(failed)?;
        step.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        step.commit().map_err(failed)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(connection: &Connection) -> Vec<String> {
        let sql =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_step_that_fails_leaves_the_database_of_the_step_before() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("test.db");
        let steps = [
            "CREATE TABLE a (n INTEGER) STRICT",
            "CREATE TABLE b (n INTEGER) STRICT; CREATE TABLE a (m INTEGER)",
        ];
        assert!(migrate_by(&mut connection, path, &steps).is_err());
        assert_eq!(tables(&connection), ["a", "schema_version"]);
        migrate_by(&mut connection, path, &steps[..1]).unwrap();
        let mended = [steps[0], "CREATE TABLE b (n INTEGER) STRICT"];
        migrate_by(&mut connection, path, &mended).unwrap();
        assert_eq!(tables(&connection), ["a", "b", "schema_version"]);
    }

    #[test]
    fn a_database_of_a_newer_version_is_refused_with_both_versions() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("test.db");
        migrate_by(&mut connection, path, &STEPS).unwrap();
        connection.execute("INSERT INTO schema_version VALUES (7, '0.9.3')", []).unwrap();
        let error = migrate_by(&mut connection, path, &STEPS).unwrap_err();
        let said = format!(
            "test.db was made by ptyard 0.9.3 (schema 7); this is ptyard {OURS} (schema {})",
            STEPS.len()
        );
        assert_eq!(error.to_string(), said);
        assert_eq!(error.code(), ptyard_core::ErrorCode::StoreNewer);
    }

    #[test]
    fn flows_of_the_first_schema_are_kept_and_count_from_now_on() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("test.db");
        migrate_by(&mut connection, path, &STEPS[..1]).unwrap();
        connection
            .execute("INSERT INTO flow VALUES ('nightly', '0 3 * * *', 'reviewer', 'look', 1, 77)", [])
            .unwrap();
        migrate_by(&mut connection, path, &STEPS).unwrap();
        let sql =
            "SELECT agent, text, paused, created_ms > 1700000000000 AND created_ms = done_until_ms FROM flow";
        let kept: (String, String, bool, bool) = connection
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .unwrap();
        assert_eq!(kept, (r#"{"profile":"reviewer"}"#.to_owned(), "look".to_owned(), true, true));
    }

    #[test]
    fn mail_of_the_third_schema_is_kept_and_is_a_person_s_where_no_terminal_sent_it() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("test.db");
        migrate_by(&mut connection, path, &STEPS[..3]).unwrap();
        let sql = "INSERT INTO message (receiver, seq, sender, purpose, text, urgency, created_ms)
                   VALUES ('r', 1, 's', 'message', 'x', 'ready', 1), ('r', 2, NULL, 'message', 'y', 'ready', 1)";
        connection.execute(sql, []).unwrap();
        migrate_by(&mut connection, path, &STEPS).unwrap();
        let kept: i64 = connection
            .query_row("SELECT count(*) FROM message WHERE origin IS NULL", [], |row| row.get(0))
            .unwrap();
        assert_eq!(kept, 2);
        let both = "INSERT INTO message (receiver, seq, sender, origin, purpose, text, urgency, created_ms)
                    VALUES ('r', 3, 's', 'client:ui', 'message', 'x', 'ready', 1)";
        assert!(connection.execute(both, []).is_err(), "a terminal is no stranger");
    }

    #[test]
    fn every_table_of_ours_is_strict() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new("test.db")).unwrap();
        for table in tables(&connection) {
            let strict: bool = connection
                .query_row("SELECT strict FROM pragma_table_list WHERE name = ?1", [&table], |row| row.get(0))
                .unwrap();
            assert!(strict, "{table}");
        }
    }
}
