//! Reads the settings of a CLI, changes them, and tells what stands there.

use std::path::PathBuf;

use clap::ValueEnum as _;
use ptyard_core::ErrorCode;
use serde::Serialize;

use super::{HookedCli, Standing};
use crate::config_file::{self, Uneditable};
use crate::failure::{Failure, status};
use crate::print;
use crate::run::Place;

/// What is to become of the entries in a CLI's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// They stand there, as this version writes them.
    Install,
    /// They do not.
    Remove,
}

/// Whether something is changed at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// The file is written.
    Write,
    /// It is only told what would stand in it.
    Tell,
}

/// What came of it, or stands there.
#[derive(Debug, Serialize)]
struct Report {
    provider: &'static str,
    file: PathBuf,
    /// What stands there now.
    standing: Standing,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<bool>,
    /// What is written there, and was or would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<&'static str>,
}

/// The settings of a CLI.
struct Settings {
    cli: HookedCli,
    file: PathBuf,
    text: String,
    line: String,
}

impl Settings {
    fn read(cli: HookedCli) -> Result<Self, Failure> {
        let file = config_file::itself(cli.file(&config_file::home()?, config_file::variable));
        let line = cli.line(&config_file::utf8(config_file::this_program()?)?);
        Ok(Self { cli, text: config_file::read(&file)?, file, line })
    }

    fn standing(&self) -> Result<Standing, Failure> {
        self.cli.standing(&self.text, &self.line).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &Uneditable) -> Failure {
        Failure::new(ErrorCode::InvalidArgument, format!("{}: {error}", self.file.display())).with_hint(
            "the file is as it was; repair it, or put in by hand what `ptyard hooks install --dry-run` shows in an \
             empty home",
        )
    }

    fn report(&self, standing: Standing) -> Report {
        let (provider, file) = (self.cli.id(), self.file.clone());
        Report { provider, file, standing, changed: None, entries: None, remark: None }
    }
}

/// Puts entries into the settings of a CLI, or takes them out.
///
/// # Errors
/// When there is no home directory, or the file cannot be read, understood or written: it is as it was then.
pub(crate) fn hooks(place: &Place, cli: HookedCli, change: Change, doing: Doing) -> Result<u8, Failure> {
    let settings = Settings::read(cli)?;
    let before = settings.standing()?;
    let after = match change {
        Change::Install => cli.with_entries(&settings.text, &settings.line),
        Change::Remove => cli.without_entries(&settings.text),
    };
    let after = after.map_err(|error| settings.refused(&error))?;
    let becomes = if change == Change::Install { Standing::Installed } else { Standing::Absent };
    // What is written is read again first: a file that is broken by us is worse than no hooks.
    let stands = cli.standing(&after, &settings.line).map_err(|error| settings.refused(&error))?;
    if stands != becomes {
        let text = format!("{}: what would be written cannot be read again", settings.file.display());
        return Err(Failure::new(ErrorCode::Internal, text));
    }
    let changed = after != settings.text;
    if changed && doing == Doing::Write {
        match after.as_str() {
            "" => config_file::remove(&settings.file)?,
            after => config_file::replace(&settings.file, after)?,
        }
    }
    let entries = (change == Change::Install).then(|| cli.with_entries("", &settings.line));
    let report = Report {
        changed: Some(changed && doing == Doing::Write),
        entries: entries.transpose().map_err(|error| settings.refused(&error))?,
        remark: cli.remark().filter(|_| change == Change::Install),
        ..settings.report(if doing == Doing::Write { becomes } else { before })
    };
    place.show(&report, |report| told(report, change, doing, changed))?;
    Ok(status::DONE)
}

fn told(report: &Report, change: Change, doing: Doing, changed: bool) -> String {
    let file = print::printable(&report.file.display().to_string());
    let what = match (change, changed, doing) {
        (Change::Install, true, Doing::Write) => "written into",
        (Change::Install, true, Doing::Tell) => "would be written into",
        (Change::Install, false, _) => "stands already in",
        (Change::Remove, true, Doing::Write) => "taken out of",
        (Change::Remove, true, Doing::Tell) => "would be taken out of",
        (Change::Remove, false, _) => "nothing of ours stands in",
    };
    let mut text = format!("{}: {what} {file}\n", report.provider);
    if let Some(entries) = &report.entries {
        text.extend(entries.lines().map(|line| format!("  {line}\n")));
    }
    text.extend(report.remark.map(|remark| format!("{remark}\n")));
    text
}

/// Tells what stands in the settings of one CLI, or of all.
///
/// # Errors
/// When there is no home directory, or the one that is asked about cannot be read or understood.
pub(crate) fn standing(place: &Place, cli: Option<HookedCli>) -> Result<u8, Failure> {
    let report = |cli: HookedCli| {
        let settings = Settings::read(cli)?;
        Ok(settings.report(settings.standing()?))
    };
    let reports = match cli {
        Some(cli) => vec![report(cli)?],
        None => HookedCli::value_variants()
            .iter()
            .filter_map(|cli| match report(*cli) {
                Ok(report) => Some(report),
                Err(failure) => {
                    let failure: Failure = failure;
                    print::note(&print::printable(&failure.body().message));
                    None
                }
            })
            .collect(),
    };
    place.show(&reports, |reports| {
        let line = |report: &Report| {
            let (file, standing) =
                (print::printable(&report.file.display().to_string()), report.standing.as_str());
            format!("{:14} {standing:10} {file}\n", report.provider)
        };
        reports.iter().map(line).collect()
    })?;
    Ok(status::DONE)
}
