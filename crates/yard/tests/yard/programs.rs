//! Real programs, as the field's reports describe them.

use std::time::{Duration, Instant};

use ptyard_core::{Cause, Size};
use ptyard_terminal::backend::{Io, Signal, Stdin, Target};
use ptyard_testkit::soon;
use ptyard_yard::{ExecSpec, TypedInput, Window, WindowSpec, WriteSpec, Yard};

use crate::stage::{PIPES, Stage, at, brief, chars, exec, poll, run, sh, tty, until};

fn code(window: &Window) -> Option<i32> {
    window.exit.as_ref().and_then(|exit| exit.code)
}

fn ms(yield_ms: i64) -> WindowSpec {
    WindowSpec { yield_ms: Some(yield_ms), max_tokens: None, until: vec!["exit".to_owned()] }
}

async fn screen_lines(yard: &Yard, window: &Window) -> Vec<String> {
    yard.screen(&at(window), 0).await.unwrap().lines
}

#[tokio::test]
async fn case_u01_a_character_cut_by_a_read_is_whole() {
    let stage = Stage::real();
    let text = r"stty -echo; printf '\344\270'; read _; printf '\255\n'";
    let first = run(&stage.yard, sh(text, tty(), until("quiet:50"))).await;
    assert_eq!((first.output.as_str(), first.next), ("", 0));
    let rest = stage.yard.write(&at(&first), chars("\r", until("exit"))).await.unwrap().commit();
    assert_eq!(rest.output, "中\r\n");
}

#[tokio::test]
async fn case_u02_impossible_sequences_hide_nothing_and_case_u03_a_half_character_ends() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        let window = run(
            &stage.yard,
            sh(r"printf 'a\355\240\200b\360\200\200\200c\364\220\200\200d\376e\n'", io, until("exit")),
        )
        .await;
        let letters: String = window.output.chars().filter(char::is_ascii_lowercase).collect();
        assert_eq!(letters, "abcde");
        let half = run(&stage.yard, sh(r"printf 'x\344\270'", io, until("exit"))).await;
        assert_eq!(half.output, "x\u{fffd}");
        let again = stage.yard.write(&at(&half), poll(brief())).await.unwrap().commit();
        assert_eq!((again.output.as_str(), again.session_id), ("", None));
    }
}

#[tokio::test]
async fn case_o01_to_o03_the_tail_comes_with_the_exit_and_nobody_needs_to_read() {
    let stage = Stage::real();
    for _ in 0..30 {
        let window = run(&stage.yard, sh("seq 1 4000", tty(), until("exit"))).await;
        assert_eq!((window.next, code(&window)), (22_893, Some(0)));
        let quick = run(&stage.yard, sh("printf ok", tty(), until("exit"))).await;
        assert_eq!((quick.output.as_str(), code(&quick)), ("ok", Some(0)));
    }
    let unread = run(&stage.yard, sh("seq 1 20000", tty(), brief())).await;
    soon("it ends without a reader", stage.yard.wait(&at(&unread), &["exit".to_owned()], None, None))
        .await
        .unwrap();
    let all = stage.yard.read(&at(&unread), Some(0), 1 << 20).await.unwrap();
    assert_eq!(all.data.len(), 128_894);
}

#[tokio::test]
async fn case_o05_a_detached_descendant_does_not_hold_the_end_and_case_s02_does_not_survive_a_kill() {
    let stage = Stage::real();
    let began = Instant::now();
    let window = run(
        &stage.yard,
        exec(&["bash", "-c", "setsid sleep 600 & sleep .05; echo done"], tty(), until("exit")),
    )
    .await;
    let exit = window.exit.clone().unwrap();
    assert_eq!((window.output.as_str(), exit.code, exit.descendants), ("done\r\n", Some(0), 1));
    assert!(began.elapsed() < Duration::from_secs(5));
    let killed = stage.yard.kill(&at(&window), Some(Duration::ZERO)).await.unwrap();
    assert_eq!((killed.found, killed.survivors.len()), (1, 0));
}

