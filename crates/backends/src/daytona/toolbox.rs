//! The daemon of a sandbox: scripts, and terminals over sockets.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use ptyard_core::{Size, TerminalId};
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::CALL_LIMIT;
use crate::remote::http::{Again, CallError, ask, call};
use crate::remote::lodging::Ran;
use crate::remote::socket::{Call, Dialer, Ear, Heard, Mouth, Silence};
use crate::shared::greeting::quoted;

/// Asks the daemon to say how the shell of a terminal ended.
const EXIT_CONTROL: &str = "X-Daytona-Pty-Exit-Control";

/// How long the daemon may take to say that a terminal is there.
const CONNECTED_LIMIT: Duration = Duration::from_secs(20);

/// The daemon of one sandbox.
#[derive(Debug, Clone)]
pub(super) struct Toolbox {
    pub(super) client: Client,
    pub(super) dialer: Dialer,
    /// Without a slash at the end.
    pub(super) base: String,
    /// Of every request. The key is marked as sensitive.
    pub(super) headers: HeaderMap,
}

/// What a terminal tells.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It is there, and listens.
    Connected,
    /// It printed this.
    Output(Bytes),
    /// Its shell has ended, with this to say about it.
    ShellEnded(String),
    /// The daemon lets go of us: we were too slow, or it fails. The terminal may go on.
    LetGo(String),
}

/// What a script came to.
#[derive(Deserialize)]
struct Executed {
    #[serde(rename = "exitCode", alias = "code")]
    code: Option<i32>,
    #[serde(default)]
    result: String,
}

