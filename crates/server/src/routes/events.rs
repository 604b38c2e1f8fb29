//! The event stream.

#![expect(unused_qualifications, reason = "utoipa expands the query parameters with full paths")]

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Sse;
use axum::response::sse::{self, KeepAlive};
use futures_util::{Stream, stream};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::{ErrorReply, Event};
use crate::error::ApiError;
use crate::extract::Params;
use crate::routes::Shared;
use crate::translate;

/// How often a comment is sent while nothing happens, so that a vanished client is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// What a reconnecting reader sends: the last `id:` it saw.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// From where on.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsParams {
    /// The last event that was seen; default: what happens from now on. The header `Last-Event-ID` goes first.
    since: Option<u64>,
    /// Whether the stream goes on as things happen, default true; otherwise it ends after the last event there is.
    follow: Option<bool>,
}

/// What happens, as server-sent events: `id:` is `seq`, `event:` is `kind`, `data:` is the event as JSON. Events that
/// are no longer kept are told by one of kind `gap`.
#[utoipa::path(get, path = "/v1/events", operation_id = "events",
    params(EventsParams, ("Last-Event-ID" = Option<u64>, Header, description = "The last event that was seen.")),
    responses((status = 200, body = Event, content_type = "text/event-stream"),
        (status = "default", body = ErrorReply)))]
pub(crate) async fn events(
    State(shared): State<Shared>,
    Params(params): Params<EventsParams>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let since = last_seen(&headers)?.or(params.since);
    let source = shared.yard.events(since);
    let follows = params.follow.unwrap_or(true);
    let told = stream::unfold((source, shared.stop), move |(mut source, stop)| async move {
        let happened = if follows {
            tokio::select! {
                happened = source.next() => happened,
                () = stop.requested() => return None,
            }
        } else {
            source.next_kept().await?
        };
        Some((Ok(tell(&translate::event(happened))), (source, stop)))
    });
    Ok(Sse::new(told).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| ApiError::argument("Last-Event-ID is not the number of an event"))
}

fn tell(event: &Event) -> sse::Event {
    let framed = sse::Event::default().id(event.seq.to_string()).event(&event.kind);
    match serde_json::to_string(event) {
        Ok(json) => framed.data(json),
        Err(error) => {
            tracing::error!(%error, seq = event.seq, "an event is not JSON");
            framed.data("{}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reconnecting_reader_says_what_it_saw_last() {
        let mut headers = HeaderMap::new();
        assert_eq!(last_seen(&headers), Ok(None));
        headers.insert(LAST_EVENT_ID, "42".parse().unwrap());
        assert_eq!(last_seen(&headers), Ok(Some(42)));
        for bad in ["", "-1", "x", "1.5"] {
            headers.insert(LAST_EVENT_ID, bad.parse().unwrap());
            assert!(last_seen(&headers).is_err(), "{bad}");
        }
    }
}
