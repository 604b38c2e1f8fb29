//! Calls over HTTP, each with a deadline, and what became of them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::StartError;
use reqwest::{Client, RequestBuilder, Response};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::shared::start_error;

/// How long a connection may take to stand.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Idle connections are closed after this long, before the far side does: a call that is not to be made twice should
/// not meet a connection that is closing.
const IDLE_LIMIT: Duration = Duration::from_secs(15);

/// Most of an answer that is read into memory at once, in bytes.
const MOST_ANSWER: usize = 4 << 20;

/// Most of what a refusal says that is shown, in characters.
const MOST_SAID: usize = 300;

/// Why a call came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// No connection: nothing was sent.
    #[error("no connection: {0}")]
    NotSent(String),
    /// The connection broke, or nothing came in time, when the call may have taken effect.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The far side refused.
    #[error("{message} ({status}{})", code.as_deref().map(|code| format!(" {code}")).unwrap_or_default())]
    Refused {
        /// The status of HTTP; 0 when a stream refused after it had begun.
        status: u16,
        /// The vendor's word for it.
        code: Option<String>,
        /// What it says.
        message: String,
        /// How long it asks to wait.
        wait: Option<Duration>,
    },
    /// Nobody can be called: what is needed for it is not set up.
    #[error(transparent)]
    NotSetUp(#[from] StartError),
    /// The answer is not what it should be.
    #[error("an answer that cannot be read: {0}")]
    Garbled(String),
}

impl CallError {
    pub(crate) fn garbled(what: impl std::fmt::Display) -> Self {
        Self::Garbled(what.to_string())
    }

    pub(crate) fn too_late(what: &str, limit: Duration) -> Self {
        Self::Broken(format!("{what} within {limit:?}"))
    }

    /// Whether what was asked for does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status, code, .. }
            if *status == 404 || code.as_deref() == Some("not_found"))
    }

    /// Whether the far side does not know us, or not any more.
    pub(crate) const fn is_unauthenticated(&self) -> bool {
        matches!(self, Self::Refused { status: 401, .. })
    }

    /// Whether somebody is there who says that the time is over.
    #[cfg(feature = "modal")]
    pub(crate) const fn is_over_time(&self) -> bool {
        matches!(self, Self::Refused { status: 504, .. })
    }

    /// Whether it is certain that the call had no effect, and another may have one.
    const fn had_no_effect(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::Refused { status: 429, .. })
    }

    /// Whether another call may go better.
    pub(crate) const fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::NotSent(_) | Self::Broken(_) | Self::Refused { status: 429 | 500 | 502 | 503 | 504, .. }
        )
    }

    /// The error of a start that needed the call.
    pub(crate) fn of_start(&self, what: &str) -> StartError {
        let code = match self {
            Self::NotSetUp(error) => return error.clone(),
            error if error.is_not_found() => ErrorCode::PlaceNotFound,
            Self::NotSent(_) | Self::Broken(_) | Self::Garbled(_) => ErrorCode::BackendUnreachable,
            Self::Refused { status: 401 | 403, .. } => ErrorCode::BackendUnauthorized,
            Self::Refused { status: 429 | 500.., .. } => ErrorCode::BackendUnreachable,
            Self::Refused { .. } => ErrorCode::SpawnFailed,
        };
        start_error(code, format!("{what}: {self}"))
    }
}

/// The error of whoever has no key, or no address that a key may be sent to.
pub(crate) fn not_set_up(why: impl std::fmt::Display) -> StartError {
    start_error(ErrorCode::BackendNotSetUp, why.to_string())
}

impl From<reqwest::Error> for CallError {
    fn from(error: reqwest::Error) -> Self {
        let (is_connect, error) = (error.is_connect(), error.without_url());
        let mut said = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            said += &format!(": {inner}");
            cause = inner.source();
        }
        if is_connect { Self::NotSent(said) } else { Self::Broken(said) }
    }
}

/// What may be done with a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It may be made again whatever became of it: twice is as good as once.
    Always,
    /// Only when it is certain that it had no effect.
    IfNothingHappened,
}

impl Again {
    /// Whether a call that failed like this may be made again, and may go better then.
    const fn allows(self, error: &CallError) -> bool {
        match self {
            Self::Always => error.may_pass(),
            Self::IfNothingHappened => error.had_no_effect(),
        }
    }
}

/// How often a call is made at most.
const TRIES: u32 = 4;
/// The first pause between two tries; each further one is twice as long, and up to half of it is left to chance.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// A vendor that asks for a longer pause than this is not waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Makes a call, and makes it again where that is allowed and may help.
pub(crate) async fn call<T, Call: Future<Output = Result<T, CallError>>>(
    again: Again,
    mut once: impl FnMut() -> Call,
) -> Result<T, CallError> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..TRIES {
        let error = match once().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let asked = match &error {
            CallError::Refused { wait, .. } => *wait,
            _ => None,
        };
        let wait = asked.unwrap_or_else(|| jittered(pause));
        if !again.allows(&error) || wait > LONGEST_PAUSE {
            return Err(error);
        }
        tracing::debug!(%error, ?wait, "a call to a vendor is made again");
        tokio::time::sleep(wait).await;
        pause *= 2;
    }
    once().await
}

/// Between a half and the whole of it.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 1];
    // Without chance the pause is the whole one.
    if getrandom::fill(&mut random).is_err() {
        return pause;
    }
    pause / 2 + pause / 2 * u32::from(random[0]) / 256
}

/// The authorities that are believed: those in `file`, else this machine's.
pub(crate) fn roots(file: Option<&Path>) -> RootCertStore {
    let found = match file {
        Some(file) => rustls_native_certs::load_certs_from_paths(Some(file), None),
        None => rustls_native_certs::load_native_certs(),
    };
    let mut roots = RootCertStore::empty();
    let (_added, _ignored) = roots.add_parsable_certificates(found.certs);
    roots
}

