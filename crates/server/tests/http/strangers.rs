//! Other users of this machine.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::site::Site;

/// The user that owns nothing.
const NOBODY: u32 = 65_534;

const CALL: &str = "import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'GET /v1/terminals HTTP/1.1\\r\\nhost: localhost\\r\\n\\r\\n')
answer = b''
while part := s.recv(4096): answer += part
print(answer.decode())";

#[tokio::test(flavor = "multi_thread")]
async fn another_user_is_told_whose_server_it_is() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can call as another user");
        return;
    }
    let site = Site::start();
    // As a careless owner would have it: the directory alone keeps others away.
    for (path, mode) in [(site.dir.path(), 0o755), (site.socket.as_path(), 0o666)] {
        set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    for _ in 0..20 {
        let mut call = Command::new("python3");
        call.args(["-c", CALL]).arg(&site.socket).uid(NOBODY).gid(NOBODY).current_dir("/");
        let output = tokio::task::spawn_blocking(move || call.output().unwrap()).await.unwrap();
        let answer = String::from_utf8_lossy(&output.stdout);
        assert!(answer.starts_with("HTTP/1.1 403"), "{output:?}");
        assert!(answer.contains(r#""code":"forbidden""#) && answer.contains("another user"), "{answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
    assert!(site.get::<Vec<serde_json::Value>>("/v1/terminals").await.is_empty(), "its own user is served");
    site.close().await;
}
