//! The screen of real programs, as the field's reports describe it going wrong.

use ptyard_core::{ErrorCode, Size};
use ptyard_terminal::backend::Io;
use ptyard_yard::{ScreenView, Window, Yard};

use crate::stage::{Stage, at, chars, kill, log, run, sh, tty, until, write};

fn size(cols: i64, rows: i64) -> Io {
    Io::Tty(Size::new(cols, rows).unwrap())
}

async fn screen(yard: &Yard, window: &Window) -> ScreenView {
    yard.screen(&at(window), 0).await.unwrap()
}

#[tokio::test]
async fn case_a02_sequences_of_every_form_leave_only_text() {
    let stage = Stage::real();
    let script = r"printf '\033[38:2::255:0:0mX\033[0m\033[<1;2M\033]8;;http://example.invalid\033\\Y\033]8;;\033\\\033P+q544e\033\\\033_app\033\\\302\2333mZ\033[38;5;1m\033(B\033]0;title\007\033^pm\033\\\n'";
    let window = run(&stage.yard, sh(script, tty(), until("exit"))).await;
    // The screen draws as terminals of UTF-8 do, which know no one-character form of a sequence: U+009B shows nothing
    // and what follows it is text.
    assert_eq!(screen(&stage.yard, &window).await.lines[0], "XY3mZ");
    let plain = stage.yard.wait(&at(&window), &["regex:^XY3mZ$".to_owned()], Some(0), None).await.unwrap();
    assert_eq!(plain.matched.as_deref(), Some("XY3mZ"), "patterns see the same text");
}

#[tokio::test]
async fn case_a05_a_look_inside_an_update_shows_the_frame_before() {
    let stage = Stage::real();
    let script = r#"stty -echo; printf old; read _; printf "\033[?2026h\033[2J\033[H"; printf new; echo begun >&2; read _; printf "\033[?2026l""#;
    let window = run(&stage.yard, sh(script, tty(), until("regex:old"))).await;
    assert_eq!(screen(&stage.yard, &window).await.lines[0], "old");
    write(&stage.yard, &window, chars("\r", until("regex:new"))).await;
    let inside = screen(&stage.yard, &window).await;
    assert!(inside.lines[0] == "old" || inside.modes["frame_incomplete"], "{inside:?}");
    write(&stage.yard, &window, chars("\r", until("exit"))).await;
    let after = screen(&stage.yard, &window).await;
    assert!(after.lines[0].starts_with("new") && !after.modes["frame_incomplete"], "{after:?}");
}

#[tokio::test]
async fn case_a09_a10_r07_wide_text_survives_every_size_there_is() {
    let stage = Stage::real();
    let script = "stty -echo; echo up; while read line; do printf '12345678中文👩‍💻é\\r\\n%s' \"$line\"; done";
    let window = run(&stage.yard, sh(script, size(10, 3), until("quiet:30"))).await;
    for (cols, rows) in [(9, 3), (2, 1), (3, 1), (1000, 1000), (2, 1000), (1000, 1), (10, 3)] {
        stage.yard.resize(&at(&window), Size::new(cols, rows).unwrap()).await.unwrap();
        write(&stage.yard, &window, chars("\x1b[1;9Hx\x1b[1;9H\x1b[1K\r", until("quiet:30"))).await;
        let view = screen(&stage.yard, &window).await;
        assert_eq!((i64::from(view.size.cols()), i64::from(view.size.rows())), (cols, rows));
        assert!(view.lines.len() <= rows as usize);
    }
    for (cols, rows) in
        [(1, 1), (0, 0), (1, 24), (80, 0), (65_535, 65_535), (-5, 3), (i64::MAX, i64::MIN), (1001, 2)]
    {
        assert!(Size::new(cols, rows).is_err(), "{cols}x{rows}");
    }
    kill(&stage.yard, &window).await;
    let pipes = run(&stage.yard, sh("sleep 600", crate::stage::PIPES, crate::stage::brief())).await;
    assert_eq!(stage.yard.resize(&at(&pipes), Size::DEFAULT).await.unwrap_err().code(), ErrorCode::NotATty);
    kill(&stage.yard, &pipes).await;
}

#[tokio::test]
async fn case_a12_absurd_parameters_cost_nothing() {
    let stage = Stage::real();
    for sequence in [
        r"\033[99999999999999999999C",
        r"\033[65535;65535H",
        r"\033[65535L\033[65535M\033[65535P\033[65535@",
        r"\033[65535S\033[65535T",
        r"\033[5;2r\033[0;0r\033[99999;99999r",
        r"\033[8;60000;60000t",
        r"\033[65535b",
        r"\033[?99999999h\033[-1A\033[;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;m",
    ] {
        let script = format!("printf 'a{sequence}\\033[rX\\r\\nstill\\n'");
        let window = run(&stage.yard, sh(&script, tty(), until("exit"))).await;
        let view = screen(&stage.yard, &window).await;
        assert!(view.lines.iter().any(|line| line.starts_with("still")), "{sequence}: {view:?}");
        assert_eq!(view.size, Size::DEFAULT);
    }
}

