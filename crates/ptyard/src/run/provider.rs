//! `ptyard provider`.

use std::path::Path;

use ptyard_core::ErrorCode;
use ptyard_providers::library::files;
use ptyard_providers::{Library, Origin, Provider};
use ptyard_server::api::agents::ProviderInfo;
use ptyard_yard::agents::editions::{Known, Row};

use super::Place;
use crate::args::ProviderCommand;
use crate::client::Client;
use crate::failure::{Failure, status};
use crate::print::{self, printable};

pub(super) async fn provider(place: &Place, command: &ProviderCommand) -> Result<u8, Failure> {
    match command {
        ProviderCommand::List => list(place).await,
        ProviderCommand::Show { id } => show(place, id).await,
        ProviderCommand::Check { file } => check(place, file),
    }
}

/// All providers as the files say: those built in, with those of the state directory over them.
pub(super) fn library(place: &Place) -> Library {
    let known = Known::read(place.state.dir());
    for refusal in &known.refused {
        print::note(&printable(&refusal.why));
    }
    known.library
}

/// All providers in the editions that are in use: a server knows of a good one that was there before a broken one. None is
/// started for that.
pub(super) async fn known(place: &Place) -> Vec<ProviderInfo> {
    if let Ok(mut client) = Client::connect(&place.state.socket()).await
        && let Ok(providers) = client.providers().await
    {
        return providers;
    }
    Known::read(place.state.dir()).rows().into_iter().map(ProviderInfo::from).collect()
}

/// There is no such provider.
pub(super) fn unknown(id: &str) -> Failure {
    Failure::new(ErrorCode::InvalidArgument, format!("no provider is called {id}"))
        .with_hint("`ptyard provider list` shows those that are known")
}

async fn list(place: &Place) -> Result<u8, Failure> {
    place.show(&known(place).await, |rows| {
        let mut text = format!("{:18} {:20} {}\n", "ID", "NAME", "TESTED WITH");
        for row in rows.iter().filter(|row| row.version.is_some()) {
            let tested = if row.tested.is_empty() { "-".to_owned() } else { row.tested.join(" ") };
            text.push_str(&format!("{:18} {:20} {tested}\n", printable(&row.id), printable(&row.name)));
        }
        let problems = rows.iter().filter_map(|row| row.problem.as_deref());
        text.extend(problems.map(|problem| format!("not used: {}\n", printable(problem))));
        text
    })?;
    Ok(status::DONE)
}

async fn show(place: &Place, id: &str) -> Result<u8, Failure> {
    let known = known(place).await;
    let provider = known.into_iter().find(|provider| provider.id == id).ok_or_else(|| unknown(id))?;
    place.show(&provider, |row| {
        let version = row.version.as_deref().map_or_else(String::new, |version| format!(" {version}"));
        let origin = row.origin.as_deref().unwrap_or("not in use");
        let mut text =
            format!("{} ({}){version}, {origin}\ntested with: {}\n", row.name, row.id, row.tested.join(" "));
        text.extend(row.problem.as_deref().map(|problem| format!("not used: {}\n", printable(problem))));
        text
    })?;
    Ok(status::DONE)
}

fn check(place: &Place, file: &Path) -> Result<u8, Failure> {
    let found = files::read_file(file, Origin::Local).map_err(|error| {
        Failure::new(ErrorCode::InvalidArgument, format!("{} cannot be read: {error}", file.display()))
    })?;
    let provider = Provider::parse(&found.source, Origin::Local)
        .map_err(|error| Failure::new(error.code(), format!("{}: {error}", file.display())).with_hint(""))?;
    let row = Row { id: provider.id().to_owned(), provider: Some(provider), problem: None };
    place.show(&ProviderInfo::from(row), |row| {
        let version = row.version.as_deref().unwrap_or_default();
        format!("{} {version} is well formed and passes its tests\n", row.id)
    })?;
    Ok(status::DONE)
}
