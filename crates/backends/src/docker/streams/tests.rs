//! Framed streams, split everywhere.

use std::future::poll_fn;

use tokio::io::{AsyncWriteExt, DuplexStream, duplex, split};

use super::*;

async fn read_all(far: Vec<Vec<u8>>, framing: Framing) -> (Vec<u8>, io::Result<()>) {
    let (near, mut writer) = duplex(1 << 16);
    let (ended, is_ended) = watch::channel(false);
    let mut source = StreamSource::<DuplexStream>::new(split(near).0, framing, ended);
    let writing = tokio::spawn(async move {
        for piece in far {
            writer.write_all(&piece).await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    let (mut all, mut room) = (Vec::new(), [0; 7]);
    let end = loop {
        match poll_fn(|cx| source.poll_read(cx, &mut room)).await {
            Ok(0) => break Ok(()),
            Ok(n) => all.extend_from_slice(&room[..n]),
            Err(error) => break Err(error),
        }
    };
    writing.await.unwrap();
    assert!(*is_ended.borrow());
    (all, end)
}

fn piece(stream: u8, bytes: &[u8]) -> Vec<u8> {
    let mut piece = vec![stream, 0, 0, 0];
    piece.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
    piece.extend_from_slice(bytes);
    piece
}

#[tokio::test]
async fn pieces_split_at_every_byte_are_put_together() {
    let wire = [piece(1, b"out\n"), piece(2, b""), piece(2, b"err\n"), piece(1, "é☃".as_bytes())].concat();
    let want = "out\nerr\né☃".as_bytes();
    for at in 0..wire.len() {
        let (first, second) = wire.split_at(at);
        let (all, end) = read_all(vec![first.to_vec(), second.to_vec()], Framing::Pieces).await;
        assert_eq!((all.as_slice(), end.is_ok()), (want, true), "split at {at}");
    }
    let (all, _) = read_all(wire.iter().map(|&byte| vec![byte]).collect(), Framing::Pieces).await;
    assert_eq!(all, want);
}

#[tokio::test]
async fn a_stream_that_breaks_off_within_a_piece_is_no_orderly_end() {
    let wire = piece(1, b"abcdef");
    for at in 1..wire.len() {
        let (all, end) = read_all(vec![wire[..at].to_vec()], Framing::Pieces).await;
        assert!(end.is_err(), "cut at {at}");
        assert!(b"abcdef".starts_with(&all));
    }
}

#[tokio::test]
async fn what_looks_like_a_header_on_a_tty_is_output() {
    let wire = piece(1, b"\x00\x01");
    let (all, end) = read_all(vec![wire.clone()], Framing::Raw).await;
    assert_eq!((all, end.is_ok()), (wire, true));
}
