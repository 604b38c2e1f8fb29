//! A herdr of the tests' own, and programs in it.

use std::future::poll_fn;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ptyard_backends::herdr::{Herdr, Settings};
use ptyard_core::Size;
use ptyard_terminal::backend::{Backend, Io, Placing, StartSpec, Started};
use ptyard_testkit::vendors::herdr::{HerdrServer, program};
use ptyard_testkit::{any_id, soon};

/// A server in a directory of its own.
pub(crate) struct Stage {
    pub(crate) herdr: HerdrServer,
    pub(crate) backend: Arc<dyn Backend>,
    _directory: tempfile::TempDir,
}

/// What the viewers of these tests are: they show nothing and stay.
const VIEWER: &str = "#!/bin/sh\necho \"viewer of $1 for ${HERDR_AGENT:-nobody}\"\nexec sleep 1000000\n";

pub(crate) fn settings(directory: &tempfile::TempDir) -> Settings {
    let viewer = directory.path().join("viewer");
    std::fs::write(&viewer, VIEWER).unwrap();
    std::fs::set_permissions(&viewer, PermissionsExt::from_mode(0o755)).unwrap();
    Settings {
        program: program(),
        config: Some(directory.path().to_owned()),
        viewer: vec![viewer.display().to_string()],
        first_pause: Duration::from_millis(20),
        longest_pause: Duration::from_millis(100),
    }
}

pub(crate) fn directory() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("ptyard-h").tempdir().unwrap()
}

impl Stage {
    pub(crate) fn new() -> Self {
        let directory = directory();
        let herdr = HerdrServer::start(directory.path(), "default");
        let backend = Arc::new(Herdr::new(settings(&directory)));
        Self { herdr, backend, _directory: directory }
    }

    pub(crate) async fn start(&self, argv: &[&str]) -> (Started, String) {
        let spec = spec(argv);
        let label = spec.id.to_string();
        let started = soon("the start", self.backend.start(spec)).await.unwrap();
        (started, label)
    }

    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&HerdrServer) -> bool) {
        soon(what, self.herdr.until(is_so)).await;
    }

    /// Waits until the backend has looked at everything that was told so far.
    pub(crate) async fn has_looked(&self) {
        let before = self.herdr.snapshots();
        // Two: the first may have begun before.
        self.herdr.tell(b"{\"event\":\"pane_closed\",\"data\":{\"pane_id\":\"0-0\"}}\n");
        soon("a look", self.herdr.asked(before + 1)).await;
        self.herdr.tell(b"{\"event\":\"pane_closed\",\"data\":{\"pane_id\":\"0-0\"}}\n");
        soon("another look", self.herdr.asked(before + 2)).await;
    }
}

pub(crate) fn spec(argv: &[&str]) -> StartSpec {
    let path = std::env::var("PATH").unwrap();
    StartSpec {
        id: any_id(),
        argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
        cwd: PathBuf::from("/"),
        env: [("PATH".to_owned(), path)].into(),
        io: Io::Tty(Size::DEFAULT),
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    }
}

/// Whether the program lives after the backend had the occasion to end it.
pub(crate) async fn lives(program: &mut Started) -> bool {
    poll_fn(|cx| Poll::Ready(program.control.poll_exit(cx).is_pending())).await
}
