//! Between us and the engine, so that the connection can be broken under a program.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::copy_bidirectional;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

/// Passes connections on.
#[derive(Clone)]
pub(crate) struct Proxy {
    socket: PathBuf,
    connections: Arc<Mutex<JoinSet<()>>>,
}

impl Proxy {
    pub(crate) fn before(target: &Path) -> Self {
        let socket = target.with_extension("proxy");
        let listener = UnixListener::bind(&socket).unwrap();
        let connections = Arc::new(Mutex::new(JoinSet::new()));
        let (target, taken) = (target.to_owned(), Arc::clone(&connections));
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let target = target.clone();
                taken.lock().unwrap().spawn(async move {
                    if let Ok(mut far) = UnixStream::connect(&target).await {
                        let _ended = copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        Self { socket, connections }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// Breaks every connection there is.
    pub(crate) async fn cut(&self) {
        let mut connections = std::mem::take(&mut *self.connections.lock().unwrap());
        connections.shutdown().await;
    }
}
