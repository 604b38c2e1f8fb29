//! The output of a terminal as it comes, and typing into it.

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use ptyard_server::api::ExitInfo;
use ptyard_server::api::stream::{ClientNote, ServerNote};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::call::at;
use super::{Client, ClientError};

/// Whether a stream also types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typing {
    /// It looks only.
    No,
    /// It types.
    Yes,
}

/// What a stream gives next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamItem {
    /// Output at an offset.
    Output {
        /// Offset of the first byte.
        at: u64,
        /// The bytes.
        bytes: Bytes,
    },
    /// These bytes are gone for good.
    Gap {
        /// First offset missing.
        from: u64,
        /// First offset after the gap.
        to: u64,
    },
    /// The size now.
    Size {
        /// Columns.
        cols: u32,
        /// Rows.
        rows: u32,
    },
    /// The program ended and all its output was given.
    Exit {
        /// How.
        exit: ExitInfo,
        /// End of the log.
        offset: u64,
    },
    /// A message of ours could not be followed.
    Refused {
        /// Stable code.
        code: String,
        /// What happened.
        message: String,
    },
}

/// The output of a terminal from an offset on.
///
/// # Invariants
/// 1. Offsets given never go back and leave no hole that a [`StreamItem::Gap`] did not tell.
#[derive(Debug)]
pub struct OutputStream {
    socket: SplitStream<WebSocketStream<UnixStream>>,
    next_offset: Option<u64>,
}

/// The way to type into a terminal.
#[derive(Debug)]
pub struct InputSink {
    socket: SplitSink<WebSocketStream<UnixStream>, Message>,
}

impl Client {
    /// Follows a terminal's output from `since` on, from now on without it. It has a connection of its own.
    pub async fn stream(
        &self,
        id: &str,
        since: Option<u64>,
        typing: Typing,
    ) -> Result<(OutputStream, InputSink), ClientError> {
        let mut query = Vec::new();
        query.extend(since.map(|since| format!("since={since}")));
        query.extend((typing == Typing::Yes).then(|| "input=true".to_owned()));
        let request =
            format!("ws://localhost{}?{}", at(id, "/stream"), query.join("&")).into_client_request()?;
        let (socket, _) = client_async(request, super::dial(&self.socket).await?).await?;
        let (sink, stream) = socket.split();
        Ok((OutputStream { socket: stream, next_offset: since }, InputSink { socket: sink }))
    }
}

impl OutputStream {
    /// The next item. Cancel-safe. `None` when the server ended the stream; [`ClientError::Replaced`] when another server
    /// takes over, which goes on from [`OutputStream::next_offset`].
    pub async fn next(&mut self) -> Result<Option<StreamItem>, ClientError> {
        while let Some(message) = self.socket.next().await {
            match message? {
                Message::Binary(frame) => {
                    if let Some(item) = self.output(frame)? {
                        return Ok(Some(item));
                    }
                }
                Message::Text(text) => {
                    let note = serde_json::from_str(&text)
                        .map_err(|error| ClientError::unreadable("stream", &error))?;
                    return Ok(Some(self.note(note)));
                }
                Message::Close(Some(frame)) if frame.code == CloseCode::Restart => {
                    return Err(ClientError::Replaced);
                }
                Message::Close(_) => return Ok(None),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
        Ok(None)
    }

    /// The offset after the last byte given: where to go on after a broken connection.
    #[must_use]
    pub fn next_offset(&self) -> Option<u64> {
        self.next_offset
    }

    fn output(&mut self, mut frame: Bytes) -> Result<Option<StreamItem>, ClientError> {
        let Some((offset, _)) = frame.split_first_chunk::<8>() else {
            return Err(ClientError::Unreadable("stream: a frame without an offset".to_owned()));
        };
        let at = u64::from_be_bytes(*offset);
        drop(frame.split_to(8));
        if let Some(expected) = self.next_offset.filter(|expected| *expected != at) {
            return Err(ClientError::Unreadable(format!("stream: offset {at} where {expected} was due")));
        }
        self.next_offset = Some(at + frame.len() as u64);
        Ok((!frame.is_empty()).then_some(StreamItem::Output { at, bytes: frame }))
    }

    fn note(&mut self, note: ServerNote) -> StreamItem {
        match note {
            ServerNote::Hello { offset, cols, rows, .. } => {
                let asked = self.next_offset.replace(offset);
                match asked {
                    Some(from) if from < offset => StreamItem::Gap { from, to: offset },
                    _ => StreamItem::Size { cols, rows },
                }
            }
            ServerNote::Gap { from, to } => {
                self.next_offset = Some(to);
                StreamItem::Gap { from, to }
            }
            ServerNote::Resized { cols, rows } => StreamItem::Size { cols, rows },
            ServerNote::Exit { exit, offset } => StreamItem::Exit { exit, offset },
            ServerNote::Error { code, message } => StreamItem::Refused { code, message },
        }
    }
}

impl InputSink {
    /// Types bytes as they are.
    pub async fn type_bytes(&mut self, bytes: Bytes) -> Result<(), ClientError> {
        Ok(self.socket.send(Message::Binary(bytes)).await?)
    }

    /// Changes the size.
    pub async fn resize(&mut self, cols: u32, rows: u32) -> Result<(), ClientError> {
        let note = serde_json::to_string(&ClientNote::Resize { cols, rows })
            .map_err(|error| ClientError::unreadable("stream", &error))?;
        Ok(self.socket.send(Message::text(note)).await?)
    }

    /// Ends the stream from our side.
    pub async fn close(&mut self) -> Result<(), ClientError> {
        Ok(self.socket.close().await?)
    }
}
