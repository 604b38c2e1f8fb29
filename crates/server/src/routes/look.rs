//! Calls that only look: list, info, output, screen.

#![expect(unused_qualifications, reason = "utoipa expands the query parameters with full paths")]

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use ptyard_yard::Range;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::{ErrorReply, ReadReply, ScreenReply, TerminalInfo};
use crate::error::ApiError;
use crate::extract::{At, Params, accepts_bytes};
use crate::routes::Shared;
use crate::translate;

/// Bytes a read gives when it does not say.
const DEFAULT_READ_BYTES: usize = 1 << 20;

/// Most bytes a read gives.
const MAX_READ_BYTES: usize = 16 << 20;

/// All terminals, oldest first.
#[utoipa::path(get, path = "/v1/terminals", operation_id = "list",
    responses((status = 200, body = Vec<TerminalInfo>), (status = "default", body = ErrorReply)))]
pub(crate) async fn list(State(shared): State<Shared>) -> Json<Vec<TerminalInfo>> {
    Json(shared.yard.list().into_iter().map(translate::describe).collect())
}

/// One terminal.
#[utoipa::path(get, path = "/v1/terminals/{id}", operation_id = "info",
    params(("id" = String, Path, description = "Full id, short id or unique name.")),
    responses((status = 200, body = TerminalInfo), (status = "default", body = ErrorReply)))]
pub(crate) async fn info(State(shared): State<Shared>, At(at): At) -> Result<Json<TerminalInfo>, ApiError> {
    Ok(Json(translate::describe(shared.yard.info(&at)?)))
}

/// Which range of the log, and how.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OutputParams {
    /// The first offset wanted; default: the oldest kept.
    since: Option<u64>,
    /// Most bytes, 1..=16,777,216; default 1,048,576.
    max_bytes: Option<usize>,
    /// The bytes as they are instead of JSON; so does `Accept: application/octet-stream`. The headers `Ptyard-From`,
    /// `Ptyard-Next` and `Ptyard-Evicted` say what JSON says.
    #[serde(default)]
    raw: bool,
}

/// Reads a range of the log that is still kept; moves no cursor.
#[utoipa::path(get, path = "/v1/terminals/{id}/output", operation_id = "output",
    params(("id" = String, Path, description = "Full id, short id or unique name."), OutputParams),
    responses(
        (status = 200, content((ReadReply = "application/json"), (Vec<u8> = "application/octet-stream"))),
        (status = "default", body = ErrorReply)))]
pub(crate) async fn output(
    State(shared): State<Shared>,
    At(at): At,
    Params(params): Params<OutputParams>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let max_bytes = params.max_bytes.unwrap_or(DEFAULT_READ_BYTES);
    if !(1..=MAX_READ_BYTES).contains(&max_bytes) {
        return Err(ApiError::argument(format!("max_bytes is {max_bytes}, it can be 1..={MAX_READ_BYTES}")));
    }
    let range = shared.yard.read(&at, params.since, max_bytes).await?;
    Ok(if params.raw || accepts_bytes(&headers) {
        raw_range(range)
    } else {
        Json(ReadReply::from(range)).into_response()
    })
}

fn raw_range(range: Range) -> Response {
    let headers = [
        ("ptyard-from", range.from.to_string()),
        ("ptyard-next", range.next.to_string()),
        ("ptyard-evicted", range.evicted.to_string()),
    ];
    // `Vec<u8>` is sent as application/octet-stream.
    (headers, range.data).into_response()
}

/// How a screen is shown.
#[derive(Debug, Clone, Copy, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScreenFormat {
    /// [`ScreenReply`].
    #[default]
    Json,
    /// The rows.
    Text,
    /// The rows with their colours, as a terminal takes them.
    Ansi,
}

/// How much of a screen, and how.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ScreenParams {
    /// Rows above the screen that are wanted too; default 0.
    #[serde(default)]
    scrollback: u32,
    /// How it is shown; default `json`.
    #[serde(default)]
    #[param(inline)]
    format: ScreenFormat,
}

/// The header of a screen as text: the log offset it shows. A viewer follows the output from there.
const SCREEN_OFFSET: &str = "ptyard-offset";

/// What a person would see now. As text, the header `Ptyard-Offset` says what `offset` says.
#[utoipa::path(get, path = "/v1/terminals/{id}/screen", operation_id = "screen",
    params(("id" = String, Path, description = "Full id, short id or unique name."), ScreenParams),
    responses(
        (status = 200, content((ScreenReply = "application/json"), (String = "text/plain"))),
        (status = "default", body = ErrorReply)))]
pub(crate) async fn screen(
    State(shared): State<Shared>,
    At(at): At,
    Params(params): Params<ScreenParams>,
) -> Result<Response, ApiError> {
    let view = shared.yard.screen(&at, params.scrollback).await?;
    Ok(match params.format {
        ScreenFormat::Json => Json(translate::screen(view)).into_response(),
        ScreenFormat::Text => {
            let mut text = view.lines.join("\n");
            text.push('\n');
            ([(SCREEN_OFFSET, view.offset.to_string())], plain(text)).into_response()
        }
        ScreenFormat::Ansi => ([(SCREEN_OFFSET, view.offset.to_string())], plain(view.ansi)).into_response(),
    })
}

fn plain(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
