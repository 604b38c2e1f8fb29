//! `ptyard provider`.

use std::path::Path;

use ptyard_core::ErrorCode;
use ptyard_providers::library::Reloaded;
use ptyard_providers::library::files;
use ptyard_providers::{Library, Origin, Provider};
use serde::Serialize;

use super::Place;
use crate::args::ProviderCommand;
use crate::failure::{Failure, status};
use crate::print;

/// One kind of program.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    name: String,
    version: String,
    tested: Vec<String>,
    origin: &'static str,
}

pub(super) fn provider(place: &Place, command: &ProviderCommand) -> Result<u8, Failure> {
    match command {
        ProviderCommand::List => list(place),
        ProviderCommand::Show { id } => show(place, id),
        ProviderCommand::Check { file } => check(place, file),
    }
}

/// All providers: those built in, with those of the state directory over them.
pub(super) fn library(place: &Place) -> Result<Library, Failure> {
    let mut library = Library::bundled()
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("a bundled manifest: {error}")))?;
    let directory = place.state.dir().join("providers");
    let found = files::read_directory(&directory, Origin::Local).map_err(|error| {
        Failure::new(ErrorCode::InvalidArgument, format!("{} cannot be read: {error}", directory.display()))
    })?;
    for reloaded in library.reload(&found) {
        if let Reloaded::Refused { place, error } = reloaded {
            print::note(&format!("{place}: {error}"));
        }
    }
    Ok(library)
}

/// There is no such provider.
pub(super) fn unknown(id: &str) -> Failure {
    Failure::new(ErrorCode::InvalidArgument, format!("no provider is called {id}"))
        .with_hint("`ptyard provider list` shows those that are known")
}

fn list(place: &Place) -> Result<u8, Failure> {
    let rows: Vec<Row> = library(place)?.iter().map(|provider| row(provider)).collect();
    place.show(&rows, |rows| {
        let mut text = format!("{:18} {:20} {}\n", "ID", "NAME", "TESTED WITH");
        for row in rows {
            let tested = if row.tested.is_empty() { "-".to_owned() } else { row.tested.join(" ") };
            text.push_str(&format!("{:18} {:20} {tested}\n", row.id, row.name));
        }
        text
    })?;
    Ok(status::DONE)
}

fn show(place: &Place, id: &str) -> Result<u8, Failure> {
    let library = library(place)?;
    let provider = library.get(id).ok_or_else(|| unknown(id))?;
    place.show(&row(provider), |row| {
        format!(
            "{} ({}) {}, {}\ntested with: {}\n",
            row.name,
            row.id,
            row.version,
            row.origin,
            row.tested.join(" ")
        )
    })?;
    Ok(status::DONE)
}

fn check(place: &Place, file: &Path) -> Result<u8, Failure> {
    let found = files::read_file(file, Origin::Local).map_err(|error| {
        Failure::new(ErrorCode::InvalidArgument, format!("{} cannot be read: {error}", file.display()))
    })?;
    let provider = Provider::parse(&found.source, Origin::Local)
        .map_err(|error| Failure::new(error.code(), format!("{}: {error}", file.display())).with_hint(""))?;
    place.show(&row(&provider), |row| {
        format!("{} {} is well formed and passes its tests\n", row.id, row.version)
    })?;
    Ok(status::DONE)
}

fn row(provider: &Provider) -> Row {
    Row {
        id: provider.id().to_owned(),
        name: provider.name().to_owned(),
        version: provider.version().to_owned(),
        tested: provider.tested().to_vec(),
        origin: match provider.origin() {
            Origin::Bundled => "bundled",
            Origin::Local => "local",
            Origin::Remote => "remote",
        },
    }
}
