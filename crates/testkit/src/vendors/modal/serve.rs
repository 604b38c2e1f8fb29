//! gRPC over connections that can be cut, with TLS or without.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, Response};
use futures_util::Stream;
use hyper::body::{Body as HttpBody, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ptyard_modal_wire::Call;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tonic::Status;
use tonic::body::Body;
use tonic_prost::ProstCodec;

use super::{Vendor, locked};

/// A call as it comes.
pub(super) type Asked = Request<Incoming>;
/// What is said to it.
pub(super) type Answered = Response<Body>;

/// A service: all its methods.
pub(super) trait Service: Clone + Send + Sync + 'static {
    /// The vendor that it belongs to.
    fn vendor(&self) -> &Arc<Vendor>;

    /// Answers a call.
    fn answer(self, path: String, asked: Asked) -> impl Future<Output = Answered> + Send;
}

/// Serves every connection until it is cut.
pub(super) async fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, service: impl Service) {
    while let Ok((stream, _)) = listener.accept().await {
        let _delayed = stream.set_nodelay(true);
        let (service, tls) = (service.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        connection(stream, service).await;
                    }
                }
                None => connection(stream, service).await,
            }
        });
    }
}

async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, service: impl Service) {
    let mut cuts = service.vendor().cuts.subscribe();
    cuts.mark_unchanged();
    // One call can have its connection cut, and does not say so in an answer.
    let own = Arc::new(watch::Sender::new(false));
    let mut own_cuts = own.subscribe();
    let answer = service_fn(move |asked| {
        let (service, own) = (service.clone(), Arc::clone(&own));
        async move { Ok::<_, Infallible>(one(service, asked, &own).await) }
    });
    let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), answer);
    tokio::select! {
        _done = serving => {}
        _ = cuts.changed() => {}
        _ = own_cuts.wait_for(|cut| *cut) => {}
    }
}

/// Hears a call, and has it answered, refused or lost.
async fn one(service: impl Service, asked: Asked, own: &watch::Sender<bool>) -> Answered {
    let path = asked.uri().path().to_owned();
    let vendor = Arc::clone(service.vendor());
    vendor.hear(&path);
    let refused = locked(&vendor.faults).refuses(&path);
    if let Some(status) = refused {
        return status.into_http();
    }
    let limit = asked.headers().get("grpc-timeout").and_then(|value| timeout(value.to_str().ok()?));
    let answering = service.answer(path.clone(), asked);
    let answer = match limit {
        Some(limit) => tokio::time::timeout(limit, answering)
            .await
            .unwrap_or_else(|_| Status::deadline_exceeded("the time is over").into_http()),
        None => answering.await,
    };
    if locked(&vendor.faults).loses_answer(&path) {
        own.send_replace(true);
        // The connection goes before anything is said.
        return std::future::pending().await;
    }
    let frame_bytes = locked(&vendor.faults).frame_bytes;
    match frame_bytes {
        Some(most) => answer.map(|body| Body::new(Split { body, most, rest: Bytes::new() })),
        None => answer,
    }
}

/// A time as gRPC writes it.
fn timeout(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number = number.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number) * 3600,
        "M" => Duration::from_secs(number) * 60,
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Answers a call that has one answer.
pub(super) async fn unary<C: Call, Doing>(asked: Asked, mut doing: impl FnMut(C) -> Doing) -> Answered
where
    Doing: Future<Output = Result<C::Answer, Status>> + Send + 'static,
{
    let service = tower::service_fn(|request: tonic::Request<C>| {
        let doing = doing(request.into_inner());
        async { doing.await.map(tonic::Response::new) }
    });
    tonic::server::Grpc::new(ProstCodec::<C::Answer, C>::default()).unary(service, asked).await
}

/// Answers that come one after the other.
pub(super) type Answers<C> = Pin<Box<dyn Stream<Item = Result<<C as Call>::Answer, Status>> + Send>>;

/// Answers a call that has several.
pub(super) async fn streaming<C: Call, Doing>(asked: Asked, mut doing: impl FnMut(C) -> Doing) -> Answered
where
    Doing: Future<Output = Result<Answers<C>, Status>> + Send + 'static,
{
    let service = tower::service_fn(|request: tonic::Request<C>| {
        let doing = doing(request.into_inner());
        async { doing.await.map(tonic::Response::new) }
    });
    tonic::server::Grpc::new(ProstCodec::<C::Answer, C>::default()).server_streaming(service, asked).await
}

/// A body in frames of few bytes.
struct Split {
    body: Body,
    most: usize,
    rest: Bytes,
}

impl HttpBody for Split {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let most = self.most.min(self.rest.len());
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(most)))))
    }
}