impl Toolbox {
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        again: Again,
        limit: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let asking = || {
            let url = format!("{}/process{path}", self.base);
            let mut request = self.client.request(method.clone(), url).headers(self.headers.clone());
            if let Some(body) = body {
                request = request.header("content-type", "application/json").body(body.to_string());
            }
            ask(request, limit)
        };
        call(again, asking).await
    }

    /// Runs a script of ours to its end. A shell of the sandbox reads the command, so that everything in it is quoted.
    pub(super) async fn run(
        &self,
        script: &str,
        arguments: &[&str],
        env: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Ran, CallError> {
        let mut command = format!("/bin/sh -c {} sh", quoted(script));
        for argument in arguments {
            command += " ";
            command += &quoted(argument);
        }
        let order = json!({ "command": command, "envs": env, "timeout": limit.as_secs().max(1) });
        let answer =
            self.call(Method::POST, "/execute", Some(&order), Again::IfNothingHappened, limit).await?;
        let Executed { code, result } = serde_json::from_slice(&answer).map_err(CallError::garbled)?;
        Ok(Ran { output: result, code })
    }

    async fn open(&self, path: &str, query: &[(&str, &str)]) -> Result<(Mouth, Ear), CallError> {
        let mut url: Url = format!("{}/process/pty/{path}", self.base).parse().map_err(CallError::garbled)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let call = Call {
            url,
            headers: self.headers.clone(),
            protocols: vec![EXIT_CONTROL.to_owned()],
            limit: CALL_LIMIT,
            silence: Silence::default(),
        };
        let (mouth, mut ear) = self.dialer.open(call).await?;
        let connected = async {
            match told(ear.next().await?) {
                Told::Connected => Ok(()),
                Told::Output(_) => Err(CallError::garbled("output before the terminal was there")),
                Told::ShellEnded(why) | Told::LetGo(why) => Err(CallError::Broken(why)),
            }
        };
        let connected = tokio::time::timeout(CONNECTED_LIMIT, connected).await;
        connected.map_err(|_| CallError::too_late("the terminal was not there", CONNECTED_LIMIT))??;
        Ok((mouth, ear))
    }

    /// Makes a terminal and connects to it, in one call: nothing that it prints can be missed.
    pub(super) async fn make(&self, id: TerminalId, size: Size) -> Result<(Mouth, Ear), CallError> {
        let (pty, cols, rows) = (pty(id), size.cols().to_string(), size.rows().to_string());
        let query = [("id", pty.as_str()), ("cols", cols.as_str()), ("rows", rows.as_str())];
        call(Again::IfNothingHappened, || self.open("create-connect", &query)).await
    }

    /// Connects to a terminal that is there. What it printed before is not told.
    pub(super) async fn connect(&self, id: TerminalId) -> Result<(Mouth, Ear), CallError> {
        self.open(&format!("{}/connect", pty(id)), &[]).await
    }

    pub(super) async fn resize(&self, id: TerminalId, size: Size) -> Result<(), CallError> {
        let order = json!({ "cols": size.cols(), "rows": size.rows() });
        let path = format!("/pty/{}/resize", pty(id));
        self.call(Method::POST, &path, Some(&order), Again::Always, CALL_LIMIT).await.map(drop)
    }

    /// Removes a terminal with all that came of its shell. One that is gone already is well.
    pub(super) async fn remove(&self, id: TerminalId) -> Result<(), CallError> {
        let path = format!("/pty/{}", pty(id));
        match self.call(Method::DELETE, &path, None, Again::Always, CALL_LIMIT).await {
            Err(error) if !is_gone(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether a terminal is not there any more.
pub(super) fn is_gone(error: &CallError) -> bool {
    error.is_not_found() || matches!(error, CallError::Refused { status: 410, .. })
}

/// The vendor's name for the terminal of one program.
fn pty(id: TerminalId) -> String {
    format!("ptyard-{id}")
}

/// Takes a message apart. Text that is no control message is output, as it is for the vendor's own client.
pub(super) fn told(heard: Heard) -> Told {
    match heard {
        Heard::Bytes(bytes) => Told::Output(bytes),
        Heard::Text(text) => {
            let message: Value = serde_json::from_str(&text).unwrap_or_default();
            let field = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
            match (field("type"), field("status")) {
                ("control", "connected") => Told::Connected,
                ("control", "exited") => Told::ShellEnded(ended(&message)),
                ("control", status) => Told::LetGo(format!("{status}: {}", field("error"))),
                _ => Told::Output(text.into()),
            }
        }
        Heard::Closed { code, reason } => {
            let document: Value = serde_json::from_str(&reason).unwrap_or_default();
            if code == 1000 || document.get("exitCode").is_some() {
                return Told::ShellEnded(ended(&document));
            }
            Told::LetGo(format!("closed with {code} {reason}"))
        }
    }
}

fn ended(message: &Value) -> String {
    let code = message.get("exitCode").map(Value::to_string).unwrap_or_else(|| "no code".to_owned());
    let reason = message.get("exitReason").and_then(Value::as_str).unwrap_or("no reason");
    format!("the shell of its terminal has ended: {code}, {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let text = |text: &str| told(Heard::Text(text.to_owned()));
        assert_eq!(text(r#"{"type":"control","status":"connected"}"#), Told::Connected);
        let exited = r#"{"type":"control","status":"exited","exitCode":7,"exitReason":"non-zero exit"}"#;
        let why = "the shell of its terminal has ended: 7, non-zero exit";
        assert_eq!(text(exited), Told::ShellEnded(why.to_owned()));
        let failed = r#"{"type":"control","status":"error","error":"no pty"}"#;
        assert_eq!(text(failed), Told::LetGo("error: no pty".to_owned()));
        for plain in ["{\"type\":\"other\"}", "plain", "3", ""] {
            assert_eq!(text(plain), Told::Output(plain.into()));
        }
        let closed = |code, reason: &str| told(Heard::Closed { code, reason: reason.to_owned() });
        assert_eq!(
            closed(1011, r#"{"exitCode":7,"exitReason":"non-zero exit"}"#),
            Told::ShellEnded(why.to_owned())
        );
        assert!(matches!(closed(1000, ""), Told::ShellEnded(_)));
        let slow = closed(1008, "slow consumer");
        assert_eq!(slow, Told::LetGo("closed with 1008 slow consumer".to_owned()));
    }
}
