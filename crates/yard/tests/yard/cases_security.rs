//! Output that tries to become input, or to reach out of its terminal.

use std::time::Duration;

use ptyard_yard::WindowSpec;

use crate::stage::{Stage, at, bash, chars, exec, kill, log, poll, run, sh, tty, until, wait, write};

/// Everything a terminal may be asked.
const QUESTIONS: [&str; 16] = [
    r"\033[c",
    r"\033[>c",
    r"\033[=c",
    r"\033[5n",
    r"\033[6n",
    r"\033[?6n",
    r"\033[>q",
    r"\033[?u",
    r"\033[?2004$p",
    r"\033[18t",
    r"\033]10;?\a",
    r"\033]11;?\033\\",
    r"\033]4;1;?\a",
    r"\033P+q544e\033\\",
    r"\033P$qm\033\\",
    r"\033]7501;?\033\\",
];

/// A window of so many milliseconds, whatever is printed.
fn after(yield_ms: i64) -> WindowSpec {
    WindowSpec { yield_ms: Some(yield_ms), ..until("exit") }
}

#[tokio::test]
async fn case_sec01_no_answer_to_a_program_that_is_gone_reaches_a_shell() {
    let stage = Stage::real();
    for shell in [&["bash", "--norc", "--noprofile", "-i"][..], &["dash", "-i"], &["python3", "-q"], &["cat"]]
    {
        let window = run(&stage.yard, exec(shell, tty(), after(600))).await;
        for question in QUESTIONS {
            let line = match shell[0] {
                // Its line editor marks nothing, so that a command ran is known only while one runs: it stays a moment.
                "python3" => format!("import os; _ = os.system(r\"printf '{question}'; sleep .1\")\r"),
                "cat" => format!(
                    "{}\r",
                    question.replace("\\033", "\x1b").replace("\\a", "\x07").replace("\\\\", "\\")
                ),
                _ => format!("/usr/bin/printf '{question}'\r"),
            };
            write(&stage.yard, &window, chars(&line, until("quiet:120"))).await;
        }
        // Longer than any answer is waited with.
        write(&stage.yard, &window, poll(after(300))).await;
        let marker = match shell[0] {
            "python3" => ("print('o'+'k')\r", "regex:^ok$"),
            "cat" => ("ok\r", "regex:ok\\s+ok"),
            _ => ("echo o''k\r", "regex:^ok$"),
        };
        let before = log(&stage.yard, &window).await.len();
        let ok = write(&stage.yard, &window, chars(marker.0, until(marker.1))).await;
        assert_eq!(ok.ended_by, "regex", "{shell:?}: {ok:?}");
        let all = String::from_utf8_lossy(&log(&stage.yard, &window).await).into_owned();
        for sign in ["not found", "Syntax error", "SyntaxError", "rgb:", "62;22", "syntax error"] {
            assert!(!all.contains(sign), "{shell:?} {sign} (of {before}): {all:?}");
        }
        kill(&stage.yard, &window).await;
    }
}

/// Blocks this thread, and with it the terminal's actor, until the line editor of the program reads again and `marker` is
/// there: whatever was printed meanwhile is read late.
fn block_until_the_prompt_is_back(pid: u32, marker: &std::path::Path) {
    let began = std::time::Instant::now();
    loop {
        let tty = format!("/proc/{pid}/fd/0");
        let settings = std::process::Command::new("stty").args(["-F", &tty, "-a"]).output().unwrap();
        let settings = String::from_utf8_lossy(&settings.stdout).into_owned();
        if marker.exists() && settings.contains("-icanon") && settings.contains("lnext = <undef>") {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "the prompt is not back: {settings}");
    }
}

