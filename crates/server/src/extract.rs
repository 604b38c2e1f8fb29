//! What requests hold, with every refusal as an [`ApiError`].

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use ptyard_core::ErrorCode;
use ptyard_yard::TerminalRef;
use serde::de::DeserializeOwned;

use crate::MAX_REQUEST_BYTES;
use crate::error::ApiError;

/// How much of a body that is too large is read and thrown away, so that the caller gets to read the refusal
/// instead of a broken pipe. Larger ones are cut off.
const MAX_DISCARDED_BYTES: usize = 4 * MAX_REQUEST_BYTES;

/// A JSON body.
pub(crate) struct Payload<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Payload<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        let bytes = read_json(request).await?;
        parse(&bytes).map(Self)
    }
}

/// A JSON body that may be left out where nothing needs to be said.
pub(crate) struct OptionalPayload<T>(pub(crate) T);

impl<T: DeserializeOwned + Default, S: Sync> FromRequest<S> for OptionalPayload<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        if request.body().is_end_stream() {
            return Ok(Self(T::default()));
        }
        let bytes = read_json(request).await?;
        parse(&bytes).map(Self)
    }
}

async fn read_json(request: Request) -> Result<Bytes, ApiError> {
    let kind = request.headers().get(header::CONTENT_TYPE).cloned();
    if !kind.as_ref().is_some_and(is_json) {
        return Err(ApiError::content_type(kind.as_ref()));
    }
    read_limited(request.into_body()).await
}

fn is_json(kind: &HeaderValue) -> bool {
    kind.to_str().is_ok_and(|text| {
        let essence = text.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("application/json")
    })
}

async fn read_limited(body: Body) -> Result<Bytes, ApiError> {
    let stated = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut kept = BytesMut::with_capacity(stated.min(64 << 10));
    let mut seen = 0_usize;
    let mut parts = body.into_data_stream();
    if stated <= MAX_DISCARDED_BYTES {
        while let Some(part) = parts.next().await {
            let part = part.map_err(|error| ApiError::request(format!("body could not be read: {error}")))?;
            seen = seen.saturating_add(part.len());
            if seen <= MAX_REQUEST_BYTES {
                kept.extend_from_slice(&part);
            } else if seen > MAX_DISCARDED_BYTES {
                break;
            } else {
                kept = BytesMut::new();
            }
        }
    }
    if stated.max(seen) > MAX_REQUEST_BYTES {
        let most = MAX_REQUEST_BYTES >> 20;
        return Err(ApiError::new(ErrorCode::InputTooLarge, format!("body is larger than {most} MiB")));
    }
    Ok(kept.freeze())
}

/// What is no object is refused here: fields in a row, without their names, could be taken for one.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    if bytes.trim_ascii_start().first().is_some_and(|&first| first != b'{') {
        return Err(ApiError::request("body is not usable: it is not a JSON object"));
    }
    serde_json::from_slice(bytes).map_err(|error| ApiError::request(format!("body is not usable: {error}")))
}

/// The query of the address.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Query(params) = Query::from_request_parts(parts, state).await.map_err(|rejection| {
            ApiError::argument(format!("query is not usable: {}", rejection.body_text()))
        })?;
        Ok(Self(params))
    }
}

/// The terminal an address names.
pub(crate) struct At(pub(crate) TerminalRef);

impl<S: Send + Sync> FromRequestParts<S> for At {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|rejection| {
            ApiError::argument(format!("id is not usable: {}", rejection.body_text()))
        })?;
        match text.parse() {
            Ok(at) => Ok(Self(at)),
            Err(never) => match never {},
        }
    }
}

/// Whether the caller asked for raw bytes.
pub(crate) fn accepts_bytes(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|kind| {
            let essence = kind.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("application/octet-stream")
        })
}