#[tokio::test]
async fn case_s01_s02_a_kill_ends_the_whole_tree() {
    let stage = Stage::real();
    let text =
        "setsid sleep 600 </dev/null >/dev/null 2>&1 & (setsid sleep 601 &) ; sleep 602 & echo up; wait";
    let window = run(&stage.yard, sh(text, tty(), until("regex:up"))).await;
    let killed = stage.yard.kill(&at(&window), Some(Duration::from_millis(500))).await.unwrap();
    assert!(killed.found >= 4, "{killed:?}");
    assert!(killed.survivors.is_empty(), "{killed:?}");
    let exit = killed.exit.unwrap();
    assert_eq!((exit.cause, exit.by.as_deref()), (Cause::Killed, Some("kill")));
}

#[tokio::test]
async fn case_s08_a_program_that_ignores_everything_is_killed_after_the_grace() {
    let stage = Stage::real();
    let text = "trap '' HUP INT TERM; echo deaf; while :; do sleep 1; done";
    let window = run(&stage.yard, sh(text, tty(), until("regex:deaf"))).await;
    let began = Instant::now();
    let killed = stage.yard.kill(&at(&window), Some(Duration::from_millis(300))).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(300) && began.elapsed() < Duration::from_secs(5));
    assert_eq!(killed.last_signal, Some(9));
    assert_eq!(killed.exit.unwrap().signal, Some(9));
}

#[tokio::test]
async fn case_x06_an_end_says_who_caused_it() {
    let stage = Stage::real();
    let own = run(&stage.yard, sh("kill -TERM $$", PIPES, until("exit"))).await.exit.unwrap();
    assert_eq!((own.cause, own.signal, own.code), (Cause::Signaled, Some(15), None));
    let ours = run(&stage.yard, exec(&["sleep", "600"], PIPES, brief())).await;
    stage.yard.signal(&at(&ours), Signal(15), Target::Program).await.unwrap();
    let ours = stage.yard.write(&at(&ours), poll(until("exit"))).await.unwrap().commit().exit.unwrap();
    assert_eq!((ours.cause, ours.by.as_deref()), (Cause::Killed, Some("signal")));
}

#[tokio::test]
async fn case_x05_a_running_program_has_no_code() {
    let stage = Stage::real();
    let window = run(&stage.yard, exec(&["sleep", "600"], PIPES, brief())).await;
    assert_eq!((window.exit.clone(), window.ended_by), (None, "deadline"));
    assert!(window.session_id.is_some());
    stage.yard.kill(&at(&window), None).await.unwrap();
}

#[tokio::test]
async fn case_s06_control_c_interrupts_and_case_s07_so_does_a_signal_without_a_tty() {
    let stage = Stage::real();
    let window = run(&stage.yard, exec(&["sleep", "600"], tty(), brief())).await;
    let exit =
        stage.yard.write(&at(&window), chars("\x03", until("exit"))).await.unwrap().commit().exit.unwrap();
    assert_eq!(exit.signal, Some(2));
    let piped = run(&stage.yard, exec(&["sleep", "600"], PIPES, brief())).await;
    stage.yard.signal(&at(&piped), Signal(2), Target::ForegroundGroup).await.unwrap();
    let exit = stage.yard.write(&at(&piped), poll(until("exit"))).await.unwrap().commit().exit.unwrap();
    assert_eq!(exit.signal, Some(2));
}

#[tokio::test]
async fn case_k01_k04_a_deadline_returns_what_there_is() {
    let stage = Stage::real();
    for io in [tty(), PIPES] {
        let began = Instant::now();
        let window = run(&stage.yard, sh("echo part; sleep 600", io, ms(600))).await;
        assert_eq!((window.output.trim_end(), window.ended_by), ("part", "deadline"));
        assert!(began.elapsed() >= Duration::from_millis(600) && began.elapsed() < Duration::from_secs(3));
        stage.yard.kill(&at(&window), Some(Duration::ZERO)).await.unwrap();
    }
}

