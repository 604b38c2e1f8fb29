//! Text as the field's reports describe it going wrong: characters cut by reads, caps and ends.

use ptyard_terminal::backend::{Io, Stdin};
use ptyard_yard::{Yard, YardConfig};

use crate::stage::{PIPES, Stage, brief, capped, code, exec, kill, log, poll, run, sh, tty, until, write};

const PIPED: Io = Io::Pipes(Stdin::Pipe);

/// `\ooo` for every byte, as `printf` reads it.
fn octal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:03o}")).collect()
}

#[tokio::test]
async fn case_u01_characters_of_every_width_cut_at_every_byte_are_whole() {
    let stage = Stage::real();
    for io in [tty(), PIPED] {
        for text in ["é", "中", "👩", "a\u{301}", "👩\u{200d}💻"] {
            for cut in 1..text.len() {
                let (head, tail) = text.as_bytes().split_at(cut);
                let script = format!("printf '{}'; read _; printf '{}'", octal(head), octal(tail));
                let quiet = if io == tty() { "stty -echo; " } else { "" };
                let first = run(&stage.yard, sh(&format!("{quiet}{script}"), io, until("quiet:20"))).await;
                let rest = write(&stage.yard, &first, crate::stage::chars("\n", until("exit"))).await;
                assert_eq!(format!("{}{}", first.output, rest.output), text, "cut at {cut}");
                assert!(text.starts_with(&first.output), "nothing but whole characters: {:?}", first.output);
            }
        }
    }
}

#[tokio::test]
async fn case_u01_a_character_that_comes_byte_by_byte_is_given_once() {
    let stage = Stage::real();
    let bytes = "😀中".as_bytes();
    let steps: Vec<String> = bytes.iter().map(|byte| format!("printf '\\{byte:03o}'; read _")).collect();
    let script = format!("stty -echo; {}", steps.join("; "));
    let mut window = run(&stage.yard, sh(&script, tty(), until("quiet:20"))).await;
    let mut text = window.output.clone();
    for _ in bytes {
        window = write(&stage.yard, &window, crate::stage::chars("\n", until("quiet:20"))).await;
        text.push_str(&window.output);
    }
    assert_eq!((text.as_str(), code(&window)), ("😀中", Some(0)));
}

#[tokio::test]
async fn case_u02_what_can_never_become_a_character_is_shown_while_the_program_runs() {
    let stage = Stage::real();
    let bad: [&[u8]; 9] = [
        b"a\xed\xa0\x80b",             // a surrogate
        b"a\xed\xa0\x80\xed\xb0\x80b", // a pair of them
        b"a\xf0\x80\x80\x80b",         // overlong
        b"a\xc0\xafb",                 // overlong
        b"a\xf4\x90\x80\x80b",         // above U+10FFFF
        b"a\xf5b",                     // never a lead
        b"a\xfe\xffb",                 // never in UTF-8
        b"a\x80\xbfb",                 // continuations alone
        b"a\xe4\xb8b",                 // broken off by a letter
    ];
    for io in [tty(), PIPED] {
        for bytes in bad {
            let script = format!("printf '{}'; read _", octal(bytes));
            let window = run(&stage.yard, sh(&script, io, until("regex:b"))).await;
            assert_eq!(window.output, String::from_utf8_lossy(bytes), "{bytes:?}");
            kill(&stage.yard, &window).await;
        }
        // A lead that ends the output so far and can never be one is not held back either.
        for last in [&b"x\xff"[..], b"x\xc1", b"x\xed\xa0", b"x\xf8"] {
            let script = format!("printf '{}'; read _", octal(last));
            let window = run(&stage.yard, sh(&script, io, until("quiet:50"))).await;
            assert_eq!(window.output, String::from_utf8_lossy(last), "{last:?}");
            kill(&stage.yard, &window).await;
        }
    }
}

#[tokio::test]
async fn case_u03_half_a_character_at_the_end_is_one_mark_however_it_ends() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        for half in [&b"\xc3"[..], b"\xe4", b"\xe4\xb8", b"\xf0\x9f", b"\xf0\x9f\x98"] {
            for end in ["exit 0", "exit 3", "kill -9 $$"] {
                let window =
                    run(&stage.yard, sh(&format!("printf 'x{}'; {end}", octal(half)), io, until("exit")))
                        .await;
                assert_eq!(window.output, "x\u{fffd}", "{half:?} {end}");
                for _ in 0..2 {
                    let again = write(&stage.yard, &window, poll(brief())).await;
                    assert_eq!((again.output.as_str(), &again.exit), ("", &window.exit));
                }
                assert_eq!(log(&stage.yard, &window).await, [b"x", half].concat(), "the log keeps the bytes");
            }
        }
    }
}

