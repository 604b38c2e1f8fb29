//! Events as they happen.

use bytes::{Buf, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use ptyard_server::api::Event;

use super::{Client, ClientError};

/// Most bytes of one event; a server that sends more is broken.
const MAX_EVENT_BYTES: usize = 1 << 20;

/// The events of a server, read from its event stream.
#[derive(Debug)]
pub struct Events {
    body: Incoming,
    /// Received and not yet parsed; at most [`MAX_EVENT_BYTES`] and one frame.
    buffer: BytesMut,
    /// Keeps the connection open.
    _client: Client,
}

impl Client {
    /// Events with a number greater than `since`. With `follow` the stream goes on as they happen; without, it ends
    /// after the last one there is.
    pub async fn events(mut self, since: Option<u64>, follow: bool) -> Result<Events, ClientError> {
        let mut path = format!("/v1/events?follow={follow}");
        if let Some(since) = since {
            path.push_str(&format!("&since={since}"));
        }
        let body = self.send("GET", &path, None, "text/event-stream").await?.into_body();
        Ok(Events { body, buffer: BytesMut::new(), _client: self })
    }
}

impl Events {
    /// The next event; `None` when the server ended the stream. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            while let Some(block) = take_block(&mut self.buffer) {
                if let Some(data) = data_of(&block) {
                    let event =
                        serde_json::from_str(&data).map_err(|e| ClientError::unreadable("events", &e))?;
                    return Ok(Some(event));
                }
            }
            if self.buffer.len() > MAX_EVENT_BYTES {
                return Err(ClientError::Unreadable(format!(
                    "events: one of more than {MAX_EVENT_BYTES} bytes"
                )));
            }
            match self.body.frame().await {
                Some(frame) => self.buffer.extend_from_slice(frame?.data_ref().map_or(&[], |data| data)),
                None => return Ok(None),
            }
        }
    }
}

/// Takes the bytes before the next blank line.
fn take_block(buffer: &mut BytesMut) -> Option<String> {
    let end = buffer.windows(2).position(|pair| pair == b"\n\n")?;
    let block = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.advance(end + 2);
    Some(block)
}

/// The `data:` lines of a block, joined; `None` for a comment, which keeps the connection alive.
fn data_of(block: &str) -> Option<String> {
    let lines: Vec<&str> = block
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|data| data.strip_prefix(' ').unwrap_or(data))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_at_blank_lines_and_comments_skipped() {
        let mut buffer = BytesMut::from(&b": hello\n\nid: 7\ndata: {\"a\":\ndata: 1}\n\nid: 8\nda"[..]);
        assert_eq!(data_of(&take_block(&mut buffer).unwrap()), None);
        assert_eq!(data_of(&take_block(&mut buffer).unwrap()).unwrap(), "{\"a\":\n1}");
        assert_eq!(take_block(&mut buffer), None);
        assert_eq!(&buffer[..], b"id: 8\nda");
    }
}
