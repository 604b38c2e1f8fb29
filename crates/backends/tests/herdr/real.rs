//! Against herdr itself, where there is one.

use std::process::{Command, Stdio};
use std::sync::Arc;

use ptyard_backends::herdr::{Herdr, Settings};
use ptyard_core::Exit;
use ptyard_terminal::backend::Backend;
use ptyard_testkit::soon;
use ptyard_testkit::vendors::play::{exit, read_until, type_all};

use crate::stage::{directory, settings, spec};

#[tokio::test]
async fn a_program_in_a_real_herdr() {
    if Command::new("herdr").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("SKIPPED: there is no herdr here, so nothing was tested with one");
        return;
    }
    let directory = directory();
    let settings = Settings { program: "herdr".into(), ..settings(&directory) };
    let backend = Arc::new(Herdr::new(settings)).at("ptyard-test").unwrap();
    let script = "echo ready; read -r x; exit 4";
    let mut program = soon("the start", backend.start(spec(&["sh", "-c", script]))).await.unwrap();
    read_until(&mut program, "ready").await;
    let mut sink = program.sink.take().unwrap();
    type_all(&mut *sink, b"go\r").await;
    assert_eq!(exit(&mut program).await, Exit::exited(4));
    let stop = ["--session", "ptyard-test", "server", "stop"];
    let _gone = Command::new("herdr").env("XDG_CONFIG_HOME", directory.path()).args(stop).status();
}
