use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{accept_async, accept_hdr_async};

use super::*;

const SECRET: &str = "s3cret";

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn call(address: SocketAddr) -> Call {
    Call {
        url: format!("http://{address}/terminal?token={SECRET}").parse().unwrap(),
        headers: HeaderMap::new(),
        protocols: Vec::new(),
        limit: Duration::from_secs(20),
        silence: Silence::default(),
    }
}

fn short() -> Silence {
    Silence {
        ping_every: Duration::from_millis(20),
        limit: Duration::from_millis(200),
        limit_behind_input: Duration::from_secs(600),
    }
}

async fn open(call: Call) -> Result<(Mouth, Ear), CallError> {
    Dialer::new(true).unwrap().open(call).await
}

#[tokio::test]
#[expect(clippy::result_large_err, reason = "the far side's library wants it so")]
async fn both_sides_speak_and_the_close_says_why() {
    let (listener, address) = listen().await;
    let far = tokio::spawn(async move {
        let check = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
            assert_eq!(request.headers()["authorization"], "Bearer key");
            assert_eq!(request.headers()["sec-websocket-protocol"], "one,two~x");
            assert_eq!(request.uri().query(), Some("token=s3cret"));
            response.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("one"));
            Ok(response)
        };
        let mut socket = accept_hdr_async(listener.accept().await.unwrap().0, check).await.unwrap();
        socket.send(Message::text("hello")).await.unwrap();
        socket.send(Message::binary(vec![0, 255])).await.unwrap();
        let heard = [socket.next().await.unwrap().unwrap(), socket.next().await.unwrap().unwrap()];
        let reason = CloseFrame { code: 1011.into(), reason: r#"{"exitCode":7}"#.into() };
        socket.close(Some(reason)).await.unwrap();
        heard
    });
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_static("Bearer key"));
    let protocols = vec!["one".to_owned(), "two~x".to_owned()];
    let (mouth, mut ear) = open(Call { headers, protocols, ..call(address) }).await.unwrap();
    assert_eq!(ear.next().await, Ok(Heard::Text("hello".to_owned())));
    assert_eq!(ear.next().await, Ok(Heard::Bytes(Bytes::from_static(&[0, 255]))));
    mouth.say(Word::Bytes(Bytes::from_static(b"typed"))).await.unwrap();
    mouth.say(Word::Text("said".to_owned())).await.unwrap();
    let closed = Heard::Closed { code: 1011, reason: r#"{"exitCode":7}"#.to_owned() };
    assert_eq!(ear.next().await, Ok(closed));
    assert_eq!(far.await.unwrap(), [Message::binary(b"typed".as_slice()), Message::text("said")]);
}

#[tokio::test]
async fn a_refusal_is_told_with_its_status_and_message() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let (mut tcp, _) = listener.accept().await.unwrap();
        let _head = tcp.read(&mut [0; 4096]).await.unwrap();
        let body = r#"{"message":"slow down"}"#;
        let head = format!(
            "HTTP/1.1 429 Too Many\r\nretry-after: 3\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        tcp.write_all(head.as_bytes()).await.unwrap();
    });
    let error = open(call(address)).await.err().unwrap();
    let CallError::Refused { status: 429, message, wait, .. } = &error else { panic!("{error:?}") };
    assert_eq!((message.as_str(), *wait), ("slow down", Some(Duration::from_secs(3))));
}

#[tokio::test]
async fn an_address_is_never_shown_with_its_query() {
    let (listener, address) = listen().await;
    // Nobody there.
    drop(listener);
    let error = open(call(address)).await.err().unwrap();
    assert!(matches!(error, CallError::NotSent(_)), "{error:?}");
    let shown = |error: &CallError| format!("{error} {error:?}");
    assert!(!shown(&error).contains(SECRET), "{error:?}");
    let bad = Call { url: format!("data:x?{SECRET}").parse().unwrap(), ..call(address) };
    let error = open(bad).await.err().unwrap();
    assert!(!shown(&error).contains(SECRET), "{error:?}");
    let protocols = vec![format!("{SECRET}\n")];
    let (_there, address) = listen().await;
    let error = open(Call { protocols, ..call(address) }).await.err().unwrap();
    assert!(!shown(&error).contains(SECRET), "{error:?}");
}

#[tokio::test]
async fn who_takes_a_connection_and_says_nothing_is_given_up() {
    let (_listener, address) = listen().await;
    let error = open(Call { limit: Duration::from_millis(50), ..call(address) }).await.err().unwrap();
    assert!(matches!(&error, CallError::Broken(why) if why.contains("no socket within 50ms")), "{error:?}");
}

