//! Puts `ptyard mcp` into the configuration of a client, and takes it out again.

use std::path::PathBuf;

use ptyard_core::ErrorCode;
use serde::Serialize;

use super::clients::{McpClient, NAME};
use crate::config_file;
use crate::failure::{Failure, status};
use crate::run::Place;

/// What is to become of a client's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It starts `ptyard mcp`.
    Install,
    /// It does not any more.
    Remove,
    /// Nothing: what would stand there is shown.
    Print,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Report {
    client: &'static str,
    file: PathBuf,
    changed: bool,
}

/// Changes the configuration of `client`.
///
/// # Errors
/// When there is no home directory, or the file cannot be read, understood or written: it is as it was then.
pub(crate) fn install(place: &Place, client: McpClient, change: Change) -> Result<u8, Failure> {
    let argv = argv(place)?;
    if change == Change::Print {
        let text = client.with_entry("", &argv).map_err(|error| internal(&error))?;
        crate::print::bytes(text.as_bytes())?;
        return Ok(status::DONE);
    }
    let file = file(client)?;
    let before = config_file::read(&file)?;
    let after = match change {
        Change::Remove => client.without_entry(&before),
        Change::Install | Change::Print => client.with_entry(&before, &argv).map(Some),
    };
    let after = after.map_err(|error| {
        Failure::new(ErrorCode::InvalidArgument, format!("{}: {error}", file.display())).with_hint(
            "the file is as it was; `ptyard mcp install CLIENT --print` shows what to put into it by hand",
        )
    })?;
    let after = after.filter(|after| *after != before);
    if let Some(after) = &after {
        config_file::replace(&file, after)?;
    }
    let report = Report { client: client.title(), file, changed: after.is_some() };
    place.show(&report, |report| {
        let file = report.file.display();
        match (change, report.changed) {
            (Change::Remove, true) => format!("{} does not start {NAME} any more ({file})\n", report.client),
            (Change::Remove, false) => format!("{} did not start {NAME} ({file})\n", report.client),
            (_, true) => format!("{} starts `ptyard mcp` from its next session on ({file})\n", report.client),
            (_, false) => format!("{} starts `ptyard mcp` already ({file})\n", report.client),
        }
    })?;
    Ok(status::DONE)
}

/// What a client is to start: this program, on this state.
fn argv(place: &Place) -> Result<Vec<String>, Failure> {
    let mut argv = vec![config_file::this_program()?];
    if let Some(dir) = place.state.other_than_usual() {
        argv.extend(["--state".into(), dir.to_owned()]);
    }
    argv.push("mcp".into());
    argv.into_iter().map(config_file::utf8).collect()
}

fn file(client: McpClient) -> Result<PathBuf, Failure> {
    let file = client.file(&config_file::home()?, config_file::variable);
    // OpenCode reads either; the one that is there is the user's.
    let with_comments = file.with_extension("jsonc");
    let file = if !file.exists() && with_comments.exists() { with_comments } else { file };
    Ok(config_file::itself(file))
}

fn internal(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(ErrorCode::Internal, error.to_string())
}