#[tokio::test]
async fn case_h01_a_write_to_a_program_that_does_not_read_ends_at_its_deadline() {
    let stage = Stage::real();
    let window =
        run(&stage.yard, sh("stty raw -echo; echo ready; sleep 600", tty(), until("regex:ready"))).await;
    let big = "x".repeat(1 << 20);
    let began = Instant::now();
    let written = stage.yard.write(&at(&window), chars(&big, ms(500))).await.unwrap().commit();
    assert!(began.elapsed() < Duration::from_secs(3));
    let (taken, back) = (written.written.unwrap(), written.unwritten.unwrap());
    assert_eq!(taken + back, 1 << 20);
    assert!((1..100_000).contains(&taken), "{taken}");
    assert!(!written.warnings.is_empty());
    stage.yard.resize(&at(&window), Size::new(100, 30).unwrap()).await.unwrap();
    stage.yard.kill(&at(&window), Some(Duration::ZERO)).await.unwrap();
}

#[tokio::test]
async fn case_h01_a_program_that_does_not_read_is_killed_past_everything_that_waits_to_be_typed() {
    let stage = Stage::real();
    let window =
        run(&stage.yard, sh("stty raw -echo; echo ready; sleep 600", tty(), until("regex:ready"))).await;
    let big = "x".repeat(100_000);
    let filled = stage.yard.write(&at(&window), chars(&big, ms(300))).await.unwrap().commit();
    assert!(filled.unwritten > Some(0), "the terminal takes no more");
    let stuck: Vec<_> = (0..200)
        .map(|_| {
            let (yard, target, spec) = (stage.yard.clone(), at(&window), chars(&big, ms(60_000)));
            tokio::spawn(async move { yard.write(&target, spec).await.map(|written| written.commit()) })
        })
        .collect();
    let began = Instant::now();
    let late = stage.yard.write(&at(&window), chars("late", ms(300))).await.unwrap().commit();
    assert_eq!((late.written, late.unwritten), (Some(0), Some(4)));
    stage.yard.screen(&at(&window), 0).await.unwrap();
    let killed = stage.yard.kill(&at(&window), Some(Duration::ZERO)).await.unwrap();
    assert!(killed.survivors.is_empty());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    for write in stuck {
        // Each one is answered: with what was taken, or that the program has ended.
        let _answer = write.await.unwrap();
    }
}

#[tokio::test]
async fn case_h03_both_directions_are_pumped_and_case_e05_the_end_waits_for_the_bytes() {
    let stage = Stage::real();
    let window = run(&stage.yard, exec(&["cat"], Io::Pipes(Stdin::Pipe), brief())).await;
    let text: String = (0..1_000_000).map(|n| format!("{n:09}\n")).collect();
    let target = at(&window);
    let write = stage.yard.write(&target, chars(&text, ms(20_000)));
    let close = async {
        tokio::task::yield_now().await;
        stage.yard.wait(&at(&window), &["regex:000000001".to_owned()], Some(0), None).await.unwrap();
        stage.yard.close_stdin(&at(&window)).await.unwrap();
    };
    let (written, ()) = tokio::join!(write, close);
    let written = written.unwrap().commit();
    assert_eq!((written.written, code(&written)), (Some(10_000_000), Some(0)));
    let (mut at_offset, mut back) = (0, Vec::new());
    while at_offset < 10_000_000 {
        let range = stage.yard.read(&at(&window), Some(at_offset), 1 << 20).await.unwrap();
        at_offset = range.next;
        back.extend(range.data);
    }
    assert!(back == text.as_bytes(), "10 MB come back as they were sent");
}

#[tokio::test]
async fn case_e02_e04_input_can_be_ended() {
    let stage = Stage::real();
    let cat = run(&stage.yard, exec(&["cat"], tty(), brief())).await;
    stage.yard.write(&at(&cat), chars("abc", brief())).await.map(drop).unwrap();
    stage.yard.close_stdin(&at(&cat)).await.unwrap();
    let end = stage.yard.write(&at(&cat), poll(until("exit"))).await.unwrap().commit();
    assert_eq!((end.output.as_str(), code(&end)), ("abcabc", Some(0)));
    for io in [tty(), Io::Pipes(Stdin::Pipe)] {
        let sort = run(&stage.yard, exec(&["sort"], io, brief())).await;
        stage.yard.write(&at(&sort), chars("b\na\n", brief())).await.map(drop).unwrap();
        stage.yard.close_stdin(&at(&sort)).await.unwrap();
        let end = stage.yard.write(&at(&sort), poll(until("exit"))).await.unwrap().commit();
        assert!(end.output.replace('\r', "").ends_with("a\nb\n"), "{end:?}");
        assert_eq!(code(&end), Some(0));
    }
}

