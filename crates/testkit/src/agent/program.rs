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
    let binary = profile.join(name);
    // Tests of the whole workspace have it from the same build. By itself it has fewer features, for which all it
    // depends on would be built once more.
    if is_fresh(&binary) {
        return binary;
    }
    let mut build = Command::new(option_env!("CARGO").unwrap_or("cargo"));
    build.args(["build", "--quiet", "--offline", "--package", "ptyard-testkit", "--bin", name]).args(with);
    build.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    // What cargo tells a test of the test's own crate is no business of this build, and makes ring's build script (and
    // with it half of what there is) run anew for every crate that asks.
    for (variable, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_"]
            .iter()
            .any(|of_the_test| variable.as_encoded_bytes().starts_with(of_the_test.as_bytes()))
        {
            build.env_remove(variable);
        }
    }
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let status = build.status().expect("cargo starts");
    assert!(status.success(), "{name} was not built: {status}");
    binary
}

/// Whether a binary is younger than all it was made of, as cargo wrote that down beside it.
fn is_fresh(binary: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let Some(made) = changed(binary) else { return false };
    let Ok(rule) = std::fs::read_to_string(binary.with_extension("d")) else { return false };
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let settings = ["Cargo.lock", "Cargo.toml", "crates/testkit/Cargo.toml"].map(|file| workspace.join(file));
    made_of(&rule).into_iter().chain(settings).all(|source| changed(&source).is_some_and(|at| at <= made))
}

/// The files behind the colon of a rule of make. A space in a name stands behind a backslash.
fn made_of(rule: &str) -> Vec<PathBuf> {
    let files = rule.split_once(": ").map_or("", |(_, files)| files.trim_end());
    let files = files.replace("\\ ", "\0");
    files.split(' ').filter(|file| !file.is_empty()).map(|file| file.replace('\0', " ").into()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_make_names_files_with_spaces() {
        let files = made_of("/target/a b: /src/main.rs /my\\ src/lib.rs\n");
        assert_eq!(files, [PathBuf::from("/src/main.rs"), PathBuf::from("/my src/lib.rs")]);
        assert!(made_of("").is_empty());
    }

    #[test]
    fn a_binary_is_fresh_until_something_that_it_is_made_of_is_younger() {
        let directory = tempfile::tempdir().unwrap();
        let [binary, source] = ["agent", "main.rs"].map(|name| directory.path().join(name));
        assert!(!is_fresh(&binary), "there is none");
        std::fs::write(&source, "").unwrap();
        std::fs::write(&binary, "").unwrap();
        assert!(!is_fresh(&binary), "nobody knows what it is made of");
        let rule = format!("{}: {}\n", binary.display(), source.display());
        std::fs::write(binary.with_extension("d"), rule).unwrap();
        let at = |path: &Path, seconds: u64| {
            // Long after the settings of the workspace.
            let when = std::time::UNIX_EPOCH + std::time::Duration::from_secs(4_000_000_000 + seconds);
            std::fs::File::options().write(true).open(path).unwrap().set_modified(when).unwrap();
        };
        at(&binary, 20);
        assert!(is_fresh(&binary));
        at(&source, 40);
        assert!(!is_fresh(&binary), "its source was changed");
        std::fs::remove_file(&source).unwrap();
        assert!(!is_fresh(&binary), "its source is gone");
    }
}