/// Where the terminal says its cursor is after `text`, and where the screen shows it.
async fn columns(stage: &Stage, text: &str) -> (u32, u32, String) {
    let script = format!(
        "stty raw -echo; printf '%s\\033[6n' '{text}'; IFS= read -r -d R answer; printf '%s' \"${{answer##*;}}\" > col; echo; read _ < gate"
    );
    let gate = stage.directory.path().join("gate");
    let _exists = std::process::Command::new("mkfifo").arg(&gate).status().unwrap();
    let spec = ptyard_yard::ExecSpec {
        cwd: Some(stage.directory.path().to_owned()),
        ..crate::stage::exec(&["bash", "-c", &script], tty(), until("regex:\\n"))
    };
    let window = run(&stage.yard, spec).await;
    let view = screen(&stage.yard, &window).await;
    let told = std::fs::read_to_string(stage.directory.path().join("col")).unwrap();
    kill(&stage.yard, &window).await;
    (told.trim().parse().unwrap(), view.cursor_col + 1, view.lines[0].clone())
}

#[tokio::test]
async fn case_w01_w04_emoji_take_two_cells_on_the_screen_and_in_cursor_reports() {
    let stage = Stage::real();
    for (text, cells) in [
        ("abc", 3),
        ("中文", 4),
        ("e\u{301}x", 2),
        ("👨‍👩‍👧‍👦|", 3),
        ("👋🏽|", 3),
        ("👩‍💻👩‍💻|", 5),
        ("❤\u{fe0f}|", 3),
        ("🇩🇪|", 3),
    ] {
        let (told, shown, line) = columns(&stage, text).await;
        assert_eq!(told, cells + 1, "{text}: the report");
        assert_eq!(line, text, "no text is lost");
        assert_eq!(shown, told, "{text}: screen and report agree");
    }
}

#[tokio::test]
async fn case_w05_no_half_of_a_wide_character_stays() {
    let stage = Stage::real();
    for (script, line) in [
        (r"printf '中\033[1;2Hx'", " x"),
        (r"printf '中\033[1;1Hx'", "x"),
        (r"printf '中文\033[1;2Hxy'", " xy"),
        (r"printf '中\033[1;2H\033[K'", ""),
        (r"printf '中a\033[1;1H\033[P'", " a"),
        (r"printf '👩‍💻z\033[1;2H.'", " .z"),
    ] {
        let window = run(&stage.yard, sh(script, tty(), until("exit"))).await;
        assert_eq!(screen(&stage.yard, &window).await.lines[0], line, "{script}");
    }
}

#[tokio::test]
async fn case_a04_a07_bars_and_spinners_of_any_length_leave_their_last_state() {
    let stage = Stage::real();
    let script = r#"printf "\033[2J\033[HProceed? 1.Yes 2.No\033[3;1H"; for i in $(seq 1 20000); do printf "\r\033[38;2;1;2;3m%5d of 20000\033[0m\033[K" $i; done"#;
    let window = run(&stage.yard, sh(script, tty(), until("exit"))).await;
    let view = screen(&stage.yard, &window).await;
    assert_eq!((view.lines[0].as_str(), view.lines[2].as_str()), ("Proceed? 1.Yes 2.No", "20000 of 20000"));
    let raw = log(&stage.yard, &window).await;
    assert_eq!(String::from_utf8_lossy(&raw).matches(" of 20000").count(), 20_000, "the log has every state");
}

#[tokio::test]
async fn case_r01_r02_sizes_reach_every_kind_of_program_at_once_and_later() {
    let stage = Stage::real();
    for (cols, rows) in [(80, 24), (2, 1), (1000, 1000), (132, 50)] {
        let window = run(
            &stage.yard,
            sh("stty -echo; stty size; read _; stty size", size(cols, rows), until("regex:\\n")),
        )
        .await;
        assert_eq!(window.output, format!("{rows} {cols}\r\n"));
        stage.yard.resize(&at(&window), Size::new(97, 31).unwrap()).await.unwrap();
        let after = write(&stage.yard, &window, chars("\r", until("exit"))).await;
        assert_eq!(after.output, "31 97\r\n");
        assert_eq!(stage.yard.info(&at(&window)).unwrap().size, Size::new(97, 31).unwrap());
    }
}
