//! The vendor's own API: sandboxes are made, found, kept and removed.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ptyard_core::TerminalId;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, Method};
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect::Daemon;
use super::settings::Settings;
use crate::remote::credentials::Secret;
use crate::remote::http::{Again, CallError, ask, call, not_set_up, refused};

/// How long a sandbox lives on when nobody renews its lease. One whose server is gone ends by itself after this.
pub(super) const LEASE: Duration = Duration::from_secs(15 * 60);

/// How long making a sandbox may take.
const MAKE_LIMIT: Duration = Duration::from_secs(60);

/// How long any other call may take.
const CALL_LIMIT: Duration = Duration::from_secs(20);

/// In a sandbox's metadata: the terminal it was made for, and the mark of the state of the server that made it.
const TERMINAL_KEY: &str = "ptyard-terminal";
const STATE_KEY: &str = "ptyard-state";

/// Where the daemon of a sandbox listens.
const DAEMON_PORT: u16 = 49983;

/// Domains whose sandboxes share one host name and are told apart by a header.
const SHARED_DOMAINS: [&str; 4] = ["e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev"];

/// What can be done at the vendor, with a key.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    settings: Settings,
    key: Secret,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("base", &self.settings.api).finish_non_exhaustive()
    }
}

/// A sandbox as the vendor describes it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Sandbox {
    #[serde(rename = "sandboxID")]
    pub(super) id: String,
    #[serde(rename = "envdVersion")]
    version: String,
    #[serde(rename = "envdAccessToken")]
    token: Option<String>,
    domain: Option<String>,
}

/// A sandbox as it stands in a list.
#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "sandboxID")]
    id: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

impl Api {
    pub(super) fn new(client: Client, settings: Settings, key: Secret) -> Self {
        Self { client, settings, key }
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        again: Again,
        limit: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let key = sensitive(self.key.expose())?;
        let asking = || {
            let url = format!("{}{path}", self.settings.api);
            let mut request = self.client.request(method.clone(), url).header("X-API-KEY", key.clone());
            if let Some(body) = &body {
                request = request.header("content-type", "application/json").body(body.to_string());
            }
            ask(request, limit)
        };
        call(again, asking).await
    }

    /// How many sandboxes run: a question that needs the key and changes nothing.
    pub(super) async fn count(&self) -> Result<usize, CallError> {
        let answer = self.call(Method::GET, "/sandboxes", None, Again::Always, CALL_LIMIT).await?;
        let all: Vec<Value> = serde_json::from_slice(&answer).map_err(CallError::garbled)?;
        Ok(all.len())
    }

    /// The sandboxes with this mark, each with the terminal it was made for.
    pub(super) async fn marked(&self, mark: &str) -> Result<Vec<(String, Option<TerminalId>)>, CallError> {
        let owner = |listed: &Listed| listed.metadata.get(TERMINAL_KEY)?.parse().ok();
        let ours = self.listed(STATE_KEY, mark).await?.into_iter();
        Ok(ours.map(|listed| (listed.id.clone(), owner(&listed))).collect())
    }

    /// The sandboxes whose metadata have this value by this name.
    async fn listed(&self, name: &str, value: &str) -> Result<Vec<Listed>, CallError> {
        // The value of the parameter is itself a list of parameters.
        let path = format!("/sandboxes?metadata={name}%3D{value}");
        let answer = self.call(Method::GET, &path, None, Again::Always, CALL_LIMIT).await?;
        let all: Vec<Listed> = serde_json::from_slice(&answer).map_err(CallError::garbled)?;
        // Whatever the vendor understood: what has another mark is not ours to end.
        let has = |listed: &Listed| listed.metadata.get(name).is_some_and(|it| it == value);
        Ok(all.into_iter().filter(has).collect())
    }

    /// The sandbox that was made for this terminal.
    pub(super) async fn of_terminal(&self, id: TerminalId) -> Result<String, CallError> {
        let all = self.listed(TERMINAL_KEY, &id.to_string()).await?;
        let found = all.into_iter().next();
        found.map(|listed| listed.id).ok_or_else(|| refused(404, b"its sandbox is gone", None))
    }

