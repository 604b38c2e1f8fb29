//! Laws 7 and 13: what is typed.

use std::sync::Arc;
use std::time::Duration;

use ptyard_terminal::Typed;

use super::stage::{PIPES, PIPES_WITH_STDIN, TTY};
use super::{Ground, Verdict};
use crate::soon;

pub(super) async fn law_07_writes_never_mix(ground: Arc<Ground>) -> Verdict {
    const WRITERS: usize = 8;
    const LENGTH: usize = 20_000;
    let ios = ground.all_io();
    for io in ios.into_iter().filter(|io| *io != PIPES) {
        let total = WRITERS * (LENGTH + 1);
        let stage = ground.raw(io, &format!("echo ready; head -c {total}; echo; echo done")).await;
        stage.until("ready").await;
        let writes = (0..WRITERS).map(|writer| {
            let letter = b'a' + u8::try_from(writer).expect("few writers");
            let mut bytes = vec![letter; LENGTH];
            bytes.push(b'.');
            let terminal = stage.terminal.clone();
            tokio::spawn(async move { terminal.type_in(Typed::raw(bytes)).await })
        });
        for write in writes.collect::<Vec<_>>() {
            let written = soon("the write", write).await.expect("no panic").expect("a write");
            if written.taken != LENGTH + 1 {
                let (exit, logged) = (stage.terminal.exit(), stage.logged().len());
                panic!("{io:?}: {written:?} of {} bytes; {exit:?}, {logged} bytes printed", LENGTH + 1);
            }
        }
        stage.until("done").await;
        if !ground.is_exact() {
            continue;
        }
        let output = String::from_utf8(stage.logged()).expect("letters");
        let line = output.lines().max_by_key(|line| line.len()).expect("a line");
        for part in line.trim_end_matches('.').split('.') {
            assert_eq!(part.len(), LENGTH, "{io:?}: writes are mixed");
            assert!(part.bytes().all(|byte| byte == part.as_bytes()[0]), "{io:?}: writes are mixed");
        }
    }
    Verdict::Works
}

pub(super) async fn law_13_what_was_taken_reached_the_program(ground: Arc<Ground>) -> Verdict {
    // An engine may hold back a byte that could begin its detach keys until the next one, so a plain one comes last.
    let all: Vec<u8> = (0..=255).chain([b'.']).collect();
    // As `od -An -tx1` would write it, but on one line.
    let hex: String = all.iter().map(|byte| format!("{byte:02x}")).collect();
    for io in ground.all_io().into_iter().filter(|io| *io != PIPES) {
        let script = "echo ready; head -c 257 | od -An -v -tx1 | tr -d ' \\n'; echo; echo done";
        let stage = ground.raw(io, script).await;
        stage.until("ready").await;
        stage.write(&all).await;
        let window = stage.until("done").await;
        let seen: String = window.split_whitespace().collect();
        assert!(seen.contains(&hex), "{io:?}: {window}");
    }
    Verdict::Works
}

pub(super) async fn a_program_without_stdin_reads_the_end_at_once(ground: Arc<Ground>) -> Verdict {
    if !ground.has_pipes() {
        let refused = ground.start(ground.spec(&["true"], PIPES)).await;
        let code = refused.err().expect("pipes are refused").code();
        assert_eq!(code, ptyard_core::ErrorCode::Unsupported);
        return Verdict::Refused;
    }
    let (output, exit) = ground.raw(PIPES, "cat; echo end").await.finish().await;
    assert_eq!((output.as_slice(), exit.code), (b"end\n".as_slice(), Some(0)));
    let stage = ground.raw(PIPES, "sleep 600").await;
    let refused = stage.terminal.type_in(Typed::raw("x")).await.expect_err("nothing can be typed");
    assert_eq!(refused.code(), ptyard_core::ErrorCode::NoStdin);
    stage.kill(Duration::ZERO).await;
    Verdict::Works
}

pub(super) async fn closing_the_input_of_pipes_ends_it(ground: Arc<Ground>) -> Verdict {
    if !ground.has_pipes() {
        return Verdict::NoMatter;
    }
    let stage = ground.raw(PIPES_WITH_STDIN, "cat; echo end").await;
    stage.write("text ").await;
    soon("the close", stage.terminal.close_stdin()).await.expect("the input closes");
    let (output, exit) = stage.finish().await;
    assert_eq!((output.as_slice(), exit.code), (b"text end\n".as_slice(), Some(0)));
    Verdict::Works
}

pub(super) async fn closing_the_input_of_a_tty_types_the_end(ground: Arc<Ground>) -> Verdict {
    let stage = ground.script(TTY, "echo ready; cat >/dev/null; echo the-end").await;
    stage.until("ready").await;
    stage.write("text\n").await;
    soon("the close", stage.terminal.close_stdin()).await.expect("the input closes");
    stage.until("the-end").await;
    Verdict::Works
}

pub(super) async fn an_interrupt_key_interrupts(ground: Arc<Ground>) -> Verdict {
    let stage =
        ground.script(TTY, "trap 'echo caught; exit 4' INT; echo ready; while :; do sleep .1; done").await;
    stage.until("ready").await;
    stage.write([3]).await;
    stage.until("caught").await;
    stage.exit().await;
    Verdict::Works
}
