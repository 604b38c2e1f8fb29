//! Sockets that nobody else can reach, from the first moment on.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::Uid;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use tokio::net::{TcpListener, UnixListener};

use crate::gate::{Gate, owner};
use crate::peer::{Entrance, Socket};
use crate::server::ServerError;

/// Connections the kernel keeps for us before we take them: what it allows by default.
const BACKLOG: i32 = 4096;

/// Bytes the kernel may hold for a peer that does not read. Small, so that what a slow viewer gets after a long lag is
/// soon what is true now, and a pong is not stuck behind megabytes.
const SEND_BUFFER_BYTES: usize = 64 << 10;

/// Where peers come in.
pub(crate) enum Listener {
    /// The Unix socket.
    Unix(UnixListener),
    /// Loopback TCP, with its gate.
    Tcp(TcpListener, Arc<Gate>),
}

impl Listener {
    /// The next peer, and how it came in.
    pub(crate) async fn accept(&self) -> io::Result<(Socket, Entrance)> {
        let (socket, entrance) = match self {
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let entrance = if is_own_user(&stream) { Entrance::Unix } else { Entrance::Stranger };
                (Socket::Unix(stream), entrance)
            }
            Self::Tcp(listener, gate) => {
                let (stream, peer) = listener.accept().await?;
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "answers may be late: TCP_NODELAY");
                }
                let may_enter = gate.asks_for_token() || owner::may_enter(peer, stream.local_addr()?);
                let entrance = if may_enter { Entrance::Tcp(Arc::clone(gate)) } else { Entrance::Stranger };
                (Socket::Tcp(stream), entrance)
            }
        };
        if let Err(error) = sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER_BYTES) {
            tracing::debug!(%error, "pongs may be late: SO_SNDBUF");
        }
        Ok((socket, entrance))
    }
}

/// Whether the user at the other end, as the kernel saw it connect, may come in.
fn is_own_user(stream: &impl AsFd) -> bool {
    sockopt::socket_peercred(stream).is_ok_and(|peer| may_enter(peer.uid, rustix::process::geteuid()))
}

/// The server's own user and root may: root could read everything anyway.
fn may_enter(peer: Uid, own: Uid) -> bool {
    peer == own || peer.is_root()
}

/// A bound Unix socket's name in the file system, removed when dropped unless another server took it over.
#[derive(Debug)]
pub(crate) struct SocketName {
    path: PathBuf,
    inode: (u64, u64),
}

impl Drop for SocketName {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|m| (m.dev(), m.ino()) == self.inode);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the socket's name is left behind");
        }
    }
}

/// Opens the Unix socket at `path`, whose directory must be private.
///
/// It gets its mode before it listens and its name after, so there is no moment at which another user could connect,
/// or a client could find a socket that refuses. A name that a dead server left is replaced.
pub(crate) fn unix(path: &Path) -> Result<(UnixListener, SocketName), ServerError> {
    let at = |source: io::Error| ServerError::Socket { path: path.to_owned(), source };
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(at(io::ErrorKind::InvalidInput.into()));
    };
    let found = fs::metadata(dir).map_err(at)?;
    if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o077 != 0 {
        return Err(ServerError::OpenDirectory { path: dir.to_owned() });
    }
    let mut draft_name = std::ffi::OsString::from(".");
    draft_name.push(name);
    draft_name.push(format!(".{}", std::process::id()));
    let draft = dir.join(draft_name);
    let address = SocketAddrUnix::new(&draft)
        .map_err(|_| ServerError::LongPath { path: path.to_owned(), longest: longest_path(&draft, path) })?;
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(error)),
        _ => {}
    }
    let opened = || -> io::Result<(UnixListener, SocketName)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::bind(&socket, &address)?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o600))?;
        rustix::net::listen(&socket, BACKLOG)?;
        let made = fs::symlink_metadata(&draft)?;
        let listener = UnixListener::from_std(socket.into())?;
        fs::rename(&draft, path)?;
        Ok((listener, SocketName { path: path.to_owned(), inode: (made.dev(), made.ino()) }))
    };
    opened().map_err(|error| {
        // The refusal is what counts; the draft may not even be there.
        let _ = fs::remove_file(&draft);
        at(error)
    })
}

/// The longest socket path that works, given how much longer its draft is.
fn longest_path(draft: &Path, path: &Path) -> usize {
    /// `sun_path` of Linux without its end mark.
    const LONGEST: usize = 107;
    LONGEST.saturating_sub(draft.as_os_str().len().saturating_sub(path.as_os_str().len()))
}

/// Listens on a loopback address; every other is refused.
pub(crate) fn tcp(address: SocketAddr) -> Result<TcpListener, ServerError> {
    if !address.ip().is_loopback() {
        return Err(ServerError::NotLoopback { address });
    }
    let at = |source| ServerError::Listen { address, source };
    let listener = std::net::TcpListener::bind(address).map_err(at)?;
    listener.set_nonblocking(true).map_err(at)?;
    TcpListener::from_std(listener).map_err(at)
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixStream;

    use super::*;

    fn private_dir() -> tempfile::TempDir {
        tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o700)).tempdir().unwrap()
    }

    #[tokio::test]
    async fn the_socket_is_private_replaces_a_dead_one_and_removes_only_its_own_name() {
        let dir = private_dir();
        let path = dir.path().join("ptyard.sock");
        let (_old, old_name) = unix(&path).unwrap();
        let (listener, name) = unix(&path).unwrap();
        drop(old_name);
        assert_eq!(fs::symlink_metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
        let near = Listener::Unix(listener);
        let (far, accepted) = tokio::join!(UnixStream::connect(&path), near.accept());
        far.unwrap();
        assert!(matches!(accepted.unwrap().1, Entrance::Unix));
        drop(name);
        assert!(!path.exists());
    }

    #[test]
    fn only_the_own_user_and_root_come_in() {
        let user = Uid::from_raw;
        for (peer, own, enters) in [(7, 7, true), (0, 7, true), (8, 7, false), (7, 0, false), (0, 0, true)] {
            assert_eq!(may_enter(user(peer), user(own)), enters, "{peer} at {own}");
        }
    }

    #[tokio::test]
    async fn a_directory_that_others_can_enter_is_refused() {
        let dir = private_dir();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(unix(&dir.path().join("s")), Err(ServerError::OpenDirectory { .. })));
    }

    #[tokio::test]
    async fn a_path_too_long_for_a_socket_is_refused_by_length() {
        let dir = private_dir();
        let path = dir.path().join("x".repeat(120));
        assert!(matches!(unix(&path), Err(ServerError::LongPath { longest, .. }) if longest > 90));
    }

    #[tokio::test]
    async fn only_loopback_is_listened_on() {
        for open in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            assert!(matches!(tcp(open.parse().unwrap()), Err(ServerError::NotLoopback { .. })), "{open}");
        }
        assert!(tcp("127.0.0.1:0".parse().unwrap()).is_ok());
    }
}
