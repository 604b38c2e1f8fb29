//! One viewer of a terminal: what it sees and types.
//!
//! Reading and writing are two loops of one task that wait for each other nowhere, so a ping is answered between two
//! messages of a flood. Output needs no queue: the log is the queue, and the [`Follow`] is a cursor in it.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use ptyard_core::{ErrorCode, Size};
use ptyard_yard::{Follow, FollowItem, TerminalRef, Yard};
use tokio::sync::mpsc;

use crate::api::stream::{ClientNote, ServerNote};
use crate::error::ApiError;
use crate::stop::{Ending, Stop};
use crate::translate;

/// What a viewer typed and the terminal did not take yet, in messages. When it is full, no more is read from the
/// viewer: input is never dropped.
const MAX_PENDING_ACTS: usize = 8;

/// Refusals that were not sent yet. When it is full, further ones are dropped: who does not read its errors has
/// enough of them.
const MAX_PENDING_REFUSALS: usize = 16;

/// How long a viewer gets to take the close message.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// Bytes of the offset in front of the output.
const OFFSET_BYTES: usize = size_of::<u64>();

/// What a viewer may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Look.
    Observe,
    /// Look, type and set the size.
    Drive,
}

/// Something a viewer asked for, in the order it asked.
enum Act {
    Type(Bytes),
    Resize(Size),
}

/// One viewer.
pub(crate) struct Viewer {
    /// The terminal, by its full id.
    pub(crate) at: TerminalRef,
    /// The yard it is in.
    pub(crate) yard: Yard,
    /// What the viewer may do.
    pub(crate) access: Access,
    /// Ends the stream.
    pub(crate) stop: Stop,
}

