//! The socket of a terminal: text both ways, as JSON.

use ptyard_core::TerminalId;
use serde_json::{Value, json};

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
        let message: Value = match ear.next().await? {
            Heard::Text(text) => serde_json::from_str(&text).unwrap_or_default(),
            Heard::Bytes(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
            Heard::Closed { code, reason } => {
                return Err(CallError::Broken(format!("closed ({code}) {reason}")));
            }
        };
        let field = |lower: &str, upper: &str| {
            message.get(lower).or_else(|| message.get(upper)).and_then(Value::as_str)
        };
        let data = field("data", "Data").unwrap_or_default();
        match field("type", "Type") {
            Some("output") => return Ok(data.to_owned()),
            Some("error") => return Err(refused(0, data.as_bytes(), None)),
            // What else there may be says nothing.
            _ => {}
        }
    }
}

/// By which the carrier of a program is found, which has to outlive all that the program's own variable marks.
pub(super) fn carrier_mark(id: TerminalId) -> (&'static str, String) {
    ("PTYARD_SHELL", name(id))
}
