//! `ptyard screen`.

use ptyard_server::api::ScreenReply;

use super::Place;
use crate::args::{ScreenArgs, ScreenFormat};
use crate::failure::{Failure, status};
use crate::print::{self, Format};

pub(super) async fn screen(place: &Place, args: &ScreenArgs) -> Result<u8, Failure> {
    let mut client = place.client().await?;
    let format = match (place.format, args.format) {
        (Format::Json, None | Some(ScreenFormat::Json)) | (Format::Text, Some(ScreenFormat::Json)) => {
            ScreenFormat::Json
        }
        (Format::Text, other) => other.unwrap_or(ScreenFormat::Text),
        (Format::Json, Some(_)) => {
            return Err(Failure::usage(
                "--json and another --format exclude each other",
                "leave out one of them",
            ));
        }
    };
    if format == ScreenFormat::Ansi {
        print::bytes(&client.screen_ansi(&args.at.id, args.scrollback).await?.ansi)?;
    } else {
        let screen = client.screen(&args.at.id, args.scrollback).await?;
        if format == ScreenFormat::Json {
            print::json(&screen)?;
        } else {
            print::bytes(text(&screen).as_bytes())?;
        }
    }
    Ok(status::DONE)
}

/// The rows, without the empty ones at the end.
pub(crate) fn text(screen: &ScreenReply) -> String {
    let used = screen.lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    screen.lines[..used].iter().map(|line| format!("{line}\n")).collect()
}