#[tokio::test]
async fn case_p08_p22_w06_input_arrives_byte_for_byte() {
    let stage = Stage::real();
    let text = "  x \r\n naïve 中文 👩‍💻 e\u{301} \u{1b}[A\t!";
    let script =
        format!("stty raw -echo; echo ready; head -c {} | od -An -tx1 -v | tr -d ' \\n'", text.len());
    let window = run(&stage.yard, sh(&script, tty(), until("regex:ready"))).await;
    let dump = stage.yard.write(&at(&window), chars(text, until("exit"))).await.unwrap().commit();
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(dump.output.ends_with(&hex), "{dump:?}");
    let many = run(
        &stage.yard,
        sh(
            "stty raw -echo; echo ready; read _ </dev/null; head -c 40000 | wc -c",
            tty(),
            until("regex:ready"),
        ),
    )
    .await;
    let count =
        stage.yard.write(&at(&many), chars(&"y".repeat(40_000), until("exit"))).await.unwrap().commit();
    assert!(count.output.contains("40000"), "{count:?}");
}

#[tokio::test]
async fn case_b01_b03_a_paste_cannot_be_left_by_its_text() {
    let stage = Stage::real();
    let directory = stage.directory.path().to_str().unwrap().to_owned();
    for text in ["echo safe \x1b[201~\rtouch PWNED\r", "\x1b[20\x1b[201~1~\rtouch PWNED\r"] {
        let spec = ExecSpec {
            cwd: Some(directory.clone().into()),
            ..exec(&["bash", "--norc", "--noprofile", "-i"], tty(), until("prompt"))
        };
        let bash = run(&stage.yard, spec).await;
        let paste = WriteSpec {
            input: Some(TypedInput::Paste(text.to_owned())),
            window: until("quiet:100"),
            ..WriteSpec::default()
        };
        let pasted = stage.yard.write(&at(&bash), paste).await.unwrap().commit();
        assert!(pasted.removed.unwrap() > 0);
        let keys = WriteSpec {
            input: Some(TypedInput::Keys("C-c".to_owned())),
            window: until("quiet:100"),
            ..WriteSpec::default()
        };
        stage.yard.write(&at(&bash), keys).await.map(drop).unwrap();
        stage.yard.kill(&at(&bash), Some(Duration::ZERO)).await.unwrap();
        assert!(!stage.directory.path().join("PWNED").exists());
    }
}

#[tokio::test]
async fn case_sec01_a_late_reply_never_reaches_a_shell_that_did_not_ask() {
    let stage = Stage::real();
    let bash = run(&stage.yard, exec(&["bash", "--norc", "--noprofile", "-i"], tty(), until("prompt"))).await;
    for _ in 0..20 {
        let asked = stage
            .yard
            .write(&at(&bash), chars("/usr/bin/printf '\\033]11;?\\a'\r", until("quiet:40")))
            .await
            .unwrap()
            .commit();
        assert!(!asked.output.contains("rgb:"), "{asked:?}");
    }
    let after =
        stage.yard.write(&at(&bash), chars("echo o''k\r", until("regex:(?m)^ok$"))).await.unwrap().commit();
    assert_eq!(after.ended_by, "regex", "{after:?}");
    assert!(!after.output.contains("not found"), "{after:?}");
    stage.yard.kill(&at(&bash), Some(Duration::ZERO)).await.unwrap();
}

#[tokio::test]
async fn case_q02_a_query_is_answered_once_and_where_the_cursor_was() {
    let stage = Stage::real();
    let da = run(
        &stage.yard,
        sh("stty raw -echo; printf '\\033['; printf c; head -c 9 | od -An -c", tty(), until("exit")),
    )
    .await;
    assert!(da.output.contains("?   6   2   ;   2   2   c"), "{da:?}");
    let text = "stty raw -echo; printf 'abc\\033[6nxyz'; head -c 6 | od -An -c";
    let cpr = run(&stage.yard, sh(text, tty(), until("exit"))).await;
    assert!(cpr.output.contains("033   [   1   ;   4   R"), "{cpr:?}");
    let status = "stty raw -echo; printf '\\033]7501;?\\033\\\\'; head -c 10 | od -An -c";
    let status = run(&stage.yard, sh(status, tty(), until("exit"))).await;
    assert!(status.output.contains("7   5   0   1   ;   ?"), "{status:?}");
}