/// TLS with this machine's roots.
pub(crate) fn tls(is_loopback: bool) -> Result<ClientConfig, CallError> {
    let roots = roots(None);
    if roots.is_empty() && !is_loopback {
        return Err(CallError::NotSent("this machine has no root certificates".to_owned()));
    }
    Ok(ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| CallError::NotSent(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// A client for one vendor: no redirects (they would take secrets along), HTTP/1.1, so that no stream whose reader is
/// slow holds up another one.
pub(crate) fn client(is_loopback: bool) -> Result<Client, CallError> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls(is_loopback)?)
        .http1_only()
        .tcp_nodelay(true)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_LIMIT)
        .pool_idle_timeout(IDLE_LIMIT)
        .user_agent(concat!("ptyard/", env!("CARGO_PKG_VERSION")));
    if is_loopback {
        builder = builder.no_proxy();
    }
    Ok(builder.build()?)
}

/// Sends a request, waits at most `limit` for the head of the answer, and takes a refusal apart.
pub(crate) async fn send(request: RequestBuilder, limit: Duration) -> Result<Response, CallError> {
    let sending = tokio::time::timeout(limit, request.send());
    let response = sending.await.map_err(|_| CallError::too_late("no answer", limit))??;
    if response.status().is_success() {
        return Ok(response);
    }
    let status = response.status().as_u16();
    let wait = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let body = body(response, limit).await.unwrap_or_default();
    Err(refused(status, &body, wait.map(Duration::from_secs)))
}

/// Sends a request and reads the whole answer.
pub(crate) async fn ask(request: RequestBuilder, limit: Duration) -> Result<Vec<u8>, CallError> {
    body(send(request, limit).await?, limit).await
}

async fn body(mut response: Response, limit: Duration) -> Result<Vec<u8>, CallError> {
    let reading = async {
        let mut all = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if all.len() + chunk.len() > MOST_ANSWER {
                return Err(CallError::garbled(format!("more than {MOST_ANSWER} bytes")));
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    };
    tokio::time::timeout(limit, reading).await.map_err(|_| CallError::too_late("no whole answer", limit))?
}

/// A refusal as vendors write them: a document with a message and a code under one of their usual names, or text.
pub(crate) fn refused(status: u16, body: &[u8], wait: Option<Duration>) -> CallError {
    let document: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| document.get(name).and_then(|value| value.as_str()).map(str::to_owned);
    let message = text("message").or_else(|| text("error")).unwrap_or_else(|| {
        let plain = String::from_utf8_lossy(body);
        let plain = plain.trim();
        // A gateway's page says nothing that its status does not.
        if plain.is_empty() || plain.starts_with('<') { "refused".to_owned() } else { plain.to_owned() }
    });
    CallError::Refused { status, code: text("code"), message: shown(&message), wait }
}

/// As much of what the far side says as is shown.
pub(crate) fn shown(message: &str) -> String {
    message.chars().filter(|c| !c.is_control()).take(MOST_SAID).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16) -> CallError {
        CallError::Refused { status, code: None, message: "no".to_owned(), wait: None }
    }

    #[test]
    fn only_what_had_no_effect_is_done_again_unless_twice_is_as_good_as_once() {
        let broken = CallError::Broken("reset".to_owned());
        let not_sent = CallError::NotSent("refused".to_owned());
        for (error, if_nothing_happened, always) in [
            (&not_sent, true, true),
            (&status(429), true, true),
            (&broken, false, true),
            (&status(500), false, true),
            (&status(502), false, true),
            (&status(503), false, true),
            (&status(401), false, false),
            (&status(409), false, false),
        ] {
            assert_eq!(Again::IfNothingHappened.allows(error), if_nothing_happened, "{error}");
            assert_eq!(Again::Always.allows(error), always, "{error}");
        }
    }

    #[test]
    fn what_another_try_cannot_help_is_told_as_such() {
        let not_set_up = CallError::from(not_set_up("KEY is not set"));
        for (error, code) in [
            (&not_set_up, ErrorCode::BackendNotSetUp),
            (&status(401), ErrorCode::BackendUnauthorized),
            (&status(403), ErrorCode::BackendUnauthorized),
            (&status(404), ErrorCode::PlaceNotFound),
        ] {
            assert_eq!(error.of_start("x").code, code, "{error}");
            assert!(!code.is_retryable() && !error.may_pass(), "{error}");
        }
        assert_eq!(not_set_up.of_start("x").message, "KEY is not set");
        for error in [status(429), status(503), CallError::NotSent("refused".to_owned())] {
            assert_eq!(error.of_start("x").code, ErrorCode::BackendUnreachable, "{error}");
            assert!(ErrorCode::BackendUnreachable.is_retryable() && error.may_pass(), "{error}");
        }
    }

    #[test]
    fn refusals_say_what_the_vendor_says_and_no_more() {
        let said = |body: &str| refused(404, body.as_bytes(), None).to_string();
        assert_eq!(said(r#"{"code":404,"message":"no such sandbox"}"#), "no such sandbox (404)");
        assert_eq!(said(r#"{"code":"not_found","message":"x"}"#), "x (404 not_found)");
        assert_eq!(said(r#"{"error":"y","statusCode":404}"#), "y (404)");
        assert_eq!(said("<html>Bad Gateway</html>"), "refused (404)");
        assert_eq!(said("\x1b[31mred\n"), "[31mred (404)");
        assert_eq!(said(&"x".repeat(10_000)).len(), MOST_SAID + " (404)".len());
    }
}