#[tokio::test]
async fn case_sec01_a_question_that_is_read_when_the_prompt_is_back_is_not_answered() {
    for shell in [&["bash", "--norc", "--noprofile", "-i"][..], &["python3", "-q"]] {
        let stage = Stage::real();
        let window = run(&stage.yard, exec(shell, tty(), until("regex:[>$#] $"))).await;
        assert_eq!(window.ended_by, "regex", "{window:?}");
        let pid = stage.yard.info(&at(&window)).unwrap().pid.unwrap();
        for (round, question) in
            [r"\033[c", r"\033[6n", r"\033[5n", r"\033]11;?\007"].into_iter().cycle().take(12).enumerate()
        {
            let marker = stage.directory.path().join(format!("done-{round}"));
            let shown = marker.display();
            // By a program of its own and by the shell itself.
            let line = match (shell[0], round % 2) {
                ("bash", 0) => format!("/usr/bin/printf '{question}'; touch {shown}\r"),
                ("bash", _) => format!("printf '{question}'; touch {shown}\r"),
                (_, 0) => format!("import os; _ = os.system(r\"printf '{question}'; touch {shown}\")\r"),
                _ => format!("print('{question}', end='', flush=True); open('{shown}', 'w').close()\r"),
            };
            stage.yard.type_bytes(&at(&window), line.into_bytes()).await.unwrap();
            block_until_the_prompt_is_back(pid, &marker);
            let before = log(&stage.yard, &window).await.len() as u64;
            let ready = wait(&stage.yard, &window, "quiet:100", Some(before.saturating_sub(1)), 20_000).await;
            assert_eq!(ready.ended_by, "quiet");
        }
        write(&stage.yard, &window, poll(after(300))).await;
        let marker = if shell[0] == "bash" { "echo o''k\r" } else { "print('o'+'k')\r" };
        let ok = write(&stage.yard, &window, chars(marker, until("regex:^ok$"))).await;
        assert_eq!(ok.ended_by, "regex", "{shell:?}: {ok:?}");
        let all = String::from_utf8_lossy(&log(&stage.yard, &window).await).into_owned();
        for sign in ["not found", "SyntaxError", "syntax error", "rgb:", "62;22", "[0n"] {
            assert!(!all.contains(sign), "{shell:?}: {sign} in {all:?}");
        }
        kill(&stage.yard, &window).await;
    }
}

#[tokio::test]
async fn case_sec02_the_clipboard_is_neither_read_nor_kept_and_the_try_is_an_event() {
    let stage = Stage::real();
    let script = r"stty raw -echo; printf '\033]52;c;UFdORUQ=\007\033]52;c;?\007\033]52;p;?\033\\\033[5n'; head -c 4 | od -An -c";
    let window = run(&stage.yard, sh(script, tty(), until("exit"))).await;
    assert!(
        window.output.contains("033   [   0   n"),
        "the only answer is that of the question after: {window:?}"
    );
    let mut events = stage.yard.events(Some(0));
    let mut told = 0;
    while let Some(event) = events.next_kept().await {
        if event.kind == "clipboard" {
            assert_eq!(
                (event.data["policy"].as_str(), event.data["encoded_len"].as_u64()),
                (Some("dropped"), Some(8))
            );
            assert!(!event.data.to_string().contains("UFdO"));
            told += 1;
        }
    }
    assert_eq!(told, 1);
    let view = stage.yard.screen(&at(&window), 100).await.unwrap();
    assert!(!view.ansi.contains("]52;"), "a screen drawn again does not write to a clipboard");
}

#[tokio::test]
async fn case_sec03_what_output_named_never_comes_back_as_input() {
    let stage = Stage::real();
    for report in [r"\033[21t", r"\033[20t", r"\033]L\007\033[21t", r"\005", r"\033P$qr\033\\"] {
        let shell = bash(&stage).await;
        let line = format!("printf '\\033]2;touch PWNED\\007\\033]1;touch PWNED\\007{report}'\r");
        write(&stage.yard, &shell, chars(&line, until("quiet:200"))).await;
        write(&stage.yard, &shell, chars("\r", until("quiet:100"))).await;
        let works = write(&stage.yard, &shell, chars("echo o''k\r", until("regex:^ok$"))).await;
        assert_eq!(works.ended_by, "regex", "{report}: {works:?}");
        assert!(!stage.directory.path().join("PWNED").exists(), "{report}");
        assert!(!works.output.contains("not found"), "{report}: {works:?}");
        stage.yard.kill(&at(&shell), Some(Duration::ZERO)).await.unwrap();
        // Nor to a program that reads raw keys and would take what comes.
        let script = format!(
            "stty raw -echo; printf '\\033]2;touch PWNED\\007{report}\\033[5n'; head -c 4 | od -An -c"
        );
        let raw = run(&stage.yard, sh(&script, tty(), until("exit"))).await;
        assert!(!raw.output.contains("t   o   u   c"), "{report}: {raw:?}");
    }
}
