//! The calls, one method each.

use std::fmt::Write as _;

use http_body_util::BodyExt;
use ptyard_server::api::leftovers::{SweepReply, SweepRequest};
use ptyard_server::api::{
    AdoptRequest, Done, ExecRequest, KillReply, KillRequest, Leaving, ReadReply, ResizeRequest, ScreenReply,
    SignalRequest, TerminalInfo, WaitReply, WaitRequest, WindowReply, WriteRequest,
};
use serde_json::json;

use super::{Client, ClientError};

/// The header of a screen as text that says which log offset it shows.
const OFFSET_HEADER: &str = "ptyard-offset";

/// A screen as bytes for a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsiScreen {
    /// Rows with colours.
    pub ansi: Vec<u8>,
    /// The log offset the rows show, when the server says it.
    pub offset: Option<u64>,
}

impl Client {
    /// Starts a program and takes its first window.
    pub async fn exec(&mut self, request: &ExecRequest) -> Result<WindowReply, ClientError> {
        self.post("/v1/terminals", request).await
    }

    /// Takes a program over that is somewhere already, and takes its first window.
    pub async fn adopt(&mut self, request: &AdoptRequest) -> Result<WindowReply, ClientError> {
        self.post("/v1/adopt", request).await
    }

    /// All terminals.
    pub async fn list(&mut self) -> Result<Vec<TerminalInfo>, ClientError> {
        self.get("/v1/terminals").await
    }

    /// One terminal.
    pub async fn info(&mut self, id: &str) -> Result<TerminalInfo, ClientError> {
        self.get(&at(id, "")).await
    }

    /// Removes an ended terminal and its log.
    pub async fn remove(&mut self, id: &str) -> Result<Done, ClientError> {
        self.ask("DELETE", &at(id, ""), None).await
    }

    /// Types and takes a window.
    pub async fn write(&mut self, id: &str, request: &WriteRequest) -> Result<WindowReply, ClientError> {
        self.post(&at(id, "/write"), request).await
    }

    /// Reads at most `max_bytes` of the log from `since` on; without it, from the oldest byte kept.
    pub async fn read(
        &mut self,
        id: &str,
        since: Option<u64>,
        max_bytes: u64,
    ) -> Result<ReadReply, ClientError> {
        let mut path = at(id, &format!("/output?max_bytes={max_bytes}"));
        if let Some(since) = since {
            // Writing to a String cannot fail.
            let _ = write!(path, "&since={since}");
        }
        self.get(&path).await
    }

    /// What a person would see now, with `scrollback` lines above.
    pub async fn screen(&mut self, id: &str, scrollback: u32) -> Result<ScreenReply, ClientError> {
        self.get(&at(id, &format!("/screen?format=json&scrollback={scrollback}"))).await
    }

    /// The same with colours.
    pub async fn screen_ansi(&mut self, id: &str, scrollback: u32) -> Result<AnsiScreen, ClientError> {
        let path = at(id, &format!("/screen?format=ansi&scrollback={scrollback}"));
        let reply = self.send("GET", &path, None, "text/plain").await?;
        let offset = reply.headers().get(OFFSET_HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(AnsiScreen { ansi: reply.into_body().collect().await?.to_bytes().to_vec(), offset })
    }

    /// Waits for a condition.
    pub async fn wait(&mut self, id: &str, request: &WaitRequest) -> Result<WaitReply, ClientError> {
        self.post(&at(id, "/wait"), request).await
    }

    /// Changes the size of a tty.
    pub async fn resize(&mut self, id: &str, size: &str) -> Result<Done, ClientError> {
        self.post(&at(id, "/resize"), &ResizeRequest { size: size.to_owned() }).await
    }

    /// Sends a signal.
    pub async fn signal(&mut self, id: &str, request: &SignalRequest) -> Result<Done, ClientError> {
        self.post(&at(id, "/signal"), request).await
    }

    /// Ends the input.
    pub async fn close_stdin(&mut self, id: &str) -> Result<Done, ClientError> {
        self.post(&at(id, "/close-stdin"), &json!({})).await
    }

    /// Ends a program and everything it started.
    pub async fn kill(&mut self, id: &str, grace_ms: Option<u64>) -> Result<KillReply, ClientError> {
        self.post(&at(id, "/kill"), &KillRequest { grace_ms }).await
    }

    /// Asks the server to leave its place, and its programs, to another one.
    pub(crate) async fn replace(&mut self) -> Result<Leaving, ClientError> {
        self.post("/v1/replace", &json!({})).await
    }

    /// Asks for what servers that died left behind, and to end it.
    pub async fn sweep(&mut self, request: &SweepRequest) -> Result<SweepReply, ClientError> {
        self.post("/v1/gc", request).await
    }

    /// Asks whether the server answers.
    pub async fn health(&mut self) -> Result<(), ClientError> {
        self.send("GET", "/healthz", None, "*/*").await?.into_body().collect().await?;
        Ok(())
    }

    /// Asks the server to end its programs and itself.
    pub async fn stop(&mut self) -> Result<Done, ClientError> {
        self.post("/v1/stop", &json!({})).await
    }
}

/// The path of a terminal.
pub(super) fn at(id: &str, rest: &str) -> String {
    segment("/v1/terminals/", id) + rest
}

/// A path that ends in an id, made safe for a URL.
pub(super) fn segment(before: &str, id: &str) -> String {
    before.to_owned() + &escaped(id)
}

/// A name made safe for a URL: it may hold anything.
pub(super) fn escaped(name: &str) -> String {
    let mut escaped = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'~')
            || (byte == b'.' && name.len() > 2)
        {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_change_the_path_it_stands_in() {
        assert_eq!(at("19523", "/write"), "/v1/terminals/19523/write");
        assert_eq!(at("a/../b?x#é", ""), "/v1/terminals/a%2F..%2Fb%3Fx%23%C3%A9");
        assert_eq!(at("..", "/kill"), "/v1/terminals/%2E%2E/kill");
    }
}