#[tokio::test]
async fn case_r01_r02_the_size_is_there_before_the_program() {
    let stage = Stage::real();
    let default = run(&stage.yard, exec(&["stty", "size"], tty(), until("exit"))).await;
    assert_eq!(default.output, "24 80\r\n");
    for _ in 0..50 {
        let io = Io::Tty(Size::new(132, 50).unwrap());
        assert_eq!(run(&stage.yard, exec(&["stty", "size"], io, until("exit"))).await.output, "50 132\r\n");
    }
}

#[tokio::test]
async fn case_a04_a06_a07_the_screen_is_what_a_person_sees() {
    let stage = Stage::real();
    let bars = run(
        &stage.yard,
        sh(r#"for i in $(seq 1 100); do printf "\r%3d%%" $i; done; echo"#, tty(), until("exit")),
    )
    .await;
    assert_eq!(screen_lines(&stage.yard, &bars).await[0], "100%");
    let alt = run(
        &stage.yard,
        sh(
            r#"printf "\033[?1049h"; seq 1 100; read _; printf "\033[?1049l"; echo back"#,
            tty(),
            until("regex:100"),
        ),
    )
    .await;
    let inside = stage.yard.screen(&at(&alt), 100).await.unwrap();
    assert!(inside.modes["alt_screen"] && inside.lines.iter().any(|line| line == "100"), "{inside:?}");
    stage.yard.write(&at(&alt), chars("\r", until("exit"))).await.map(|d| d.commit()).map(drop).unwrap();
    assert!(screen_lines(&stage.yard, &alt).await.iter().any(|line| line.ends_with("back")));
    let raw = stage.yard.read(&at(&alt), Some(0), 1 << 20).await.unwrap();
    assert!(
        String::from_utf8_lossy(&raw.data).contains("\r\n42\r\n"),
        "the history of the alternate screen is in the log"
    );
    let text = r#"printf "\033[2J\033[HProceed? 1.Yes 2.No"; for i in $(seq 1 400); do printf "\033[20;1H\033[38;2;1;2;3mspinner %4d\033[0m" $i; done"#;
    let dialog = run(&stage.yard, sh(text, tty(), until("exit"))).await;
    let lines = screen_lines(&stage.yard, &dialog).await;
    assert_eq!((lines[0].as_str(), lines[19].as_str()), ("Proceed? 1.Yes 2.No", "spinner  400"));
}

#[tokio::test]
async fn case_t02_counts_are_of_the_real_total_and_the_end_is_seen() {
    let stage = Stage::real();
    let window =
        run(&stage.yard, sh("yes 0123456789 | head -c 3000000; echo END", tty(), until("exit"))).await;
    let total = stage.yard.info(&at(&window)).unwrap().log_end;
    assert_eq!(total, 3_272_732);
    assert_eq!(window.original_token_count, Some(total.div_ceil(4)));
    assert!(window.output.ends_with("END\r\n"));
    let small = WindowSpec { max_tokens: Some(250), ..until("exit") };
    let python = run(
        &stage.yard,
        ExecSpec { window: small, ..exec(&["python3", "-c", "print('\u{e9}'*100000)"], PIPES, brief()) },
    )
    .await;
    assert!(python.output.len() <= 1_000, "case U06: a cap is in bytes, not characters");
    assert_eq!(python.original_token_count, Some(200_001u64.div_ceil(4)));
}

#[tokio::test]
async fn case_v02_z07_the_caller_s_path_counts_and_a_list_tells_all() {
    let stage = Stage::real();
    let bin = stage.directory.path().join("mybin");
    std::fs::create_dir(&bin).unwrap();
    let tool = bin.join("mytool");
    std::fs::write(&tool, "#!/bin/sh\necho mine\n").unwrap();
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let spec = ExecSpec {
        caller_env: [("PATH".to_owned(), path.clone())].into(),
        ..exec(&["mytool"], PIPES, until("exit"))
    };
    assert_eq!(run(&stage.yard, spec).await.output, "mine\n");
    let spec = ExecSpec {
        caller_env: [("PATH".to_owned(), path)].into(),
        env: [("SECRET".to_owned(), "hush".to_owned())].into(),
        name: Some("sleeper".to_owned()),
        ..exec(&["sleep", "600"], tty(), brief())
    };
    let sleeper = run(&stage.yard, spec).await;
    let info = stage.yard.info(&"sleeper".parse().unwrap()).unwrap();
    assert_eq!((info.id, info.argv.len(), info.exit.clone()), (sleeper.id, 2, None));
    assert_eq!(info.env["SECRET"], None, "a value the caller gave is never shown");
    assert_eq!(info.env["TERM"].as_deref(), Some("xterm-256color"));
    for name in ["ptyard.db", "ptyard.db-wal"] {
        let written = std::fs::read(stage.directory.path().join("state").join(name)).unwrap();
        assert!(!written.windows(4).any(|bytes| bytes == b"hush"), "a secret is in {name}");
    }
    stage.yard.kill(&at(&sleeper), Some(Duration::ZERO)).await.unwrap();
}

#[tokio::test]
async fn a_repl_answers_at_its_prompt_not_at_a_deadline() {
    let stage = Stage::real();
    let python = run(&stage.yard, exec(&["python3", "-q"], tty(), until("prompt"))).await;
    assert_eq!(python.ended_by, "prompt", "{python:?}");
    let answer = stage.yard.write(&at(&python), chars("6*7\r", until("regex:42"))).await.unwrap().commit();
    assert_eq!(answer.ended_by, "regex");
    let exit = stage.yard.write(&at(&python), chars("exit()\r", until("exit"))).await.unwrap().commit();
    assert_eq!(code(&exit), Some(0));
}

#[tokio::test]
async fn a_key_types_once_and_other_input_under_it_is_refused() {
    let stage = Stage::real();
    let cat = run(&stage.yard, exec(&["cat"], tty(), brief())).await;
    let keyed = |text: &str| WriteSpec { key: Some("k1".to_owned()), ..chars(text, until("quiet:80")) };
    let first = stage.yard.write(&at(&cat), keyed("once\r")).await.unwrap().commit();
    assert_eq!(first.output, "once\r\nonce\r\n");
    let again =
        stage.yard.write(&at(&cat), WriteSpec { window: brief(), ..keyed("once\r") }).await.unwrap().commit();
    assert_eq!((again.output.as_str(), again.written), ("", Some(5)));
    let other = stage.yard.write(&at(&cat), keyed("twice\r")).await.err().unwrap();
    assert_eq!(other.code(), ptyard_core::ErrorCode::KeyConflict);
    stage.yard.kill(&at(&cat), Some(Duration::ZERO)).await.unwrap();
}

#[tokio::test]
async fn ended_terminals_are_found_by_the_next_server_with_their_logs() {
    let stage = Stage::real();
    let done = run(&stage.yard, sh("echo kept; exit 9", tty(), until("exit"))).await;
    let running = run(&stage.yard, sh("echo was here; sleep 600", tty(), until("regex:here"))).await;
    stage.yard.shutdown().await;
    let state = stage.directory.path().join("state");
    let Stage { yard, directory, .. } = stage;
    drop(yard);
    let again = async {
        loop {
            match Yard::open(ptyard_yard::YardConfig::new(&state)) {
                Ok(yard) => break yard,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let yard = soon("the lock is free", again).await;
    let info = yard.info(&at(&done)).unwrap();
    assert_eq!(info.exit.and_then(|exit| exit.code), Some(9));
    assert_eq!(yard.read(&at(&done), Some(0), 100).await.unwrap().data, b"kept\r\n");
    let stopped = yard.info(&at(&running)).unwrap().exit.unwrap();
    assert_eq!((stopped.cause, stopped.by.as_deref()), (Cause::Killed, Some("stop")));
    let looked = yard.screen(&at(&running), 0).await.unwrap();
    assert_eq!(looked.lines[0], "was here");
    drop(directory);
}