#[tokio::test]
async fn a_connection_that_just_ends_is_broken() {
    let (listener, address) = listen().await;
    tokio::spawn(async move { drop(accept_async(listener.accept().await.unwrap().0).await.unwrap()) });
    let (mouth, mut ear) = open(call(address)).await.unwrap();
    let error = ear.next().await.unwrap_err();
    assert!(matches!(error, CallError::Broken(_)), "{error:?}");
    // What is said into it is soon refused, and not kept for anybody.
    while mouth.say(Word::Text("x".to_owned())).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_far_side_that_does_not_answer_is_lost_unless_it_may_be_waiting_for_a_program() {
    for types in [false, true] {
        let (listener, address) = listen().await;
        let far = tokio::spawn(async move {
            // It reads nothing: no ping is answered.
            accept_async(listener.accept().await.unwrap().0).await.unwrap()
        });
        let (mouth, mut ear) = open(Call { silence: short(), ..call(address) }).await.unwrap();
        let mut socket = far.await.unwrap();
        if types {
            mouth.say(Word::Text("typed".to_owned())).await.unwrap();
            let patience = 5 * short().limit;
            assert!(timeout(patience, ear.next()).await.is_err(), "it may come back");
            // It has read what was typed, and says so in the answer to a ping; from then on it has to answer.
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("typed"));
            let read_on = tokio::spawn(async move { while let Some(Ok(_)) = socket.next().await {} });
            assert!(timeout(patience, ear.next()).await.is_err(), "it answers");
            read_on.abort();
            let _aborted = read_on.await;
        }
        let error = ear.next().await.unwrap_err();
        assert!(matches!(error, CallError::Broken(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_far_side_that_answers_is_there_however_silent_it_is() {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        let mut socket = accept_async(listener.accept().await.unwrap().0).await.unwrap();
        while let Some(Ok(_)) = socket.next().await {}
    });
    let (_mouth, mut ear) = open(Call { silence: short(), ..call(address) }).await.unwrap();
    assert!(timeout(5 * short().limit, ear.next()).await.is_err());
}

#[tokio::test]
async fn law_01_a_slow_reader_lets_the_far_side_wait_and_loses_nothing() {
    const PIECES: u32 = 2000;
    let (listener, address) = listen().await;
    let sent = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&sent);
    tokio::spawn(async move {
        let mut socket = accept_async(listener.accept().await.unwrap().0).await.unwrap();
        for n in 0..PIECES {
            let piece: Vec<u8> = n.to_be_bytes().into_iter().cycle().take(32 << 10).collect();
            socket.send(Message::binary(piece)).await.unwrap();
            counter.fetch_add(1, Ordering::Release);
        }
        socket.close(None).await.unwrap();
    });
    let (_mouth, mut ear) = open(call(address)).await.unwrap();
    for n in 0..PIECES {
        if n == 0 {
            // Until it has stopped for want of a reader.
            let mut before = u64::MAX;
            while before != sent.load(Ordering::Acquire) {
                before = sent.load(Ordering::Acquire);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert!(before < u64::from(PIECES) / 2, "{before} of {PIECES} pieces wait unread");
        }
        let Ok(Heard::Bytes(piece)) = ear.next().await else { panic!("piece {n} is missing") };
        assert_eq!((piece.len(), &piece[..4]), (32 << 10, n.to_be_bytes().as_slice()));
    }
    assert_eq!(ear.next().await, Ok(Heard::Closed { code: NO_CODE, reason: String::new() }));
}

#[tokio::test]
async fn a_reader_that_gives_up_loses_nothing() {
    let (listener, address) = listen().await;
    let (go, went) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let mut socket = accept_async(listener.accept().await.unwrap().0).await.unwrap();
        went.await.unwrap();
        for n in 0..100 {
            socket.send(Message::text(n.to_string())).await.unwrap();
        }
        while let Some(Ok(_)) = socket.next().await {}
    });
    let (_mouth, mut ear) = open(call(address)).await.unwrap();
    assert!(timeout(Duration::from_millis(5), ear.next()).await.is_err());
    go.send(()).unwrap();
    for n in 0..100 {
        let heard = loop {
            if let Ok(heard) = timeout(Duration::from_micros(20), ear.next()).await {
                break heard;
            }
        };
        assert_eq!(heard, Ok(Heard::Text(n.to_string())));
    }
}
