//! The vendor's own API: sandboxes are made, found, kept and removed.

use std::fmt;
use std::time::Duration;

use ptyard_core::TerminalId;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::settings::Settings;
use super::toolbox::Toolbox;
use crate::remote::address;
use crate::remote::credentials::Secret;
use crate::remote::http::{Again, CallError, ask, call, not_set_up};
use crate::remote::socket::Dialer;

/// After this many minutes without a sign of life from us the vendor stops a sandbox of ours, which removes it.
const LEASE_MINUTES: u64 = 15;

/// How often a sign of life is given.
pub(super) const RENEW_EVERY: Duration = Duration::from_secs(LEASE_MINUTES * 60 / 3);

/// How long a sandbox may take until it runs: snapshots are pulled first.
const START_LIMIT: Duration = Duration::from_secs(180);

/// How often the vendor is asked whether it runs: it has no call that waits.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long a call may take.
pub(super) const CALL_LIMIT: Duration = Duration::from_secs(30);

/// How often a removal is tried while the vendor does something else with the sandbox.
const REMOVALS: u32 = 20;

/// What can be done at the vendor, with a key.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    dialer: Dialer,
    settings: Settings,
    /// Of every request. The key is marked as sensitive.
    headers: HeaderMap,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("base", &self.settings.api).finish_non_exhaustive()
    }
}

/// A sandbox as the vendor describes it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Sandbox {
    pub(super) id: String,
    state: Option<String>,
    #[serde(rename = "errorReason")]
    error: Option<String>,
    #[serde(rename = "toolboxProxyUrl")]
    toolbox: String,
}

/// The name of a sandbox of ours.
pub(super) fn name(id: TerminalId) -> String {
    format!("ptyard-{id}")
}

impl Api {
    pub(super) fn new(
        client: Client,
        dialer: Dialer,
        settings: Settings,
        key: &Secret,
    ) -> Result<Self, CallError> {
        let bad = || CallError::from(not_set_up("the key holds characters that no key has"));
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| bad())?;
        bearer.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, bearer);
        headers.insert(HeaderName::from_static("x-daytona-source"), HeaderValue::from_static("ptyard"));
        if let Some(organization) = &settings.organization {
            let organization = HeaderValue::from_str(organization).map_err(CallError::garbled)?;
            headers.insert(HeaderName::from_static("x-daytona-organization-id"), organization);
        }
        Ok(Self { client, dialer, settings, headers })
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        again: Again,
    ) -> Result<Vec<u8>, CallError> {
        let asking = || {
            let url = format!("{}{path}", self.settings.api);
            let mut request = self.client.request(method.clone(), url).headers(self.headers.clone());
            if let Some(body) = &body {
                request = request.header("content-type", "application/json").body(body.to_string());
            }
            ask(request, CALL_LIMIT)
        };
        call(again, asking).await
    }

    /// A question that needs the key and changes nothing.
    pub(super) async fn check(&self) -> Result<(), CallError> {
        self.call(Method::GET, "/sandbox?limit=1", None, Again::Always).await.map(drop)
    }

    /// Makes a sandbox for one program, and waits until it runs. Its name is the program's, so there is one at the most,
    /// and it can be removed also when the answer was lost.
    pub(super) async fn make(&self, snapshot: Option<&str>, id: TerminalId) -> Result<Sandbox, CallError> {
        let mut order = json!({
            "name": name(id),
            "labels": { "ptyard-terminal": id.to_string() },
            "autoStopInterval": LEASE_MINUTES,
            // At once when it stops.
            "autoDeleteInterval": 0,
            "public": false,
        });
        for (field, value) in [("snapshot", snapshot), ("target", self.settings.target.as_deref())] {
            if let Some(value) = value {
                order[field] = json!(value);
            }
        }
        let made = self.call(Method::POST, "/sandbox", Some(order), Again::Always).await;
        let sandbox = match made {
            Ok(made) => serde_json::from_slice(&made).map_err(CallError::garbled)?,
            // An earlier try had made it.
            Err(CallError::Refused { status: 409, message, .. }) => {
                self.describe(&name(id)).await.map_err(|error| match error {
                    error if error.is_not_found() => {
                        CallError::Refused { status: 409, code: None, message, wait: None }
                    }
                    error => error,
                })?
            }
            Err(error) => return Err(error),
        };
        self.started(sandbox).await
    }

    async fn describe(&self, id: &str) -> Result<Sandbox, CallError> {
        let answer = self.call(Method::GET, &format!("/sandbox/{id}"), None, Again::Always).await?;
        serde_json::from_slice(&answer).map_err(CallError::garbled)
    }

    /// Finds a sandbox that is there, by id or name, and wakes it if it sleeps.
    pub(super) async fn find(&self, id: &str) -> Result<Sandbox, CallError> {
        let sandbox = self.describe(id).await?;
        if matches!(sandbox.state.as_deref(), Some("stopped" | "archived" | "paused")) {
            let path = format!("/sandbox/{}/start", sandbox.id);
            match self.call(Method::POST, &path, None, Again::Always).await {
                // Somebody else wakes it.
                Ok(_) | Err(CallError::Refused { status: 409, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.started(sandbox).await
    }

    /// Waits until it runs.
    async fn started(&self, mut sandbox: Sandbox) -> Result<Sandbox, CallError> {
        let began = Instant::now();
        loop {
            match sandbox.state.as_deref() {
                Some("started") => return Ok(sandbox),
                Some(state @ ("error" | "build_failed" | "destroyed" | "destroying")) => {
                    let why = sandbox.error.as_deref().unwrap_or("no reason is given");
                    return Err(CallError::garbled(format!("the sandbox is in state {state}: {why}")));
                }
                _ if began.elapsed() > START_LIMIT => {
                    return Err(CallError::too_late("the sandbox does not run", START_LIMIT));
                }
                _ => sleep(LOOK_EVERY).await,
            }
            sandbox = self.describe(&sandbox.id).await?;
        }
    }

    /// Gives a sign of life, which puts off the moment at which the vendor stops the sandbox.
    pub(super) async fn renew(&self, id: &str) -> Result<(), CallError> {
        let path = format!("/sandbox/{id}/last-activity");
        self.call(Method::POST, &path, None, Again::Always).await.map(drop)
    }

    /// Removes a sandbox, by id or name, with all that runs in it. One that is gone already is well.
    pub(super) async fn remove(&self, id: &str) -> Result<(), CallError> {
        for _ in 1..REMOVALS {
            match self.remove_once(id).await {
                // It is being started, or stopped.
                Err(CallError::Refused { status: 409, .. }) => sleep(LOOK_EVERY).await,
                removed => return removed,
            }
        }
        self.remove_once(id).await
    }

    async fn remove_once(&self, id: &str) -> Result<(), CallError> {
        match self.call(Method::DELETE, &format!("/sandbox/{id}"), None, Again::Always).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// The daemon of a sandbox.
    pub(super) fn toolbox(&self, sandbox: &Sandbox) -> Result<Toolbox, CallError> {
        address::check(&sandbox.toolbox).map_err(CallError::NotSent)?;
        Ok(Toolbox {
            client: self.client.clone(),
            dialer: self.dialer.clone(),
            base: format!("{}/{}", sandbox.toolbox.trim_end_matches('/'), sandbox.id),
            headers: self.headers.clone(),
        })
    }
}
