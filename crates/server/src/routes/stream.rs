//! The WebSocket stream of one terminal.

#![expect(unused_qualifications, reason = "utoipa expands the query parameters with full paths")]

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use ptyard_yard::TerminalRef;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::ErrorReply;
use crate::api::stream::ServerNote;
use crate::error::ApiError;
use crate::extract::{At, Params};
use crate::gate::STREAM_PROTOCOL;
use crate::peer::Peer;
use crate::routes::Shared;
use crate::viewer::{Access, Viewer};

/// Most bytes of a message from a viewer, in one frame or in several: no person types a MiB. A frame that declares
/// more is refused by its header, before anything is allocated for it.
const MAX_INBOUND_BYTES: usize = 1 << 20;

/// Most bytes waiting to be written: one message of output, its frame and the notes and pongs beside it.
const MAX_OUTBOUND_BYTES: usize = 1 << 20;

/// From where on, and whether the viewer may type.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamParams {
    /// The first offset wanted; default: the end of the log now.
    since: Option<u64>,
    /// Whether this viewer types and sets the size; default false: it only looks.
    #[serde(default)]
    input: bool,
}

/// A WebSocket of output and input. Binary messages from the server are an 8-byte big-endian offset and the bytes
/// from there; text messages are notes. A browser offers the subprotocols `ptyard.v1` and `ptyard.token.TOKEN`.
#[utoipa::path(get, path = "/v1/terminals/{id}/stream", operation_id = "stream",
    params(("id" = String, Path, description = "Full id, short id or unique name."), StreamParams),
    responses((status = 101, body = ServerNote, description = "A WebSocket; text messages from the server."),
        (status = "default", body = ErrorReply)))]
pub(crate) async fn stream(
    State(shared): State<Shared>,
    peer: Peer,
    At(at): At,
    Params(params): Params<StreamParams>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let upgrade = upgrade.map_err(|rejection| ApiError::upgrade_required(rejection.body_text()))?;
    let follow = shared.yard.follow(&at, params.since)?;
    let access = if params.input { Access::Drive } else { Access::Observe };
    let viewer =
        Viewer { at: TerminalRef::Id(follow.hello().0), yard: shared.yard, access, stop: shared.stop };
    Ok(upgrade
        .protocols([STREAM_PROTOCOL])
        .max_message_size(MAX_INBOUND_BYTES)
        .max_frame_size(MAX_INBOUND_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_OUTBOUND_BYTES)
        .on_upgrade(move |socket| async move {
            viewer.run(socket, follow).await;
            // The connection keeps its place until here.
            drop(peer);
        }))
}