/// Why the stream ends, as its close message says.
type End = (u16, &'static str);

impl Viewer {
    /// Serves the viewer until it leaves, the terminal ends or the server stops.
    pub(crate) async fn run(self, socket: WebSocket, mut follow: Follow) {
        let (mut to_viewer, mut from_viewer) = socket.split();
        let (acts, pending_acts) = mpsc::channel(MAX_PENDING_ACTS);
        let (refusals, mut pending_refusals) = mpsc::channel(MAX_PENDING_REFUSALS);
        let end = tokio::select! {
            end = self.send(&mut to_viewer, &mut follow, &mut pending_refusals) => end,
            end = self.receive(&mut from_viewer, &acts, &refusals) => end,
            end = self.act(pending_acts, &refusals) => end,
            () = self.stop.ends_were_told() => Some(leaving(self.stop.ending())),
        };
        let closing = async {
            if let Some((code, reason)) = end {
                let frame = CloseFrame { code, reason: reason.into() };
                to_viewer.send(Message::Close(Some(frame))).await?;
            }
            to_viewer.close().await
        };
        tokio::select! {
            _ = tokio::time::timeout(CLOSE_WITHIN, closing) => {}
            () = self.stop.cut_off() => {}
        }
    }

    /// Sends output, as it comes and as fast as the viewer takes it, and refusals before it.
    async fn send(
        &self,
        to_viewer: &mut SplitSink<WebSocket, Message>,
        follow: &mut Follow,
        refusals: &mut mpsc::Receiver<ServerNote>,
    ) -> Option<End> {
        let (id, offset, size) = follow.hello();
        let (cols, rows) = (size.cols().into(), size.rows().into());
        to_viewer.send(note(&ServerNote::Hello { id: id.to_string(), offset, cols, rows })).await.ok()?;
        let mut has_exited = false;
        loop {
            let message = tokio::select! {
                biased;
                Some(refusal) = refusals.recv() => note(&refusal),
                item = follow.next() => match item {
                    Some(item) => {
                        has_exited |= matches!(item, FollowItem::Exit { .. });
                        message(item)
                    }
                    None if has_exited => return Some((close_code::NORMAL, "the program ended")),
                    None => return Some((close_code::NORMAL, "the terminal was removed")),
                },
            };
            to_viewer.send(message).await.ok()?;
        }
    }

    /// Reads what the viewer sends; the socket answers pings by itself as it is read.
    async fn receive(
        &self,
        from_viewer: &mut SplitStream<WebSocket>,
        acts: &mpsc::Sender<Act>,
        refusals: &mpsc::Sender<ServerNote>,
    ) -> Option<End> {
        loop {
            let received = match from_viewer.next().await? {
                Ok(received) => received,
                Err(error) => {
                    tracing::debug!(%error, "a viewer broke the protocol or left");
                    return Some((close_code::PROTOCOL, "broken frame, or one larger than 1 MiB"));
                }
            };
            let act = match received {
                Message::Binary(bytes) => self.may_drive().map(|()| Act::Type(bytes)),
                Message::Text(text) => self.may_drive().and_then(|()| read_note(&text)),
                Message::Ping(_) | Message::Pong(_) => continue,
                Message::Close(_) => return None,
            };
            match act {
                // The other end is there as long as the session runs.
                Ok(act) => acts.send(act).await.ok()?,
                Err(refusal) => refuse(refusals, &refusal),
            }
        }
    }

    /// Does what the viewer asked for, one after the other.
    async fn act(&self, mut acts: mpsc::Receiver<Act>, refusals: &mpsc::Sender<ServerNote>) -> Option<End> {
        while let Some(act) = acts.recv().await {
            let done = match act {
                Act::Type(bytes) => self.yard.type_bytes(&self.at, bytes.into()).await,
                Act::Resize(size) => self.yard.resize(&self.at, size).await,
            };
            if let Err(error) = done {
                refuse(refusals, &error.into());
            }
        }
        None
    }

    fn may_drive(&self) -> Result<(), ApiError> {
        match self.access {
            Access::Drive => Ok(()),
            Access::Observe => Err(ApiError::new(
                ErrorCode::Forbidden,
                "this stream only observes: ask for it with input=true to type or resize",
            )),
        }
    }
}

const fn leaving(ending: Ending) -> End {
    match ending {
        Ending::Stop => (close_code::AWAY, "the server is shutting down"),
        Ending::Leave => (close_code::RESTART, "another server takes over: go on from your offset"),
    }
}

fn refuse(refusals: &mpsc::Sender<ServerNote>, refusal: &ApiError) {
    let told = ServerNote::Error { code: refusal.code().as_str().to_owned(), message: refusal.to_string() };
    // Full: see MAX_PENDING_REFUSALS.
    let _ = refusals.try_send(told);
}

fn read_note(text: &str) -> Result<Act, ApiError> {
    let ClientNote::Resize { cols, rows } = serde_json::from_str(text)
        .map_err(|error| ApiError::request(format!("message is not usable: {error}")))?;
    Ok(Act::Resize(Size::new(cols.into(), rows.into())?))
}

fn message(item: FollowItem) -> Message {
    match item {
        FollowItem::Bytes { at, data } => {
            let mut framed = Vec::with_capacity(OFFSET_BYTES + data.len());
            framed.extend_from_slice(&at.to_be_bytes());
            framed.extend_from_slice(&data);
            Message::Binary(framed.into())
        }
        FollowItem::Gap { from, to } => note(&ServerNote::Gap { from, to }),
        FollowItem::Resized(size) => {
            note(&ServerNote::Resized { cols: size.cols().into(), rows: size.rows().into() })
        }
        FollowItem::Exit { exit, offset } => note(&ServerNote::Exit { exit: translate::exit(&exit), offset }),
    }
}

fn note(note: &ServerNote) -> Message {
    let json = serde_json::to_string(note).expect("invariant: notes hold nothing that JSON lacks");
    Message::Text(json.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_goes_behind_its_offset() {
        let Message::Binary(framed) = message(FollowItem::Bytes { at: 0x0102, data: b"hi".to_vec() }) else {
            panic!("output is binary");
        };
        assert_eq!(&framed[..], b"\0\0\0\0\0\0\x01\x02hi");
    }

    #[test]
    fn a_viewers_note_is_checked() {
        assert!(matches!(read_note(r#"{"type":"resize","cols":120,"rows":40}"#), Ok(Act::Resize(_))));
        let code = |text| read_note(text).err().map(|error| error.code());
        assert_eq!(code(r#"{"type":"resize","cols":0,"rows":0}"#), Some(ErrorCode::InvalidSize));
        for bad in ["", "{}", r#"{"type":"detach"}"#, r#"{"type":"resize","cols":-1,"rows":4}"#] {
            assert_eq!(code(bad), Some(ErrorCode::InvalidRequest), "{bad}");
        }
    }
}
