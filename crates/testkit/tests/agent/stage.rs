//! An agent on a pseudo terminal of its own, and a screen that shows what it drew.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};

use ptyard_core::{Exit, Moment, Size, TerminalId};
use ptyard_screen::{Screen, new_screen};
use ptyard_terminal::backend::{Backend as _, Control, Io, Placing, Sink, Source, StartSpec, Started};
use ptyard_terminal::local::LocalBackend;
use ptyard_terminal::local::env::clean_environment;
use ptyard_testkit::agent::Record;
use ptyard_testkit::soon;

/// A running agent.
pub(crate) struct Agent {
    pub(crate) record: Record,
    pub(crate) pid: u32,
    pub(crate) printed: Vec<u8>,
    source: Box<dyn Source>,
    sink: Box<dyn Sink>,
    control: Box<dyn Control>,
    screen: Box<dyn Screen>,
    _directory: tempfile::TempDir,
}

impl Agent {
    /// Starts one.
    pub(crate) async fn start(backend: &LocalBackend, toml: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let bits = (u128::from(std::process::id()) << 64) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let id = TerminalId::from_bits(bits);
        let directory = tempfile::tempdir().unwrap();
        let record = directory.path().join("record");
        let io = Io::Tty(Size::DEFAULT);
        let given = BTreeMap::from([("PS1".to_owned(), "shell> ".to_owned())]);
        let spec = StartSpec {
            id,
            argv: [env!("CARGO_BIN_EXE_ptyard-scripted-agent"), "--toml", toml, "--record"]
                .into_iter()
                .map(str::to_owned)
                .chain([record.to_str().unwrap().to_owned()])
                .collect(),
            cwd: directory.path().to_owned(),
            env: clean_environment(id, &BTreeMap::new(), &given, io),
            io,
            ceilings: Default::default(),
            title: None,
            placing: Placing::Exact,
        };
        let Started { source, sink, control, pid, .. } = soon("a start", backend.start(spec)).await.unwrap();
        Self {
            record: Record::at(record),
            pid: pid.unwrap(),
            printed: Vec::new(),
            source,
            sink: sink.unwrap(),
            control,
            screen: new_screen(Size::DEFAULT, 0),
            _directory: directory,
        }
    }

    /// Reads once; says whether the output goes on.
    pub(crate) async fn read(&mut self) -> bool {
        let mut room = vec![0; 16_384];
        let source = &mut self.source;
        let count = soon("output", poll_fn(|cx| source.poll_read(cx, &mut room))).await.unwrap();
        self.printed.extend_from_slice(&room[..count]);
        self.screen.feed(&room[..count], Moment::EPOCH);
        count > 0
    }

    /// Reads until a row of the screen holds `text`.
    pub(crate) async fn until_shown(&mut self, text: &str) {
        while !self.rows().iter().any(|row| row.contains(text)) {
            assert!(self.read().await, "{text:?} is not in {:?}", self.rows());
        }
    }

    /// Reads until the output holds `text`.
    pub(crate) async fn until_printed(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.printed).contains(text) {
            assert!(self.read().await, "{text:?} was not printed");
        }
    }

    pub(crate) fn rows(&mut self) -> Vec<String> {
        self.screen.view(0, Moment::EPOCH).lines.iter().map(|line| line.text.clone()).collect()
    }

    pub(crate) async fn write(&mut self, text: &str) {
        let (sink, mut bytes) = (&mut self.sink, text.as_bytes());
        while !bytes.is_empty() {
            let taken = soon("a write", poll_fn(|cx| sink.poll_write(cx, bytes))).await.unwrap();
            bytes = &bytes[taken..];
        }
    }

    /// Types, and Enter once the text is in the composer.
    pub(crate) async fn submit(&mut self, text: &str) {
        self.write(text).await;
        self.until_shown(text).await;
        self.write("\r").await;
    }

    pub(crate) async fn exit(&mut self) -> Exit {
        while self.read().await {}
        let control = &mut self.control;
        soon("an exit", poll_fn(|cx| control.poll_exit(cx))).await
    }
}
