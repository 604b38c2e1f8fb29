//! The vendor's own API: sandboxes are made, found and removed; and what a sandbox's own server does.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ptyard_core::{Size, TerminalId};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::settings::Settings;
use crate::remote::address;
use crate::remote::credentials::Secret;
use crate::remote::http::{Again, CallError, ask, call, client, not_set_up, refused};
use crate::remote::lodging::Ran;
use crate::remote::socket::{Call, Dialer, Ear, Mouth, Silence};
use crate::shared::greeting::quoted;

/// The version of the vendor's API that this is written for.
const VERSION: &str = "2026-09-22";

/// The image of sandboxes for which nobody names one.
const IMAGE: &str = "blaxel/base-image:latest";

/// Memory of a new sandbox, in megabytes: what the vendor's own clients ask for.
const MEMORY_MB: u32 = 4096;

/// The vendor removes a sandbox of ours when nobody was connected to it for so long.
const IDLE_LIMIT: &str = "15m";

/// How long a sandbox may take until it runs: images are pulled first.
const START_LIMIT: Duration = Duration::from_secs(180);

/// How often the vendor is asked whether it runs: it has no call that waits.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long a call may take.
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// How long a call that makes a sandbox may take: it answers when the sandbox is there.
const MAKE_LIMIT: Duration = Duration::from_secs(120);

/// What can be done at the vendor, with a key.
#[derive(Clone)]
pub(super) struct Api {
    client: Client,
    dialer: Dialer,
    settings: Settings,
    key: Secret,
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
struct Described {
    metadata: Metadata,
    #[serde(default)]
    status: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    url: String,
}

/// A sandbox that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sandbox {
    pub(super) name: String,
    /// The base of its own server, without a slash at the end.
    base: String,
}

/// What a command came to.
#[derive(Deserialize)]
struct Executed {
    #[serde(default)]
    status: String,
    #[serde(rename = "exitCode")]
    code: Option<i32>,
    #[serde(default)]
    stdout: String,
}

/// The name of a sandbox of ours, and of a terminal in any.
pub(super) fn name(id: TerminalId) -> String {
    format!("ptyard-{id}")
}