    /// Whether a sandbox is certain to be gone.
    pub(super) async fn is_gone(&self, id: &str) -> bool {
        let path = format!("/sandboxes/{id}");
        let asked = self.call(Method::GET, &path, None, Again::IfNothingHappened, CALL_LIMIT).await;
        asked.is_err_and(|error| error.is_not_found())
    }

    /// Makes a sandbox. It may be there although the answer was lost; then its lease ends it.
    pub(super) async fn make(
        &self,
        template: &str,
        mark: Option<&str>,
        id: TerminalId,
    ) -> Result<Sandbox, CallError> {
        let mut metadata = json!({ TERMINAL_KEY: id.to_string() });
        if let Some(mark) = mark {
            metadata[STATE_KEY] = json!(mark);
        }
        let order = json!({
            "templateID": template,
            "timeout": LEASE.as_secs(),
            "metadata": metadata,
            "secure": true,
            "allow_internet_access": true,
            "autoPause": false,
        });
        let answer =
            self.call(Method::POST, "/sandboxes", Some(order), Again::IfNothingHappened, MAKE_LIMIT).await?;
        serde_json::from_slice(&answer).map_err(CallError::garbled)
    }

    /// Finds a sandbox that is there, wakes it if it sleeps, and makes its lease at least ours.
    pub(super) async fn connect(&self, id: &str) -> Result<Sandbox, CallError> {
        let order = json!({ "timeout": LEASE.as_secs() });
        let path = format!("/sandboxes/{id}/connect");
        let answer = self.call(Method::POST, &path, Some(order), Again::Always, MAKE_LIMIT).await?;
        serde_json::from_slice(&answer).map_err(CallError::garbled)
    }

    /// Renews the lease of a sandbox of ours.
    pub(super) async fn renew(&self, id: &str) -> Result<(), CallError> {
        let order = json!({ "timeout": LEASE.as_secs() });
        let path = format!("/sandboxes/{id}/timeout");
        self.call(Method::POST, &path, Some(order), Again::Always, CALL_LIMIT).await.map(drop)
    }

    /// Removes a sandbox with all that runs in it. One that is gone already is well.
    pub(super) async fn remove(&self, id: &str) -> Result<(), CallError> {
        let path = format!("/sandboxes/{id}");
        match self.call(Method::DELETE, &path, None, Again::Always, CALL_LIMIT).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// The daemon of a sandbox.
    pub(super) fn daemon(&self, sandbox: &Sandbox) -> Result<Daemon, CallError> {
        let domain = sandbox.domain.as_deref().filter(|domain| !domain.is_empty());
        let domain = domain.unwrap_or(&self.settings.domain);
        let base = match &self.settings.sandbox {
            Some(base) => base.clone(),
            None if SHARED_DOMAINS.contains(&domain) => format!("https://sandbox.{domain}"),
            None => format!("https://{DAEMON_PORT}-{}.{domain}", sandbox.id),
        };
        let mut headers = HeaderMap::new();
        let id = HeaderValue::from_str(&sandbox.id).map_err(CallError::garbled)?;
        headers.insert("E2b-Sandbox-Id", id);
        headers.insert("E2b-Sandbox-Port", HeaderValue::from(DAEMON_PORT));
        if let Some(token) = &sandbox.token {
            headers.insert("X-Access-Token", sensitive(token)?);
        }
        if is_before(&sandbox.version, (0, 4)) {
            // Older daemons have no user of their own choice: "user", without a password.
            headers.insert(AUTHORIZATION, HeaderValue::from_static("Basic dXNlcjo="));
        }
        Ok(Daemon { client: self.client.clone(), base, headers })
    }
}

fn sensitive(text: &str) -> Result<HeaderValue, CallError> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| CallError::from(not_set_up("the key holds characters that no key has")))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Whether a version is older than this one; one that cannot be read is not.
fn is_before(version: &str, (major, minor): (u32, u32)) -> bool {
    let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
    match (parts.next(), parts.next()) {
        (Some(a), Some(b)) => (a, b) < (major, minor),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert!(is_before("0.3.9", (0, 4)) && is_before("0.1.0", (0, 4)));
        assert!(!is_before("0.4.0", (0, 4)) && !is_before("0.10.2", (0, 4)) && !is_before("1.0", (0, 4)));
        assert!(!is_before("debug", (0, 4)));
    }
}
