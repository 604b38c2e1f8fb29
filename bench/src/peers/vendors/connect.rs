//! A program over the Connect protocol: output as a stream of documents, input by calls.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_testkit::vendors::e2b::{E2bServer, KEY};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::Outcome;

/// A client without proxies and without TLS: everything is on this machine.
pub(super) fn client() -> Outcome<Client> {
    let tls = tokio_rustls::rustls::ClientConfig::builder_with_provider(std::sync::Arc::new(
        tokio_rustls::rustls::crypto::ring::default_provider(),
    ));
    let nobody = tokio_rustls::rustls::RootCertStore::empty();
    let tls = tls.with_safe_default_protocol_versions()?.with_root_certificates(nobody).with_no_client_auth();
    Ok(Client::builder().tls_backend_preconfigured(tls).no_proxy().tcp_nodelay(true).build()?)
}

pub(crate) struct Connect {
    client: Client,
    base: String,
    sandbox: String,
    token: String,
    answers: Response,
    came: Vec<u8>,
    pid: u64,
}

impl Connect {
    pub(crate) async fn run(server: &E2bServer, sandbox: &str, script: &str) -> Outcome<Self> {
        let (client, base) = (client()?, server.url());
        let found = client.post(format!("{base}/sandboxes/{sandbox}/connect")).header("x-api-key", KEY);
        let found: Value = serde_json::from_slice(&found.send().await?.error_for_status()?.bytes().await?)?;
        let token = found["envdAccessToken"].as_str().ok_or("no token")?.to_owned();
        let process = json!({ "cmd": "sh", "args": [script], "envs": {} });
        let order = json!({ "process": process, "pty": { "size": { "cols": 80, "rows": 24 } } }).to_string();
        let length = u32::try_from(order.len())?.to_be_bytes();
        let body = [&[0], length.as_slice(), order.as_bytes()].concat();
        let request = client
            .post(format!("{base}/process.Process/Start"))
            .header("content-type", "application/connect+json")
            .header("connect-protocol-version", "1");
        let answers = of(request, sandbox, &token).body(body).send().await?.error_for_status()?;
        let sandbox = sandbox.to_owned();
        let mut line = Self { client, base, sandbox, token, answers, came: Vec::new(), pid: 0 };
        line.pid = line.event().await?["start"]["pid"].as_u64().ok_or("no process id")?;
        Ok(line)
    }

    /// The next document's event.
    async fn event(&mut self) -> Outcome<Value> {
        loop {
            if let Some((head, rest)) = self.came.split_at_checked(5) {
                let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if let Some(document) = rest.get(..length) {
                    let mut document: Value = serde_json::from_slice(document)?;
                    self.came.drain(..5 + length);
                    return Ok(document["event"].take());
                }
            }
            let chunk = self.answers.chunk().await?.ok_or("the stream has ended")?;
            self.came.extend_from_slice(&chunk);
        }
    }

    pub(crate) async fn hear(&mut self) -> Outcome<Vec<u8>> {
        loop {
            let event = self.event().await?;
            if let Some(bytes) = event["data"]["pty"].as_str() {
                return Ok(STANDARD.decode(bytes)?);
            }
            if !event["end"].is_null() {
                return Err(format!("the program has ended: {event}").into());
            }
        }
    }

    pub(crate) async fn say(&mut self, bytes: &[u8]) -> Outcome<()> {
        let order = json!({ "process": { "pid": self.pid }, "input": { "pty": STANDARD.encode(bytes) } });
        let request = self
            .client
            .post(format!("{}/process.Process/SendInput", self.base))
            .header("content-type", "application/json")
            .header("connect-protocol-version", "1");
        let answer = of(request, &self.sandbox, &self.token).body(order.to_string()).send().await?;
        answer.error_for_status()?.bytes().await?;
        Ok(())
    }
}

fn of(request: RequestBuilder, sandbox: &str, token: &str) -> RequestBuilder {
    request.header("e2b-sandbox-id", sandbox).header("x-access-token", token)
}
