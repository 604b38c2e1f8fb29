//! The environment as programs see it.

use std::collections::BTreeMap;

use ptyard_terminal::local::LocalBackend;
use ptyard_terminal::local::env::clean_environment;

use crate::support::{PIPES, Program, TTY, spec};

#[tokio::test]
async fn case_v01_a_program_on_a_tty_has_a_terminal_it_can_draw_on() {
    let script = "echo $TERM; echo $HOME; echo $PATH; echo $LANG; test -t 0 && test -t 1 && test -t 2 && tty </dev/tty";
    let (output, exit) = Program::run(&["sh", "-c", script], TTY).await.finish().await;
    assert_eq!(exit.code, Some(0), "{output}");
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "xterm-256color");
    assert!(lines[1].starts_with('/'));
    assert!(lines[2].contains("/bin"));
    assert!(!lines[3].is_empty());
    assert_eq!(lines[4], "/dev/tty");
}

#[tokio::test]
async fn case_w06_a_program_sees_its_environment_and_nothing_else() {
    let backend = LocalBackend::new().unwrap();
    let mut spec = spec(&["env"], PIPES);
    spec.env = BTreeMap::from([("ONE".to_owned(), "1".to_owned()), ("EMPTY".to_owned(), String::new())]);
    let (output, _) = Program::start(&backend, spec).await.unwrap().finish().await;
    assert_eq!(output, "EMPTY=\nONE=1\n");
    // Nor does the environment made for it hold anything of the server's that is not on the list.
    let known = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "XDG_RUNTIME_DIR",
        "PAGER",
        "GIT_PAGER",
        "MANPAGER",
        "GIT_EDITOR",
        "TERM",
        "COLORTERM",
        "PTYARD_TERMINAL",
    ];
    let none = BTreeMap::new();
    for name in clean_environment(ptyard_core::TerminalId::from_bits(1), &none, &none, TTY).into_keys() {
        assert!(known.contains(&name.as_str()) || name.starts_with("LC_"), "{name}");
    }
}

#[tokio::test]
async fn the_program_is_looked_for_in_its_own_path() {
    let backend = LocalBackend::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/echo", dir.path().join("mytool")).unwrap();
    let mut spec = spec(&["mytool", "found"], PIPES);
    spec.env.insert("PATH".to_owned(), format!("/no/such/dir:{}", dir.path().display()));
    let (output, _) = Program::start(&backend, spec).await.unwrap().finish().await;
    assert_eq!(output, "found\n");
}
