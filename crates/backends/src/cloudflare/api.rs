//! The bridge's API: sandboxes, sessions, runs and terminals.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_core::Size;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Url};
use serde::Deserialize;
use serde_json::{Value, json};

use super::events::Events;
use super::settings::Settings;
use crate::remote::credentials::Secret;
use crate::remote::http::{Again, CallError, ask, call, client, not_set_up, refused, send};
use crate::remote::lodging::Ran;
use crate::remote::socket::{Call, Dialer, Ear, Mouth, Silence};

/// How long the first call to a sandbox may take: it begins a container.
const BEGIN_LIMIT: Duration = Duration::from_secs(60);

/// How long any other call may take.
const CALL_LIMIT: Duration = Duration::from_secs(20);

/// How long a socket may take to stand.
const SOCKET_LIMIT: Duration = Duration::from_secs(30);

/// Most that a script of ours has to say, in bytes.
const MOST_OUTPUT: usize = 64 << 10;

/// What can be done at the bridge.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    dialer: Dialer,
    base: String,
    headers: HeaderMap,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("base", &self.base).finish_non_exhaustive()
    }
}

/// What was named or opened.
#[derive(Deserialize)]
struct Named {
    id: String,
}

impl Api {
    pub(super) fn new(settings: &Settings, base: &str, key: Option<&Secret>) -> Result<Self, CallError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
                .map_err(|_| CallError::from(not_set_up("the key holds characters that no key has")))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let is_loopback = settings.is_loopback();
        let (client, dialer) = (client(is_loopback)?, Dialer::new(is_loopback)?);
        Ok(Self { client, dialer, base: base.to_owned(), headers })
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}/v1/sandbox{path}", self.base)).headers(self.headers.clone())
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        again: Again,
        limit: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let asking = || {
            let mut request = self.request(method.clone(), path);
            if let Some(body) = &body {
                request = request.header("content-type", "application/json").body(body.to_string());
            }
            ask(request, limit)
        };
        call(again, asking).await
    }

    /// A name for a sandbox. Nothing is made: that is done by whatever is done first in it. So it may be asked again.
    pub(super) async fn name(&self) -> Result<String, CallError> {
        let answer = self.call(Method::POST, "", None, Again::Always, CALL_LIMIT).await?;
        let named: Named = serde_json::from_slice(&answer).map_err(CallError::garbled)?;
        if super::is_sandbox(&named.id) {
            return Ok(named.id);
        }
        Err(CallError::garbled(format!("{:?} is no name of a sandbox", named.id)))
    }

    /// Opens a session, with what its programs are given. Variables and directory have fields of their own.
    pub(super) async fn open(
        &self,
        sandbox: &str,
        session: &str,
        cwd: &str,
        env: &BTreeMap<String, String>,
    ) -> Result<(), CallError> {
        let mut order = json!({ "id": session, "env": env });
        if !cwd.is_empty() {
            order["cwd"] = json!(cwd);
        }
        let path = format!("/{sandbox}/session");
        let answer =
            self.call(Method::POST, &path, Some(order), Again::IfNothingHappened, BEGIN_LIMIT).await?;
        let named: Named = serde_json::from_slice(&answer).map_err(CallError::garbled)?;
        match named.id == session {
            true => Ok(()),
            false => Err(CallError::garbled("a session of another name was opened")),
        }
    }

    /// Closes a session, and its terminal under whoever has it. One that is gone already is well, for which the bridge
    /// has a word only, and no status.
    pub(super) async fn close(&self, sandbox: &str, session: &str) -> Result<(), CallError> {
        let path = format!("/{sandbox}/session/{session}");
        let closing = || async {
            match ask(self.request(Method::DELETE, &path), CALL_LIMIT).await {
                Err(error) if error.is_not_found() || error.to_string().contains("not found") => Ok(()),
                closed => closed.map(drop),
            }
        };
        call(Again::Always, closing).await
    }

    /// Removes a sandbox with all that runs in it.
    pub(super) async fn remove(&self, sandbox: &str) -> Result<(), CallError> {
        let path = format!("/{sandbox}");
        match self.call(Method::DELETE, &path, None, Again::Always, CALL_LIMIT).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Runs something to its end, in the session of those who name none. What it prints has to be text.
    pub(super) async fn run(&self, sandbox: &str, argv: &[&str], limit: Duration) -> Result<Ran, CallError> {
        let running = self.run_unlimited(sandbox, argv, limit);
        tokio::time::timeout(limit, running).await.map_err(|_| CallError::too_late("no report", limit))?
    }

    async fn run_unlimited(&self, sandbox: &str, argv: &[&str], limit: Duration) -> Result<Ran, CallError> {
        let order =
            json!({ "argv": argv, "timeout_ms": u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) });
        let request = self.request(Method::POST, &format!("/{sandbox}/exec"));
        let request = request.header("content-type", "application/json").body(order.to_string());
        let mut response = send(request, limit).await?;
        let (mut events, mut output) = (Events::default(), Vec::new());
        while let Some(chunk) = response.chunk().await? {
            events.take(&chunk)?;
            while let Some(event) = events.next() {
                match event.name.as_str() {
                    "stdout" | "stderr" if output.len() < MOST_OUTPUT => {
                        output.extend(STANDARD.decode(&event.data).map_err(CallError::garbled)?);
                    }
                    "exit" => {
                        let exit: Value = serde_json::from_str(&event.data).map_err(CallError::garbled)?;
                        let code = exit["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
                        let output = String::from_utf8_lossy(&output).into_owned();
                        return Ok(Ran { output, code: code.filter(|code| *code >= 0) });
                    }
                    "error" => return Err(refused(0, event.data.as_bytes(), None)),
                    _ => {}
                }
            }
        }
        Err(CallError::Broken("a run ended without its end".to_owned()))
    }

    /// Connects to the terminal of a session, which is made for whoever is first.
    pub(super) async fn terminal(
        &self,
        sandbox: &str,
        session: &str,
        size: Size,
    ) -> Result<(Mouth, Ear), CallError> {
        let (cols, rows) = (size.cols(), size.rows());
        let url = format!("{}/v1/sandbox/{sandbox}/pty?cols={cols}&rows={rows}&session={session}", self.base);
        let url =
            Url::parse(&url).map_err(|_| CallError::NotSent("the bridge's address is none".to_owned()))?;
        let call = Call {
            url,
            headers: self.headers.clone(),
            protocols: Vec::new(),
            limit: SOCKET_LIMIT,
            silence: Silence::default(),
        };
        self.dialer.open(call).await
    }
}