impl Api {
    pub(super) fn new(settings: Settings, key: Secret) -> Result<Self, CallError> {
        let bad = || CallError::from(not_set_up("the key holds characters that no key has"));
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_| bad())?;
        bearer.set_sensitive(true);
        let workspace = settings.workspace().map_err(not_set_up)?;
        let workspace = HeaderValue::from_str(workspace).map_err(CallError::garbled)?;
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("x-blaxel-authorization"), bearer);
        headers.insert(HeaderName::from_static("x-blaxel-workspace"), workspace);
        headers.insert(HeaderName::from_static("blaxel-version"), HeaderValue::from_static(VERSION));
        let is_loopback = settings.is_loopback();
        let (client, dialer) = (client(is_loopback)?, Dialer::new(is_loopback)?);
        Ok(Self { client, dialer, settings, key, headers })
    }

    /// How long a program runs on that nobody asks for.
    pub(super) const fn alone(&self) -> Duration {
        self.settings.alone
    }

    async fn call(
        &self,
        (method, url): (Method, &str),
        body: Option<Value>,
        again: Again,
        limit: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let asking = || {
            let mut request = self.client.request(method.clone(), url).headers(self.headers.clone());
            if let Some(body) = &body {
                request = request.header("content-type", "application/json").body(body.to_string());
            }
            ask(request, limit)
        };
        call(again, asking).await
    }

    fn url(&self, path: &str) -> String {
        format!("{}/sandboxes{path}", self.settings.api)
    }

    /// A question that needs the key and changes nothing.
    pub(super) async fn check(&self) -> Result<(), CallError> {
        let url = self.url("?limit=1");
        self.call((Method::GET, &url), None, Again::Always, CALL_LIMIT).await.map(drop)
    }

    /// Makes a sandbox for one program, and waits until it runs. Its name is the program's, so there is one at the most,
    /// and it can be removed also when the answer was lost.
    pub(super) async fn make(&self, image: Option<&str>, id: TerminalId) -> Result<Sandbox, CallError> {
        let mut order = json!({
            "metadata": { "name": name(id), "labels": { "ptyard-terminal": id.to_string() } },
            "spec": {
                "enabled": true,
                "runtime": { "image": image.unwrap_or(IMAGE), "memory": MEMORY_MB },
                "lifecycle": {
                    "expirationPolicies": [{ "type": "ttl-idle", "value": IDLE_LIMIT, "action": "delete" }],
                },
            },
        });
        if let Some(region) = &self.settings.region {
            order["spec"]["region"] = json!(region);
        }
        let url = self.url("?createIfNotExist=true");
        let made = self.call((Method::POST, &url), Some(order), Again::Always, MAKE_LIMIT).await?;
        self.deployed(serde_json::from_slice(&made).map_err(CallError::garbled)?).await
    }

    /// Finds a sandbox that is there. One that sleeps is woken by whoever connects to it.
    pub(super) async fn find(&self, name: &str) -> Result<Sandbox, CallError> {
        let described = self.describe(name).await?;
        if described.status == "TERMINATED" {
            return Err(refused(404, format!("sandbox {name} was removed").as_bytes(), None));
        }
        self.deployed(described).await
    }

    async fn describe(&self, name: &str) -> Result<Described, CallError> {
        let url = self.url(&format!("/{name}"));
        let answer = self.call((Method::GET, &url), None, Again::Always, CALL_LIMIT).await?;
        serde_json::from_slice(&answer).map_err(CallError::garbled)
    }

    /// Waits until it runs.
    async fn deployed(&self, mut described: Described) -> Result<Sandbox, CallError> {
        let began = Instant::now();
        loop {
            match described.status.as_str() {
                "DEPLOYED" => break,
                "UPLOADING" | "BUILDING" | "DEPLOYING" | "UNARCHIVING" if began.elapsed() <= START_LIMIT => {
                    sleep(LOOK_EVERY).await;
                }
                "UPLOADING" | "BUILDING" | "DEPLOYING" | "UNARCHIVING" => {
                    return Err(CallError::too_late("the sandbox does not run", START_LIMIT));
                }
                state => return Err(CallError::garbled(format!("the sandbox is in state {state:?}"))),
            }
            described = self.describe(&described.metadata.name).await?;
        }
        let Metadata { name, url } = described.metadata;
        let workspace = self.settings.workspace().map_err(not_set_up)?;
        let base = match url.trim_end_matches('/') {
            "" => format!("https://run.blaxel.ai/{workspace}/sandboxes/{name}"),
            base => base.to_owned(),
        };
        address::check(&base).map_err(CallError::NotSent)?;
        Ok(Sandbox { name, base })
    }

    /// Removes a sandbox with all that runs in it. One that is gone already is well.
    pub(super) async fn remove(&self, name: &str) -> Result<(), CallError> {
        let url = self.url(&format!("/{name}"));
        match self.call((Method::DELETE, &url), None, Again::Always, CALL_LIMIT).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Runs a script of ours to its end. A shell of the sandbox reads the command, so that everything in it is quoted. What
    /// it prints has to be text.
    pub(super) async fn run(
        &self,
        sandbox: &Sandbox,
        (script, arguments): (&str, &[&str]),
        env: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Ran, CallError> {
        let mut command = format!("exec /bin/sh -c {} sh", quoted(script));
        for argument in arguments {
            command += " ";
            command += &quoted(argument);
        }
        let order = json!({
            "command": command,
            "workingDir": "/",
            "env": env,
            "waitForCompletion": true,
            // In seconds.
            "timeout": limit.as_secs().max(1),
        });
        let url = format!("{}/process", sandbox.base);
        let answer = self.call((Method::POST, &url), Some(order), Again::IfNothingHappened, limit).await?;
        let Executed { status, code, stdout } =
            serde_json::from_slice(&answer).map_err(CallError::garbled)?;
        match status.as_str() {
            "completed" | "failed" => Ok(Ran { output: stdout, code }),
            _ => Err(CallError::too_late("no report", limit)),
        }
    }

    /// Connects to a terminal, which is made for whoever is first. The vendor takes the key of a socket from its address
    /// only: it goes over TLS like the rest, and nobody shows the address.
    pub(super) async fn terminal(
        &self,
        sandbox: &Sandbox,
        id: TerminalId,
        size: Size,
    ) -> Result<(Mouth, Ear), CallError> {
        let mut url: Url = format!("{}/terminal/ws", sandbox.base)
            .parse()
            .map_err(|_| CallError::garbled("the address of a sandbox is none"))?;
        url.query_pairs_mut()
            .append_pair("token", self.key.expose())
            .append_pair("cols", &size.cols().to_string())
            .append_pair("rows", &size.rows().to_string())
            .append_pair("sessionId", &name(id))
            .append_pair("workingDir", "/");
        let call = Call {
            url,
            headers: HeaderMap::new(),
            protocols: Vec::new(),
            limit: CALL_LIMIT,
            silence: Silence::default(),
        };
        self.dialer.open(call).await
    }
}
