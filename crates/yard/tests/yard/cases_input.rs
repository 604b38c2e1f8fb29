//! Input as the field's reports describe it being cut, changed or taken for something else.

use std::time::Duration;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, Stdin};
use ptyard_yard::{ExecSpec, TypedInput, WriteSpec};

use crate::stage::{
    Stage, at, bash, brief, capped, chars, code, exec, keys, kill, log, paste, poll, run, sh, tty, until,
    wait, write,
};

const PIPED: Io = Io::Pipes(Stdin::Pipe);

/// A program that prints the next `bytes` bytes it reads from a raw tty as hex, after `before`.
fn hex_reader(before: &str, bytes: usize) -> String {
    format!("stty raw -echo; printf '{before}'; echo ready; head -c {bytes} | od -An -tx1 -v | tr -d ' \\n'")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn case_b05_controls_in_a_paste_act_on_no_line_discipline() {
    let stage = Stage::real();
    for control in [
        "\x03", "\x04", "\x04\x04", "\x11", "\x13", "\x15", "\x16", "\x17", "\x1a", "\x1b", "\x1c", "\x7f",
        "\u{9b}", "\u{9d}",
    ] {
        for ready in ["echo ready; exec cat", "stty ixon; echo ready; exec cat"] {
            let cat = run(&stage.yard, sh(ready, tty(), until("regex:ready"))).await;
            let pasted =
                write(&stage.yard, &cat, paste(&format!("a{control}\nb\n"), until("regex:b\\s(?s:.*)b\\s")))
                    .await;
            assert_eq!(pasted.ended_by, "regex", "{control:?}: {pasted:?}");
            assert_eq!(pasted.removed, Some(control.chars().count() as u64), "{control:?}");
            assert!(pasted.exit.is_none());
            kill(&stage.yard, &cat).await;
        }
    }
}

#[tokio::test]
async fn case_p05_a_line_the_kernel_would_cut_is_refused_however_it_is_sent() {
    let stage = Stage::real();
    let long = "x".repeat(6_000);
    // At once, as a paste, and the very longest line that fits.
    let cat = run(&stage.yard, exec(&["cat"], tty(), brief())).await;
    for spec in
        [chars(&format!("{long}\n"), brief()), chars(&long, brief()), paste(&format!("ok\n{long}"), brief())]
    {
        let refused = stage.yard.write(&at(&cat), spec).await.err().unwrap();
        assert_eq!(refused.code(), ErrorCode::InvalidArgument);
    }
    let fits = "y".repeat(4_095);
    let echoed =
        write(&stage.yard, &cat, chars(&format!("{fits}\n"), capped(4_000, until("regex:y\\s+y+\\s")))).await;
    assert_eq!(echoed.output.matches('y').count(), 2 * 4_095, "the longest line comes back whole");
    kill(&stage.yard, &cat).await;

    // In parts: the part that would not fit any more is refused, and what was typed before is not lost.
    let cat = run(&stage.yard, sh("stty -echo; echo ready; exec cat", tty(), until("regex:ready"))).await;
    for _ in 0..4 {
        write(&stage.yard, &cat, chars(&"z".repeat(1_000), brief())).await;
    }
    for spec in [chars(&"z".repeat(1_000), brief()), paste(&"z".repeat(96), brief())] {
        let refused = stage.yard.write(&at(&cat), spec).await.err().unwrap();
        assert_eq!(refused.code(), ErrorCode::InvalidArgument);
    }
    let line = write(&stage.yard, &cat, chars("\r", until("regex:z\\s"))).await;
    assert_eq!(line.output.matches('z').count(), 4_000);
    // A line that was given up, or ended, counts no more.
    write(&stage.yard, &cat, chars(&"w".repeat(4_000), brief())).await;
    write(&stage.yard, &cat, keys("C-u", brief())).await;
    let next =
        write(&stage.yard, &cat, chars(&format!("{}\r", "v".repeat(4_000)), until("regex:v\\s"))).await;
    assert_eq!((next.output.matches('v').count(), next.output.matches('w').count()), (4_000, 0));
    kill(&stage.yard, &cat).await;
}

#[tokio::test]
async fn case_p05_a_line_editor_takes_long_lines() {
    let stage = Stage::real();
    let shell = bash(&stage).await;
    for spec in [
        chars(&format!("v={}\r", "x".repeat(6_000)), until("prompt")),
        paste(&format!("w={}", "y".repeat(6_000)), until("quiet:100")),
    ] {
        write(&stage.yard, &shell, spec).await;
    }
    let count = write(&stage.yard, &shell, chars("\recho ${#v}-${#w}\r", until("regex:^6000-6000$"))).await;
    assert_eq!(count.ended_by, "regex", "{count:?}");
    kill(&stage.yard, &shell).await;
}

#[tokio::test]
async fn case_p08_a_burst_to_a_late_reader_is_whole_or_counted() {
    let stage = Stage::real();
    for bytes in [4_095, 4_096, 40_000, 300_000] {
        let script = format!("stty raw -echo; echo ready; sleep .3; head -c {bytes} | wc -c");
        let window = run(&stage.yard, sh(&script, tty(), until("regex:ready"))).await;
        let end = write(&stage.yard, &window, chars(&"x".repeat(bytes), until("exit"))).await;
        assert_eq!(end.written, Some(bytes as u64));
        assert!(end.output.contains(&bytes.to_string()), "{end:?}");
    }
    // One that never reads: what was taken is counted, and that is what it finds when it reads at last.
    let script = "stty raw -echo; echo ready; read _ <fifo; timeout --foreground 1 cat | wc -c";
    let fifo = stage.directory.path().join("fifo");
    let spec = ExecSpec {
        cwd: Some(stage.directory.path().to_owned()),
        ..sh(&format!("mkfifo fifo; {script}"), tty(), until("regex:ready"))
    };
    let window = run(&stage.yard, spec).await;
    let within = ptyard_yard::WindowSpec { yield_ms: Some(300), ..until("exit") };
    let part = write(&stage.yard, &window, chars(&"x".repeat(40_000), within)).await;
    assert_eq!(part.written.unwrap() + part.unwritten.unwrap(), 40_000);
    std::fs::write(fifo, "\n").unwrap();
    let found = write(&stage.yard, &window, poll(until("exit"))).await;
    assert_eq!(found.output.trim(), part.written.unwrap().to_string());
}

#[tokio::test]
async fn case_p18_brackets_go_only_to_who_asked_for_them() {
    let stage = Stage::real();
    // The program that asked is gone, and what reads now is in line mode.
    let script = r#"printf "\033[?2004h"; echo ready; exec cat -v"#;
    let cat = run(&stage.yard, sh(script, tty(), until("regex:ready"))).await;
    let pasted = write(&stage.yard, &cat, paste("hello\n", until("regex:hello\\s+hello"))).await;
    assert_eq!((pasted.output.as_str(), pasted.ended_by), ("hello\r\nhello\r\n", "regex"));
    kill(&stage.yard, &cat).await;

    // A program on the whole screen is killed under shells with and without a line editor.
    for shell in [
        &["dash", "-i"][..],
        &["bash", "--norc", "--noprofile", "-i"],
        &["bash", "--norc", "--noprofile", "--noediting", "-i"],
    ] {
        let shell_window = run(&stage.yard, exec(shell, tty(), until("prompt"))).await;
        let tui = "python3 -c 'import sys,tty,os; tty.setraw(0); sys.stdout.write(\"\\x1b[?2004h\\x1b[?1049hTUI\" + \" up\"); sys.stdout.flush(); os.read(0, 1); os.kill(os.getpid(), 9)'\r";
        let up = write(&stage.yard, &shell_window, chars(tui, until("regex:TUI up"))).await;
        assert_eq!(up.ended_by, "regex", "{up:?}");
        write(&stage.yard, &shell_window, chars("x", until("regex:Killed[^$#]*[$#] $"))).await;
        write(&stage.yard, &shell_window, paste("echo pas''ted", until("quiet:100"))).await;
        let ran = write(&stage.yard, &shell_window, chars("\n", until("regex:(?m)^\\s*pasted"))).await;
        assert_eq!(ran.ended_by, "regex", "{shell:?}: {ran:?}");
        assert!(!ran.output.contains("not found"), "{shell:?}: {ran:?}");
        kill(&stage.yard, &shell_window).await;
    }
}

#[tokio::test]
async fn case_p18_a_program_that_asks_again_gets_brackets_again() {
    let stage = Stage::real();
    let body = "one\ntwo\tthree 中";
    let bracketed = [b"\x1b[200~", body.as_bytes(), b"\x1b[201~"].concat();
    let script = hex_reader(r"\033[?2004h\033[?2004l\033[?2004h", bracketed.len());
    let window = run(&stage.yard, sh(&script, tty(), until("regex:ready"))).await;
    let end = write(&stage.yard, &window, paste(body, until("exit"))).await;
    assert!(end.output.ends_with(&hex(&bracketed)), "{end:?}");
    // In the foreground of a shell too, where the group that asked is not the shell's.
    let shell = bash(&stage).await;
    let script = format!("sh -c '{}'\r", hex_reader(r"\033[?2004h", bracketed.len()).replace('\'', "'\\''"));
    write(&stage.yard, &shell, chars(&script, until("regex:^ready"))).await;
    let end = write(&stage.yard, &shell, paste(body, until(&format!("regex:{}", hex(&bracketed))))).await;
    assert_eq!(end.ended_by, "regex", "{end:?}");
    kill(&stage.yard, &shell).await;
}

#[tokio::test]
async fn case_p20_a_paste_into_a_shell_is_completed_expanded_and_trimmed_by_nobody() {
    let stage = Stage::real();
    let shell = bash(&stage).await;
    for (text, expected) in [("printf '[%s]' 'a\tb'", "[a\tb]"), ("printf '[%s]' 'hi!!'", "[hi!!]")] {
        write(&stage.yard, &shell, paste(text, until("quiet:60"))).await;
        let ran = write(&stage.yard, &shell, keys("Enter", until("prompt"))).await;
        assert!(ran.output.contains(expected) || text.contains('!'), "{text:?}: {ran:?}");
    }
    kill(&stage.yard, &shell).await;
    // What the reader gets is the text itself, leading and trailing blanks with it.
    for body in ["a\tb", "echo hi!!", "   indented  ", "\ttab first", "ends with a newline\n"] {
        let bracketed = [b"\x1b[200~", body.as_bytes(), b"\x1b[201~"].concat();
        let window =
            run(&stage.yard, sh(&hex_reader(r"\033[?2004h", bracketed.len()), tty(), until("regex:ready")))
                .await;
        let end = write(&stage.yard, &window, paste(body, until("exit"))).await;
        assert!(end.output.ends_with(&hex(&bracketed)), "{body:?}: {end:?}");
    }
}

#[tokio::test]
async fn case_p21_keys_are_encoded_as_the_program_asked() {
    let stage = Stage::real();
    for (modes, names, bytes) in [
        ("", "Enter S-Enter C-c Up", &b"\r\r\x03\x1b[A"[..]),
        (r"\033[>1u", "Enter S-Enter C-c", b"\r\x1b[13;2u\x1b[99;5u"),
        (r"\033[>1u\033[<u", "Enter C-c", b"\r\x03"),
        (r"\033[?1h", "Up Down F5", b"\x1bOA\x1bOB\x1b[15~"),
        (r"\033[?1h\033[?1l", "Up", b"\x1b[A"),
    ] {
        let window = run(&stage.yard, sh(&hex_reader(modes, bytes.len()), tty(), until("regex:ready"))).await;
        let end = write(&stage.yard, &window, keys(names, until("exit"))).await;
        assert!(end.output.ends_with(&hex(bytes)), "{names} after {modes}: {end:?}");
    }
    // Raw bytes stay possible whatever the modes.
    let window = run(&stage.yard, sh(&hex_reader(r"\033[>1u", 2), tty(), until("regex:ready"))).await;
    let end = write(&stage.yard, &window, chars("\x03\r", until("exit"))).await;
    assert!(end.output.ends_with("030d"), "{end:?}");
}

#[tokio::test]
async fn case_p22_blanks_and_newlines_alone_are_input_and_nothing_is_a_poll() {
    let stage = Stage::real();
    for text in [" ", "\n", "\r", "\t", "  x \r\n", "\r\n\r\n", " \u{a0}"] {
        let window = run(&stage.yard, sh(&hex_reader("", text.len()), tty(), until("regex:ready"))).await;
        let end = write(&stage.yard, &window, chars(text, until("exit"))).await;
        assert!(end.output.ends_with(&hex(text.as_bytes())), "{text:?}: {end:?}");
        assert_eq!(end.written, Some(text.len() as u64));
    }
    let cat = run(&stage.yard, exec(&["cat"], tty(), brief())).await;
    for nothing in
        [TypedInput::Bytes(vec![]), TypedInput::Paste(String::new()), TypedInput::Keys(String::new())]
    {
        let polled = write(
            &stage.yard,
            &cat,
            WriteSpec { input: Some(nothing), window: brief(), ..WriteSpec::default() },
        )
        .await;
        assert_eq!((polled.output.as_str(), polled.written), ("", None));
    }
    assert_eq!(log(&stage.yard, &cat).await, b"");
    kill(&stage.yard, &cat).await;
}

#[tokio::test]
async fn case_w06_rs06_every_byte_value_arrives_on_both_kinds_of_input() {
    let stage = Stage::real();
    let all: Vec<u8> = (0..=255).collect();
    let many: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for bytes in [all, many, "naïve 中文 👩‍💻 e\u{301}".as_bytes().to_vec()] {
        for io in [tty(), PIPED] {
            let raw = if io == tty() { "stty raw -echo; " } else { "" };
            let script = format!("{raw}echo ready; head -c {} | cksum", bytes.len());
            let window = run(&stage.yard, sh(&script, io, until("regex:ready"))).await;
            let input = WriteSpec {
                input: Some(TypedInput::Bytes(bytes.clone())),
                window: until("exit"),
                ..WriteSpec::default()
            };
            let got = write(&stage.yard, &window, input).await;
            let file = stage.directory.path().join("sent");
            std::fs::write(&file, &bytes).unwrap();
            let script = format!("cksum < '{}'", file.display());
            let sent = run(&stage.yard, sh(&script, io, until("exit"))).await;
            assert_eq!(got.output.trim(), sent.output.trim(), "{} bytes, {io:?}", bytes.len());
        }
    }
}

#[tokio::test]
async fn case_e02_one_end_of_file_key_in_a_line_ends_nothing_and_close_does() {
    let stage = Stage::real();
    let cat = run(&stage.yard, exec(&["cat"], tty(), brief())).await;
    let flushed = write(&stage.yard, &cat, chars("abc\x04", until("regex:abcabc"))).await;
    assert_eq!((flushed.output.as_str(), flushed.exit), ("abcabc", None));
    stage.yard.close_stdin(&at(&cat)).await.unwrap();
    assert_eq!(code(&write(&stage.yard, &cat, poll(until("exit"))).await), Some(0));
    for (io, text) in [(tty(), "abc"), (tty(), "abc\n"), (tty(), ""), (PIPED, "abc"), (PIPED, "")] {
        let cat = run(&stage.yard, exec(&["cat"], io, brief())).await;
        if !text.is_empty() {
            write(&stage.yard, &cat, chars(text, brief())).await;
        }
        stage.yard.close_stdin(&at(&cat)).await.unwrap();
        let end = write(&stage.yard, &cat, poll(until("exit"))).await;
        assert_eq!(code(&end), Some(0), "{io:?} {text:?}");
        let all = log(&stage.yard, &cat).await;
        let times = if io == PIPED { 1 } else { 2 };
        assert_eq!(String::from_utf8_lossy(&all).replace("\r\n", "\n"), text.repeat(times), "{io:?}");
    }
}

#[tokio::test]
async fn case_e04_a_raw_program_cannot_be_sent_an_end_and_is_not_harmed_by_the_try() {
    let stage = Stage::real();
    let window = run(&stage.yard, sh(&hex_reader("", 2), tty(), until("regex:ready"))).await;
    let refused = stage.yard.close_stdin(&at(&window)).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::RawMode);
    let end = write(&stage.yard, &window, chars("ok", until("exit"))).await;
    assert!(end.output.ends_with("6f6b"), "nothing was typed by the try: {end:?}");
    let done = stage.yard.close_stdin(&at(&window)).await.unwrap_err();
    assert_eq!(done.code(), ErrorCode::TerminalExited);
    let pipe = run(&stage.yard, exec(&["cat"], PIPED, brief())).await;
    stage.yard.close_stdin(&at(&pipe)).await.unwrap();
    write(&stage.yard, &pipe, poll(until("exit"))).await;
    let none = run(&stage.yard, exec(&["sleep", "600"], crate::stage::PIPES, brief())).await;
    assert_eq!(stage.yard.close_stdin(&at(&none)).await.unwrap_err().code(), ErrorCode::NoStdin);
    kill(&stage.yard, &none).await;
}