#[tokio::test]
async fn case_u06_a_cap_is_in_bytes_whatever_the_characters() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        for character in ["e", "é", "中", "😀"] {
            for tokens in [1, 2, 3, 25, 250] {
                let script = format!("import sys; sys.stdout.write('{character}'*20000 + '\\n')");
                let window =
                    run(&stage.yard, exec(&["python3", "-c", &script], io, capped(tokens, until("exit"))))
                        .await;
                let total = window.next;
                assert!(
                    window.output.len() as i64 <= tokens * 4,
                    "{character} {tokens}: {:?}",
                    window.output
                );
                assert!(!window.output.contains('\u{fffd}'), "{character} {tokens}: {:?}", window.output);
                assert_eq!(window.original_token_count, Some(total.div_ceil(4)));
            }
        }
    }
}

#[tokio::test]
async fn case_t02_counts_are_exact_above_a_mebibyte_in_every_shape() {
    let stage = Stage::real();
    for (script, io, total) in [
        ("yes 0123456789 | head -c 3000000; echo END", PIPES, 3_000_004),
        ("head -c 3000000 /dev/zero | tr '\\0' x; echo END", PIPES, 3_000_004),
        ("head -c 3000000 /dev/zero | tr '\\0' x; echo END", tty(), 3_000_005),
        ("yes '' | head -n 1500000; echo END", tty(), 3_000_005),
    ] {
        for tokens in [100, 10_000, 4_000_000] {
            let window = run(&stage.yard, sh(script, io, capped(tokens, until("exit")))).await;
            assert_eq!(window.next, total, "{script}");
            let cut = tokens < 4_000_000;
            assert_eq!(window.original_token_count, cut.then_some(total.div_ceil(4)), "{script}");
            assert!(window.output.trim_end().ends_with("END"), "{script}");
        }
    }
}

#[tokio::test]
async fn case_t02_the_counts_of_many_windows_add_up() {
    let stage = Stage::real();
    let script = "for i in 1 2 3; do head -c 2000000 /dev/zero | tr '\\0' x; echo; read _; done";
    let mut window = run(&stage.yard, sh(script, PIPED, capped(100, until("regex:x\\n")))).await;
    let mut total = window.next - window.from;
    while window.exit.is_none() {
        window =
            write(&stage.yard, &window, crate::stage::chars("\n", capped(100, until("regex:x\\n")))).await;
        total += window.next - window.from;
    }
    assert_eq!((total, window.next), (6_000_003, 6_000_003));
}

#[tokio::test]
async fn case_t04_what_a_cap_left_out_is_read_after_the_end_and_after_a_restart() {
    let stage = Stage::real();
    let window = run(&stage.yard, sh("seq 1 40000", tty(), capped(100, until("exit")))).await;
    let whole: Vec<u8> = (1..=40_000).flat_map(|n| format!("{n}\r\n").into_bytes()).collect();
    assert!(window.output.len() <= 400);
    assert!(log(&stage.yard, &window).await == whole);
    let whole_window = ptyard_yard::WriteSpec { since: Some(0), ..poll(capped(4_000_000, until("exit"))) };
    let again = write(&stage.yard, &window, whole_window).await;
    assert!(again.output.as_bytes() == whole, "and as one window of text");
    stage.yard.shutdown().await;
    let Stage { yard, directory, .. } = stage;
    drop(yard);
    let open = async {
        loop {
            match Yard::open(YardConfig::new(directory.path().join("state"))) {
                Ok(yard) => break yard,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let yard = ptyard_testkit::soon("the lock is free", open).await;
    assert!(log(&yard, &window).await == whole);
}

#[tokio::test]
async fn case_t05_cuts_split_no_character_and_keep_both_ends() {
    let stage = Stage::real();
    let script = r#"for i in $(seq 1 3000); do printf "\033[32mline %d 中\033[0m\n" $i; done"#;
    for tokens in 200..216 {
        let window = run(&stage.yard, sh(script, tty(), capped(tokens, until("exit")))).await;
        assert!(!window.output.contains('\u{fffd}'), "{tokens}: {:?}", window.output);
        assert!(window.output.contains("line 1 中") && window.output.contains("line 3000 中"), "{tokens}");
        assert!(window.output.ends_with("\x1b[0m\r\n"), "the colour is off behind the end that is shown");
    }
}
