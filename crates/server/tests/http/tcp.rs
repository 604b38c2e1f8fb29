//! Loopback TCP: token, host and origin.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::site::{Answer, Site, send, soon, tcp};

fn token(site: &Site) -> String {
    std::fs::read_to_string(site.dir.path().join("token")).unwrap()
}

async fn get(site: &Site, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = send(tcp(site).await, request.body(Full::<Bytes>::default()).unwrap()).await;
    Answer::read(answer).await
}

#[tokio::test]
async fn tcp_needs_the_token_and_the_unix_socket_does_not() {
    let site = Site::start_with_tcp();
    let host = site.tcp.unwrap().to_string();
    let bearer = format!("Bearer {}", token(&site));
    let host = ("host", host.as_str());
    let answer = get(&site, "/v1/version", &[host]).await;
    assert_eq!(answer.code(), (401, "unauthorized".to_owned()));
    assert_eq!(answer.headers["www-authenticate"], "Bearer");
    // Nothing is told about what exists.
    assert_eq!(get(&site, "/nowhere", &[host]).await.code().0, 401);
    assert!(get(&site, "/v1/version", &[host, ("authorization", &bearer)]).await.status.is_success());
    assert!(get(&site, "/healthz", &[host]).await.status.is_success());
    site.get::<serde_json::Value>("/v1/version").await;
    site.close().await;
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_even_with_the_token() {
    let site = Site::start_with_tcp();
    let own = site.tcp.unwrap().to_string();
    let bearer = format!("Bearer {}", token(&site));
    let bearer = ("authorization", bearer.as_str());
    let rebound = format!("evil.example:{}", site.tcp.unwrap().port());
    assert_eq!(
        get(&site, "/v1/version", &[bearer, ("host", &rebound)]).await.code(),
        (403, "forbidden".into())
    );
    let origin = ("origin", "http://evil.example");
    assert_eq!(get(&site, "/v1/version", &[bearer, ("host", &own), origin]).await.code().0, 403);
    let origin = format!("http://{own}");
    let answer = get(&site, "/v1/version", &[bearer, ("host", &own), ("origin", &origin)]).await;
    assert!(answer.status.is_success());
    site.close().await;
}

#[tokio::test]
async fn a_browsers_websocket_shows_the_token_as_a_subprotocol() {
    let site = Site::start_with_tcp();
    let started = site.exec(serde_json::json!({"argv": ["cat"], "stdin": "pipe", "yield_ms": 250})).await;
    let address = format!("ws://{}/v1/terminals/{}/stream", site.tcp.unwrap(), started.id);
    let open = async |protocols: Option<String>| {
        let mut request = address.as_str().into_client_request().unwrap();
        if let Some(protocols) = protocols {
            request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
        }
        soon("the handshake", tokio_tungstenite::client_async(request, tcp(&site).await)).await
    };
    let (_viewer, answer) = open(Some(format!("ptyard.v1, ptyard.token.{}", token(&site)))).await.unwrap();
    assert_eq!(answer.headers()["sec-websocket-protocol"], "ptyard.v1", "the token is not sent back");
    assert!(open(None).await.is_err());
    assert!(open(Some("ptyard.v1, ptyard.token.00".to_owned())).await.is_err());
    site.close().await;
}
