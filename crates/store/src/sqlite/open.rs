//! Opening the file.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::sqlite::fault::told;
use crate::sqlite::migrate::{APPLICATION_ID, migrate};

/// How long one connection waits for the other, which holds a lock for the blink of a checkpoint.
const BUSY: Duration = Duration::from_secs(5);

/// Up to this size the whole database is checked at every opening; a larger one only where it is read. Checking takes
/// about 3 ms for each MiB.
const CHECKED_BYTES: u64 = 16 << 20;

/// To this size the log of writes is cut back once it was longer.
const WAL_BYTES: i64 = 16 << 20;

/// A connection that writes and one that reads.
pub(super) fn connections(path: &Path) -> Result<(Connection, Connection), StoreError> {
    private_file(path).map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full(path.to_owned()),
        _ => StoreError::Unwritable { path: path.to_owned(), why: error.to_string() },
    })?;
    let failed = |error: rusqlite::Error| told(&error, path);
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut writing =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    writing.busy_timeout(BUSY).map_err(failed)?;
    check_whose(&writing, path)?;
    check_whole(&writing, path)?;
    writing.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
    writing.pragma_update(None, "synchronous", "full").map_err(failed)?;
    writing.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    writing.pragma_update(None, "journal_size_limit", WAL_BYTES).map_err(failed)?;
    migrate(&mut writing, path)?;

    let reading =
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    reading.busy_timeout(BUSY).map_err(failed)?;
    for connection in [&writing, &reading] {
        connection.set_prepared_statement_cache_capacity(64);
    }
    Ok((writing, reading))
}

/// Makes the file before the database does, so that it is never readable by others: the files beside it get its mode.
fn private_file(path: &Path) -> io::Result<()> {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Refuses a database that is not ours, before anything is written to it.
fn check_whose(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| told(&error, path);
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    if id == APPLICATION_ID || (id == 0 && tables == 0) {
        Ok(())
    } else {
        Err(StoreError::Foreign(path.to_owned()))
    }
}

fn check_whole(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| told(&error, path);
    if fs::metadata(path).map_or(0, |metadata| metadata.len()) > CHECKED_BYTES {
        return Ok(());
    }
    let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if said == "ok" { Ok(()) } else { Err(StoreError::Damaged { path: path.to_owned(), why: said }) }
}
