//! The event stream.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Incoming;
use ptyard_server::api::Event;
use serde_json::json;

use crate::site::{Site, send, soon};

struct Reader {
    body: Incoming,
    pending: String,
}

impl Reader {
    async fn open(site: &Site, query: &str, last_event_id: Option<u64>) -> Self {
        let mut request = Request::get(format!("/v1/events{query}")).header("host", "localhost");
        if let Some(seen) = last_event_id {
            request = request.header("last-event-id", seen);
        }
        let answer = send(site.connect().await, request.body(Full::<Bytes>::default()).unwrap()).await;
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { body: answer.into_body(), pending: String::new() }
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((record, rest)) = self.pending.split_once("\n\n") {
                let field = |name: &str| record.lines().find_map(|line| line.strip_prefix(name));
                let event: Event = serde_json::from_str(field("data: ").unwrap()).unwrap();
                assert_eq!(field("id: "), Some(event.seq.to_string().as_str()));
                assert_eq!(field("event: "), Some(event.kind.as_str()));
                self.pending = rest.to_owned();
                return Some(event);
            }
            let frame = soon("an event", self.body.frame()).await?.ok()?;
            self.pending.push_str(std::str::from_utf8(frame.data_ref()?).unwrap());
        }
    }

    /// The next event of a kind.
    async fn until(&mut self, kind: &str) -> Event {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if event.kind == kind {
                return event;
            }
        }
    }
}

#[tokio::test]
async fn case_api02_events_are_resumed_from_any_number_without_gaps() {
    let site = Site::start();
    let started = site.exec(json!({"argv": ["true"], "until": ["exit"]})).await;
    let mut first = Reader::open(&site, "?since=0", None).await;
    let mut numbers = Vec::new();
    loop {
        let event = first.next().await.unwrap();
        numbers.push(event.seq);
        if event.kind == "exited" {
            assert_eq!(event.id, Some(started.id));
            break;
        }
    }
    let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, expected);
    // The header of a reconnecting reader goes before the address it keeps using.
    let mut again = Reader::open(&site, "?since=0", Some(1)).await;
    assert_eq!(again.next().await.unwrap().seq, 2);
    site.close().await;
}

#[tokio::test]
async fn a_reader_without_a_number_hears_what_happens_from_now_on_until_the_stop() {
    let site = Site::start();
    site.exec(json!({"argv": ["true"], "until": ["exit"], "name": "before"})).await;
    let mut reader = Reader::open(&site, "", None).await;
    let started = site.exec(json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    assert_eq!(reader.until("started").await.id, Some(started.id));
    let closing = tokio::spawn(site.close());
    while reader.next().await.is_some() {}
    closing.await.unwrap();
}
