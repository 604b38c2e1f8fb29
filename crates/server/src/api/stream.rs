//! The WebSocket stream of one terminal.
//!
//! `GET /v1/terminals/{id}/stream?since=OFFSET[&input=true]`; `since` defaults to the end of the log now.
//!
//! Server to client: a binary message is an 8-byte big-endian log offset followed by raw output bytes from there,
//! without gaps or repeats; a text message is a [`ServerNote`]. Client to server, with `input=true`: a binary message
//! is typed as it is; a text message is a [`ClientNote`]. A client that reads too slowly is not waited for: output
//! stays in the log, and a `gap` note tells bytes that the quota evicted before they could be sent. After a broken
//! connection the client asks again with `since` = its last offset.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ExitInfo;

/// A text message from the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerNote {
    /// The first message: where the stream begins, and the size.
    Hello {
        /// Full id.
        id: String,
        /// First offset that will be sent.
        offset: u64,
        /// Columns.
        cols: u32,
        /// Rows.
        rows: u32,
    },
    /// These bytes are gone for good.
    Gap {
        /// First offset missing.
        from: u64,
        /// First offset after the gap.
        to: u64,
    },
    /// The size changed.
    Resized {
        /// Columns.
        cols: u32,
        /// Rows.
        rows: u32,
    },
    /// The program ended and every byte was sent; the stream closes.
    Exit {
        /// How it ended.
        exit: ExitInfo,
        /// End of the log.
        offset: u64,
    },
    /// A message of the client could not be followed.
    Error {
        /// Stable code.
        code: String,
        /// What happened.
        message: String,
    },
}

/// A text message from the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientNote {
    /// Changes the size: only the viewer that owns the size sends this.
    Resize {
        /// Columns.
        cols: u32,
        /// Rows.
        rows: u32,
    },
}
