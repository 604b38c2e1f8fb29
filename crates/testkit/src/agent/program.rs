//! Where tests find the program, and how they wait for its record.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock, Weak};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::inotify;
use tokio::sync::Notify;

/// The manifest of the agent, for `providers/scripted.toml` in a state directory. It reads its screen, so that a test can
/// use it without reports.
pub const MANIFEST: &str = include_str!("scripted.toml");

/// The name of the binary.
const NAME: &str = "ptyard-scripted-agent";

/// The path of the agent's binary. It is built when a test of another crate is the first to ask, since cargo builds
/// the binaries of a crate only for its own tests.
///
/// `PTYARD_SCRIPTED_AGENT` names one that was built elsewhere.
///
/// # Panics
/// When it cannot be built.
#[must_use]
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        std::env::var_os("PTYARD_SCRIPTED_AGENT").map_or_else(|| built(NAME, &[]), PathBuf::from)
    })
}

/// The path of a binary of this crate, which is built now if it is not yet.
///
/// # Panics
/// When it cannot be built.
pub(crate) fn built(name: &str, with: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    // TARGET/debug/deps/TEST: the binary is built where the test was.
    let profile = test.parent().and_then(Path::parent).expect("tests lie in TARGET/PROFILE/deps");
    let target = profile.parent().expect("tests lie in TARGET/PROFILE/deps");
    let mut build = Command::new(option_env!("CARGO").unwrap_or("cargo"));
    build.args(["build", "--quiet", "--offline", "--package", "ptyard-testkit", "--bin", name]).args(with);
    build.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let status = build.status().expect("cargo starts");
    assert!(status.success(), "{name} was not built: {status}");
    profile.join(name)
}

/// Tells when a file changed or came to be: a thread waits for the file system.
pub(super) struct Changes {
    told: Arc<Notify>,
}

impl Changes {
    pub(super) fn of(path: &Path) -> Self {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let fd = inotify::init(inotify::CreateFlags::CLOEXEC).expect("inotify");
        let watch = inotify::WatchFlags::MODIFY | inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO;
        inotify::add_watch(&fd, directory.unwrap_or(Path::new(".")), watch).expect("the record's directory");
        let told = Arc::new(Notify::new());
        let listener = Arc::downgrade(&told);
        std::thread::spawn(move || tell(&fd, &listener));
        Self { told }
    }

    /// Waits for the next change; several at once count as one.
    pub(super) async fn next(&mut self) {
        self.told.notified().await;
    }
}

/// Tells every change until nobody listens, which it finds out within a second.
fn tell(inotify: &OwnedFd, listener: &Weak<Notify>) {
    let mut events = [0; 4_096];
    let second = Timespec { tv_sec: 1, tv_nsec: 0 };
    while listener.strong_count() > 0 {
        let ready = rustix::event::poll(&mut [PollFd::new(inotify, PollFlags::IN)], Some(&second));
        if ready.is_ok_and(|ready| ready > 0) && rustix::io::read(inotify, &mut events).is_ok() {
            let Some(told) = listener.upgrade() else { return };
            told.notify_one();
        }
    }
}
