//! Screens and logs as resources: what a client can show or attach without a call of the model's.
//!
//! | resource | what |
//! |---|---|
//! | `ptyard://terminals/ID/screen` | what a person would see now |
//! | `ptyard://terminals/ID/log` | the last 64 KiB of what was printed |
//! | `ptyard://terminals/ID/log?since=OFFSET` | 64 KiB from an offset on |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptyard_core::utf8::Decoder;
use ptyard_server::api::TerminalInfo;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use super::text;
use crate::failure::Failure;
use crate::run::Place;

const ROOT: &str = "ptyard://terminals/";

/// How much of a log comes at once.
const LOG_BYTES: u64 = 64 * 1024;

/// What of a terminal is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Screen,
    /// From an offset on, or the end of it.
    Log(Option<u64>),
}

/// A resource's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    terminal: String,
    view: View,
}

impl Address {
    /// `None` for anything that is none.
    pub(super) fn parse(uri: &str) -> Option<Self> {
        let (terminal, view) = uri.strip_prefix(ROOT)?.split_once('/')?;
        let view = match view.split_once("?since=") {
            None if view == "screen" => View::Screen,
            None if view == "log" => View::Log(None),
            Some(("log", offset)) => View::Log(Some(offset.parse().ok()?)),
            _ => return None,
        };
        let is_id = !terminal.is_empty() && terminal.bytes().all(|byte| !matches!(byte, b'?' | b'#' | b'/'));
        is_id.then(|| Self { terminal: terminal.to_owned(), view })
    }
}

/// How the resources of any terminal are addressed.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{ROOT}{{id}}/screen"), "screen")
            .with_description("What a person would see on a terminal now.")
            .with_mime_type("text/plain"),
        ResourceTemplate::new(format!("{ROOT}{{id}}/log{{?since}}"), "log")
            .with_description("What a terminal printed: the last 64 KiB, or 64 KiB from a byte offset on.")
            .with_mime_type("text/plain"),
    ]
}

/// Those of the terminals there are.
pub(super) async fn list(place: &Place) -> Result<Vec<Resource>, Failure> {
    let terminals = place.client().await?.list().await?;
    Ok(terminals.iter().flat_map(of_terminal).collect())
}

fn of_terminal(info: &TerminalInfo) -> [Resource; 2] {
    let short = info.session_id.map_or_else(|| info.id.clone(), |short| short.to_string());
    let name = info.name.clone().unwrap_or_else(|| short.clone());
    let resource = |view: &str, what: &str| {
        Resource::new(format!("{ROOT}{short}/{view}"), format!("{view} of {name}"))
            .with_description(format!("{what} session {short}: {}", info.argv.join(" ")))
            .with_mime_type("text/plain")
    };
    [resource("screen", "The screen of"), resource("log", "The last output of")]
}

/// What stands at an address.
pub(super) async fn read(place: &Place, uri: &str, address: &Address) -> Result<ResourceContents, Failure> {
    let mut client = place.client().await?;
    let id = &address.terminal;
    let text = match address.view {
        View::Screen => text::screen(&client.screen(id, 0).await?),
        View::Log(since) => {
            let log = client.info(id).await?.log;
            let since = since.unwrap_or_else(|| log.end.saturating_sub(LOG_BYTES)).max(log.start);
            let reply = client.read(id, Some(since), LOG_BYTES).await?;
            characters(&STANDARD.decode(reply.data_base64).unwrap_or_default())
        }
    };
    Ok(ResourceContents::text(text, uri))
}

/// The characters that are whole in `bytes`, which were cut anywhere.
fn characters(bytes: &[u8]) -> String {
    let begun = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    let mut text = String::new();
    Decoder::new().feed(&bytes[begun..], &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let address = |terminal: &str, view| Some(Address { terminal: terminal.to_owned(), view });
        assert_eq!(Address::parse("ptyard://terminals/19523/screen"), address("19523", View::Screen));
        assert_eq!(Address::parse("ptyard://terminals/py/log"), address("py", View::Log(None)));
        assert_eq!(Address::parse("ptyard://terminals/py/log?since=7"), address("py", View::Log(Some(7))));
        for none in
            ["", "file:///etc/passwd", "ptyard://terminals//screen", "ptyard://terminals/py/log?since=x"]
        {
            assert_eq!(Address::parse(none), None, "{none}");
        }
        assert_eq!(Address::parse("ptyard://terminals/a/b/screen"), None);
        assert_eq!(Address::parse("ptyard://terminals/py/screen?since=7"), None);
    }

    #[test]
    fn law_02_a_cut_part_of_a_log_shows_whole_characters() {
        let text = "€uro €";
        let bytes = text.as_bytes();
        assert_eq!(characters(bytes), text);
        assert_eq!(characters(&bytes[1..]), "uro €");
        assert_eq!(characters(&bytes[..bytes.len() - 1]), "€uro ");
        assert_eq!(characters(b"a\xFFb"), "a\u{FFFD}b");
    }
}
