//! For whom a server of one terminal speaks: never for another one.

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_terminal::local::env::TERMINAL_VARIABLE;

use crate::failure::Failure;
use crate::run::Place;

/// Refuses to speak for `terminal` unless this process was given its token.
pub(super) async fn check(place: &Place, terminal: &str) -> Result<(), Failure> {
    let mut client = place.client().await?;
    let wanted = match terminal.parse::<TerminalId>() {
        Ok(id) => id.to_string(),
        Err(_short_or_name) => client.info(terminal).await?.id,
    };
    // A wrong token is refused by the server.
    match client.speaker().await?.terminal {
        Some(speaks) if speaks == wanted => Ok(()),
        Some(speaks) => Err(refused(format!("this process speaks for terminal {speaks}, not for {wanted}"))),
        None => Err(refused(format!("nothing here says that this process speaks for terminal {wanted}"))),
    }
}

fn refused(message: String) -> Failure {
    Failure::new(ErrorCode::Forbidden, message).with_hint(format!(
        "`ptyard mcp --terminal` runs in the terminal itself, with its {TERMINAL_VARIABLE} and PTYARD_TOKEN; without \
         --terminal it serves whoever starts it"
    ))
}
