//! One connection for calls of gRPC, and what becomes of them.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use ptyard_modal_wire::Call;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, ConnectError, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::remote::credentials::Secret;
use crate::remote::http::{CONNECT_LIMIT, CallError, not_set_up, roots, shown};

/// How often the far side is asked for a sign of life while something is awaited from it.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// A connection without a sign of life for this long is broken.
const SILENCE: Duration = Duration::from_secs(20);

/// How much of one stream may be on its way before it is read, in bytes: a slow reader stops its own stream.
const STREAM_WINDOW: u32 = 128 << 10;

/// How much may be on its way altogether: so many slow streams stop none of the other calls.
const CONNECTION_WINDOW: u32 = 4 << 20;

/// Longest message.
const MOST_MESSAGE: usize = 8 << 20;

/// A connection, made for the first call, and made again when it breaks.
#[derive(Debug, Clone)]
pub(super) struct Link(Channel);

impl Link {
    /// A connection to this address. `authorities` are believed instead of this machine's.
    pub(super) fn new(url: &str, authorities: Option<&Path>) -> Result<Self, CallError> {
        let wrong = |error: tonic::transport::Error| CallError::NotSent(said(&error));
        let mut endpoint = Endpoint::from_shared(url.to_owned())
            .and_then(|endpoint| endpoint.user_agent(concat!("ptyard/", env!("CARGO_PKG_VERSION"))))
            .map_err(wrong)?
            .connect_timeout(CONNECT_LIMIT)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(SILENCE)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        if url.starts_with("https://") {
            let roots = roots(authorities);
            if roots.is_empty() {
                return Err(CallError::NotSent("there are no root certificates".to_owned()));
            }
            let tls = ClientTlsConfig::new().trust_anchors(roots.roots);
            endpoint = endpoint.tls_config(tls).map_err(wrong)?;
        }
        Ok(Self(endpoint.connect_lazy()))
    }

    async fn ready(&self) -> Result<Grpc<Channel>, CallError> {
        let mut grpc = Grpc::new(self.0.clone()).max_decoding_message_size(MOST_MESSAGE);
        grpc.ready().await.map_err(|error| of_transport(&error))?;
        Ok(grpc)
    }

    /// One request, one answer.
    pub(super) async fn ask<C: Call + Clone>(
        &self,
        call: &C,
        metadata: MetadataMap,
        limit: Duration,
    ) -> Result<C::Answer, CallError> {
        let asking = async {
            let mut request = Request::from_parts(metadata, Default::default(), call.clone());
            request.set_timeout(limit);
            let path = PathAndQuery::from_static(C::PATH);
            let answer = self.ready().await?.unary(request, path, codec::<C>()).await;
            answer.map(tonic::Response::into_inner).map_err(|status| of_status(&status))
        };
        // The far side has the same limit; what it says when it is over is worth a moment.
        let limit_here = limit + Duration::from_secs(1);
        tokio::time::timeout(limit_here, asking)
            .await
            .map_err(|_| CallError::too_late("no answer", limit_here))?
    }

    /// One request, answers one after the other.
    pub(super) async fn open<C: Call + Clone>(
        &self,
        call: &C,
        metadata: MetadataMap,
        limit: Duration,
    ) -> Result<Streaming<C::Answer>, CallError> {
        let opening = async {
            let request = Request::from_parts(metadata, Default::default(), call.clone());
            let path = PathAndQuery::from_static(C::PATH);
            let answers = self.ready().await?.server_streaming(request, path, codec::<C>()).await;
            answers.map(tonic::Response::into_inner).map_err(|status| of_status(&status))
        };
        tokio::time::timeout(limit, opening).await.map_err(|_| CallError::too_late("no answer", limit))?
    }
}

fn codec<C: Call>() -> ProstCodec<C, C::Answer> {
    ProstCodec::default()
}

/// A secret as a value that is not shown.
pub(super) fn sensitive(secret: &str) -> Result<MetadataValue<Ascii>, CallError> {
    let mut value = MetadataValue::try_from(secret)
        .map_err(|_| CallError::from(not_set_up("the token holds characters that no token has")))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A secret as the bearer's.
pub(super) fn bearer(secret: &Secret) -> Result<MetadataMap, CallError> {
    let mut metadata = MetadataMap::new();
    metadata.insert("authorization", sensitive(&format!("Bearer {}", secret.expose()))?);
    Ok(metadata)
}

/// An error with all that caused it, in one line.
fn said(error: &(dyn Error + 'static)) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        said += &format!(": {inner}");
        cause = inner.source();
    }
    shown(&said)
}

/// Whether no connection could be made.
fn is_connect(error: &(dyn Error + 'static)) -> bool {
    let mut error = Some(error);
    while let Some(inner) = error {
        if inner.is::<ConnectError>() {
            return true;
        }
        error = inner.source();
    }
    false
}

fn of_transport(error: &(dyn Error + 'static)) -> CallError {
    if is_connect(error) { CallError::NotSent(said(error)) } else { CallError::Broken(said(error)) }
}

/// A status as the codes of HTTP that mean the same, which is how gateways show them.
pub(super) fn of_status(status: &Status) -> CallError {
    // With a cause it was made here: nobody said it.
    if let Some(cause) = status.source() {
        return of_transport(cause);
    }
    let (code, number) = match status.code() {
        Code::NotFound => ("not_found", 404),
        Code::Unauthenticated => ("unauthenticated", 401),
        Code::PermissionDenied => ("permission_denied", 403),
        Code::AlreadyExists => ("already_exists", 409),
        Code::Aborted => ("aborted", 409),
        Code::InvalidArgument => ("invalid_argument", 400),
        Code::FailedPrecondition => ("failed_precondition", 400),
        Code::OutOfRange => ("out_of_range", 400),
        Code::ResourceExhausted => ("resource_exhausted", 429),
        Code::Unimplemented => ("unimplemented", 501),
        Code::Unavailable => ("unavailable", 503),
        Code::DeadlineExceeded => ("deadline_exceeded", 504),
        Code::DataLoss => ("data_loss", 400),
        Code::Internal => ("internal", 500),
        Code::Unknown => ("unknown", 500),
        Code::Cancelled | Code::Ok => return CallError::Broken(shown(status.message())),
    };
    let message = if status.message().is_empty() { "refused" } else { status.message() };
    CallError::Refused { status: number, code: Some(code.to_owned()), message: shown(message), wait: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whether_it_may_pass() {
        let of = |code| of_status(&Status::new(code, "why\n"));
        assert!(of(Code::NotFound).is_not_found());
        assert!(of(Code::Unauthenticated).is_unauthenticated());
        let may_pass = [
            (Code::Unavailable, true),
            (Code::Internal, true),
            (Code::Unknown, true),
            (Code::DeadlineExceeded, true),
            (Code::Cancelled, true),
            (Code::ResourceExhausted, true),
            (Code::NotFound, false),
            (Code::Unauthenticated, false),
            (Code::PermissionDenied, false),
            (Code::InvalidArgument, false),
            (Code::FailedPrecondition, false),
            (Code::DataLoss, false),
        ];
        for (code, may) in may_pass {
            assert_eq!(of(code).may_pass(), may, "{code:?}");
        }
        assert_eq!(of(Code::NotFound).to_string(), "why (404 not_found)");
    }

    #[test]
    fn tokens_are_not_shown() {
        let metadata = bearer(&Secret::new("eyJ.secret.x")).unwrap();
        assert!(!format!("{metadata:?}").contains("secret"), "{metadata:?}");
        assert!(!sensitive("a\nb").unwrap_err().to_string().contains('\n'));
    }
}
