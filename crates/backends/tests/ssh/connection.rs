//! Whom we talk to, and how often.

use std::sync::Arc;
use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Backend, Io, Placing, StartSpec, Stdin};
use ptyard_testkit::any_id;
use ptyard_testkit::places::ssh::{HOST, STRANGER, SshServer};

use crate::hosts;

fn spec(argv: &[&str]) -> StartSpec {
    let id = any_id();
    StartSpec {
        id,
        argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
        cwd: Default::default(),
        env: [("PTYARD_TERMINAL".to_owned(), id.to_string())].into(),
        io: Io::Pipes(Stdin::Null),
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    }
}

#[tokio::test]
async fn a_host_whose_key_is_not_known_is_refused() {
    let Some(server) = SshServer::start() else { return };
    let backend = Arc::new(hosts(&server)).at(STRANGER).unwrap();
    let error = backend.start(spec(&["true"])).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::BackendUnreachable);
    assert!(error.message.contains("Host key verification failed"), "{error}");
}

#[tokio::test]
async fn a_host_that_does_not_exist_is_named() {
    let Some(server) = SshServer::start() else { return };
    let backend = Arc::new(hosts(&server)).at("no-such-host.invalid").unwrap();
    let error = backend.start(spec(&["true"])).await.err().unwrap();
    assert!(error.message.contains("no-such-host.invalid"), "{error}");
    assert!(Arc::new(hosts(&server)).at("-oProxyCommand=x").is_err());
}

#[tokio::test]
async fn several_programs_share_one_connection() {
    let Some(server) = SshServer::start() else { return };
    let backend = Arc::new(hosts(&server)).at(HOST).unwrap();
    let mut programs = Vec::new();
    for _ in 0..3 {
        programs.push(backend.start(spec(&["sleep", "600"])).await.unwrap());
    }
    let log = server.log();
    let logins = log.lines().filter(|line| line.contains("Accepted publickey")).count();
    assert_eq!(logins, 1, "{log}");
    for mut program in programs {
        assert_eq!(program.control.kill(Duration::ZERO).await.found, 1);
    }
}
