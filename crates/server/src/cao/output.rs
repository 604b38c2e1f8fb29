//! What a terminal shows and printed.

use axum::Json;
use axum::extract::State;
use ptyard_yard::inbox::{Page, Which};
use ptyard_yard::{TerminalRef, Yard, YardError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Cao;
use super::extract::{Asked, Named};
use super::refusal::Refusal;

/// Lines of history that are shown with the screen.
const HISTORY_LINES: u32 = 10_000;

/// Most bytes of a range.
const RANGE_BYTES: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
pub(super) struct OutputParams {
    #[serde(default)]
    mode: Mode,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// The screen and its history.
    #[default]
    Full,
    /// The last answer.
    Last,
}

/// The screen with its history, or the last answer.
pub(super) async fn output(
    State(cao): State<Cao>,
    named: Named,
    Asked(params): Asked<OutputParams>,
) -> Result<Json<Value>, Refusal> {
    let (mode, output) = match params.mode {
        Mode::Full => {
            let lines = cao.yard.screen(&named.at, HISTORY_LINES).await?.lines;
            ("full", lines.join("\n").trim_end().to_owned())
        }
        Mode::Last => {
            let since = last_task(&cao.yard, &named.at).await?;
            ("last", cao.yard.last_answer(&named.at, since).await?.unwrap_or_default())
        }
    };
    Ok(Json(json!({"output": output, "mode": mode})))
}

/// Where the newest message was written that arrived: what was printed before it is no answer to it.
async fn last_task(yard: &Yard, at: &TerminalRef) -> Result<Option<u64>, YardError> {
    let (mut after, mut offset) = (None, None);
    loop {
        let page = yard.inbox(at, Which::All, Page { after, most: Page::MOST }).await?;
        offset = page.iter().rev().find_map(|message| message.offset).or(offset);
        match page.last() {
            Some(last) if page.len() == Page::MOST as usize => after = Some(last.id),
            _ => return Ok(offset),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct RangeParams {
    offset: u64,
    length: u64,
}

/// A part of all that was printed.
pub(super) async fn range(
    State(cao): State<Cao>,
    named: Named,
    Asked(RangeParams { offset, length }): Asked<RangeParams>,
) -> Result<Json<Value>, Refusal> {
    if !(1..=RANGE_BYTES).contains(&length) {
        return Err(Refusal::shape(&["query", "length"], "1 to 1048576 bytes are read at once"));
    }
    let end = cao.yard.info(&named.at)?.log_end;
    let data = match usize::try_from(length.min(end.saturating_sub(offset))) {
        Ok(0) | Err(_) => Vec::new(),
        Ok(most) => cao.yard.read(&named.at, Some(offset), most).await?.data,
    };
    Ok(Json(json!({
        "terminal_id": named.tid.to_string(),
        "offset": offset,
        "length": data.len(),
        "data": String::from_utf8_lossy(&data),
    })))
}
