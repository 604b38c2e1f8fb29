//! The socket of a terminal: text both ways, as JSON.

use std::borrow::Cow;

use ptyard_core::TerminalId;
use serde::Deserialize;
use serde_json::json;

use super::api::name;
use crate::remote::http::{CallError, refused};
use crate::remote::socket::{Ear, Heard, Mouth, Word};

/// Types.
pub(super) async fn say(mouth: &Mouth, text: &str) -> Result<(), CallError> {
    mouth.say(Word::Text(json!({ "type": "input", "data": text }).to_string())).await
}

/// What is printed next. May be given up at any moment; nothing is lost then.
pub(super) async fn next(ear: &mut Ear) -> Result<String, CallError> {
    loop {
        let message = ear.next().await?;
        let document = match &message {
            Heard::Text(text) => text.as_bytes(),
            Heard::Bytes(bytes) => bytes,
            Heard::Closed { code, reason } => {
                return Err(CallError::Broken(format!("closed ({code}) {reason}")));
            }
        };
        // What else there may be says nothing.
        let Ok(Message { kind, data }) = serde_json::from_slice(document) else { continue };
        match &*kind {
            "output" => return Ok(data.into_owned()),
            "error" => return Err(refused(0, data.as_bytes(), None)),
            _ => {}
        }
    }
}

/// What the vendor says. Some of its versions begin the names with capitals.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "type", alias = "Type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default, alias = "Data")]
    data: Cow<'a, str>,
}

/// By which the carrier of a program is found, which has to outlive all that the program's own variable marks.
pub(super) fn carrier_mark(id: TerminalId) -> (&'static str, String) {
    ("PTYARD_SHELL", name(id))
}