#[tokio::test]
async fn case_e05_an_end_behind_a_megabyte_waits_for_it() {
    let stage = Stage::real();
    let lines = "0123456789abcde\n".repeat(65_536);
    for io in [PIPED, tty()] {
        let quiet = if io == tty() { "stty -echo; " } else { "" };
        let script = format!("{quiet}echo ready; head -c 16 >/dev/null; echo begun; wc -c");
        let window = run(&stage.yard, sh(&script, io, until("regex:ready"))).await;
        let target = at(&window);
        let (typed, closed) = tokio::join!(stage.yard.write(&target, chars(&lines, until("exit"))), async {
            wait(&stage.yard, &window, "regex:begun", Some(0), 20_000).await;
            stage.yard.close_stdin(&target).await
        });
        closed.unwrap();
        let end = typed.unwrap().commit();
        assert_eq!(end.written, Some(1_048_576), "{io:?}");
        assert!(end.output.contains("1048560"), "{io:?}: {end:?}");
    }
}

#[tokio::test]
async fn case_h06_a_stop_character_stops_nothing_and_a_program_that_wants_it_can_be_resumed() {
    let stage = Stage::real();
    let script = "while :; do echo tick; sleep .05; done";
    let window = run(&stage.yard, sh(script, tty(), until("regex:tick"))).await;
    for stop in ["\x13", "\x13\x13\x13"] {
        let after = write(&stage.yard, &window, chars(stop, until("regex:tick\\s+tick\\s+tick"))).await;
        assert_eq!(after.ended_by, "regex", "{after:?}");
        assert_eq!(after.warnings, [""; 0], "nothing was stopped");
    }
    kill(&stage.yard, &window).await;
    // A program that switches flow control on itself is stopped as it asked, which is said, and goes on.
    let window = run(&stage.yard, sh(&format!("stty ixon; {script}"), tty(), until("regex:tick"))).await;
    let stopped = write(&stage.yard, &window, chars("\x13", brief())).await;
    assert!(stopped.warnings.iter().any(|warning| warning.contains("C-q")), "{stopped:?}");
    let both = write(&stage.yard, &window, chars("\x13\x11", brief())).await;
    assert_eq!(both.warnings, [""; 0], "it goes on");
    write(&stage.yard, &window, chars("\x13", brief())).await;
    let resumed = write(&stage.yard, &window, chars("\x11", until("regex:tick\\s+tick"))).await;
    assert_eq!(resumed.ended_by, "regex");
    let killed = stage.yard.kill(&at(&window), Some(Duration::from_millis(200))).await.unwrap();
    assert!(killed.survivors.is_empty());
}
