//! The Connect protocol of a sandbox's daemon, with documents as messages: single calls, and streams of answers in
//! envelopes.
//!
//! An envelope is a byte of flags, a length (four bytes, the high one first) and as many bytes. Nothing is assumed of
//! how the network cuts them.

use std::time::Duration;

use ptyard_core::TerminalId;
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::remote::http::{Again, CallError, ask, call, refused, send};

/// Longest message; the daemon's pieces of output are at most 32 KiB, a third more in base64.
const MOST_MESSAGE: usize = 4 << 20;

/// Set in the flags of the last envelope of a stream.
const END_OF_STREAM: u8 = 2;
/// Set when a message is compressed, which was not asked for.
const COMPRESSED: u8 = 1;

const HEADER: usize = 5;

/// How often the daemon is asked to say that it is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// A stream on which nothing comes for this long, not even that, is lost.
pub(super) const SILENCE: Duration = Duration::from_secs(35);

/// How long a single call may take.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(20);

/// One message, packed.
fn envelope(message: &Value) -> Vec<u8> {
    let message = message.to_string().into_bytes();
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&[0], length.to_be_bytes().as_slice(), &message].concat()
}

/// What is unpacked.
#[derive(Debug, PartialEq)]
pub(super) enum Unpacked {
    Message(Value),
    /// The stream ends, with an error if it failed.
    End(Result<(), CallError>),
}

/// Takes bytes as they come and gives messages.
#[derive(Debug, Default)]
pub(super) struct Unpacker {
    held: Vec<u8>,
}

impl Unpacker {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next whole message, when there is one.
    pub(super) fn next(&mut self) -> Result<Option<Unpacked>, CallError> {
        let Some((&[flags, a, b, c, d], rest)) = self.held.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > MOST_MESSAGE || flags & COMPRESSED != 0 {
            return Err(CallError::garbled(format!("an envelope of {length} bytes with flags {flags}")));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(message).map_err(CallError::garbled)?;
        self.held.drain(..HEADER + length);
        Ok(Some(if flags & END_OF_STREAM == 0 {
            Unpacked::Message(message)
        } else {
            Unpacked::End(match message.get("error") {
                None => Ok(()),
                Some(error) => Err(refused(0, error.to_string().as_bytes(), None)),
            })
        }))
    }
}

/// The daemon of one sandbox.
#[derive(Debug, Clone)]
pub(super) struct Daemon {
    pub(super) client: Client,
    /// Without a slash at the end.
    pub(super) base: String,
    /// Of every request. The token is marked as sensitive.
    pub(super) headers: reqwest::header::HeaderMap,
}

impl Daemon {
    fn post(&self, method: &str) -> reqwest::RequestBuilder {
        self.client
            .post(format!("{}/process.Process/{method}", self.base))
            .headers(self.headers.clone())
            .header("connect-protocol-version", "1")
    }

    /// A single call. One that may be waited for without a limit is given none, and whoever makes it gives it up.
    pub(super) async fn order(
        &self,
        method: &str,
        request: &Value,
        again: Again,
        limit: Option<Duration>,
    ) -> Result<(), CallError> {
        let body = request.to_string();
        let limit = limit.unwrap_or(Duration::MAX);
        let asking =
            || ask(self.post(method).header("content-type", "application/json").body(body.clone()), limit);
        call(again, asking).await.map(drop)
    }

    /// Opens a stream. Once: what it starts would be started twice.
    pub(super) async fn open(&self, method: &str, request: &Value) -> Result<Stream, CallError> {
        let request = self
            .post(method)
            .header("content-type", "application/connect+json")
            .header("connect-content-encoding", "identity")
            .header("keepalive-ping-interval", KEEPALIVE.as_secs())
            .body(envelope(request));
        let response = send(request, CALL_LIMIT).await?;
        Ok(Stream { response, unpacker: Unpacker::default() })
    }

    /// Opens the stream of a program that is started.
    pub(super) async fn start(&self, request: &Value) -> Result<Stream, CallError> {
        self.open("Start", request).await
    }

    /// Opens the stream of a program that runs, or ended a moment ago. What it printed before is not told.
    pub(super) async fn join(&self, id: TerminalId) -> Result<Stream, CallError> {
        self.open("Connect", &json!({ "process": Self::of(id) })).await
    }

    /// The program of a terminal, by the word that it was started with: a server that comes later knows it too.
    pub(super) fn of(id: TerminalId) -> Value {
        json!({ "tag": id.to_string() })
    }
}

/// A stream of answers.
pub(super) struct Stream {
    response: Response,
    unpacker: Unpacker,
}

impl Stream {
    /// The next message; `None` is the end that the far side said. A stream that just stops is broken.
    pub(super) async fn next(&mut self) -> Result<Option<Value>, CallError> {
        loop {
            match self.unpacker.next()? {
                Some(Unpacked::Message(message)) => return Ok(Some(message)),
                Some(Unpacked::End(end)) => return end.map(|()| None),
                None => {}
            }
            let chunk = tokio::time::timeout(SILENCE, self.response.chunk()).await;
            match chunk.map_err(|_| CallError::too_late("nothing came", SILENCE))?? {
                Some(chunk) => self.unpacker.take(&chunk),
                None => return Err(CallError::Broken("the stream stopped without an end".to_owned())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(flags: u8, message: &Value) -> Vec<u8> {
        let mut bytes = envelope(message);
        bytes[0] = flags;
        bytes
    }

    proptest! {
        #[test]
        fn messages_are_the_same_however_they_were_cut(
            texts in prop::collection::vec(".{0,40}", 0..8),
            cuts in prop::collection::vec(1..9_usize, 1..60),
        ) {
            let messages: Vec<Value> = texts.iter().map(|text| json!({ "event": text })).collect();
            let mut wire: Vec<u8> = messages.iter().flat_map(envelope).collect();
            wire.extend(packed(END_OF_STREAM, &json!({})));
            let (mut unpacker, mut got, mut rest, mut cuts) =
                (Unpacker::default(), Vec::new(), wire.as_slice(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (now, later) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                unpacker.take(now);
                while let Some(unpacked) = unpacker.next().unwrap() {
                    got.push(unpacked);
                }
                rest = later;
            }
            let want = messages.into_iter().map(Unpacked::Message).chain([Unpacked::End(Ok(()))]);
            prop_assert_eq!(got, want.collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_end_can_be_a_refusal() {
        let mut unpacker = Unpacker::default();
        let end = json!({ "error": { "code": "not_found", "message": "process with pid 7 not found" } });
        unpacker.take(&packed(END_OF_STREAM, &end));
        match unpacker.next() {
            Ok(Some(Unpacked::End(Err(error)))) => assert!(error.is_not_found(), "{error}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_an_envelope_is_no_message() {
        for wire in [b"\x00\xff\xff\xff\xff".as_slice(), b"\x01\x00\x00\x00\x02{}", b"\x00\x00\x00\x00\x02no"]
        {
            let mut unpacker = Unpacker::default();
            unpacker.take(wire);
            assert!(matches!(unpacker.next(), Err(CallError::Garbled(_))), "{wire:?}");
        }
    }
}
