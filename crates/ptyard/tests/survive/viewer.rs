//! A viewer as another program would be one: it goes on from its offset when its server goes.

use std::path::Path;
use std::time::Duration;

use ptyard::client::{Client, StreamItem, Typing};

/// What a viewer saw.
pub(crate) struct Viewed {
    pub(crate) bytes: Vec<u8>,
    /// The end of the log, as the exit told it.
    pub(crate) end: u64,
    pub(crate) reconnects: u32,
}

/// Follows a terminal to its end, over as many servers as it takes.
pub(crate) fn follow(socket: &Path, id: &str) -> Viewed {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut viewed = Viewed { bytes: Vec::new(), end: 0, reconnects: 0 };
        loop {
            if view(socket, id, &mut viewed).await {
                return viewed;
            }
            viewed.reconnects += 1;
        }
    })
}

/// Says whether it saw the end.
async fn view(socket: &Path, id: &str, viewed: &mut Viewed) -> bool {
    let Ok(client) = Client::connect(socket).await else {
        tokio::time::sleep(Duration::from_millis(5)).await;
        return false;
    };
    let since = Some(viewed.bytes.len() as u64);
    let Ok((mut stream, _input)) = client.stream(id, since, Typing::No).await else { return false };
    loop {
        match stream.next().await {
            Ok(Some(StreamItem::Output { at, bytes })) => {
                assert_eq!(at, viewed.bytes.len() as u64, "a hole, or bytes twice");
                viewed.bytes.extend_from_slice(&bytes);
            }
            Ok(Some(StreamItem::Exit { offset, .. })) => {
                viewed.end = offset;
                return true;
            }
            Ok(Some(StreamItem::Gap { from, to })) => panic!("{from} to {to} is gone"),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return false,
        }
    }
}
