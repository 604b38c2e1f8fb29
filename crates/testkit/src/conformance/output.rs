//! Laws 1, 2, 3 and 5: what is printed.

use std::sync::Arc;
use std::time::Duration;

use ptyard_terminal::WindowCall;

use super::stage::unique;
use super::{Ground, Verdict};

/// Prints each byte once.
const ALL_BYTES: &str = r#"i=0; while [ $i -lt 256 ]; do printf "\\$(printf %03o $i)"; i=$((i+1)); done"#;

const DRAWN: Verdict = Verdict::Weaker("as drawn");

pub(super) async fn law_01_every_byte_is_in_the_log_in_order(ground: Arc<Ground>) -> Verdict {
    if !ground.is_exact() {
        return DRAWN;
    }
    let all: Vec<u8> = (0..=255).collect();
    for io in ground.all_io() {
        let stage = ground.raw(io, &format!("{ALL_BYTES}; {ALL_BYTES}")).await;
        let (output, exit) = stage.finish().await;
        assert_eq!(output, [all.clone(), all.clone()].concat(), "{io:?}");
        assert_eq!(exit.code, Some(0), "{io:?}");
    }
    Verdict::Works
}

pub(super) async fn law_01_a_flood_arrives_whole(ground: Arc<Ground>) -> Verdict {
    if !ground.is_exact() {
        return DRAWN;
    }
    let want: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    for io in ground.all_io() {
        let (output, exit) = ground.raw(io, "seq 1 300000; exit 7").await.finish().await;
        assert_eq!(output.len(), want.len(), "{io:?}");
        assert!(output == want.as_bytes(), "{io:?}");
        assert_eq!(exit.code, Some(7), "{io:?}");
    }
    Verdict::Works
}

pub(super) async fn law_01_what_was_printed_can_be_read_again_by_offset(ground: Arc<Ground>) -> Verdict {
    let stage = ground.raw(ground.all_io()[0], "printf 'abc%sdef' '-'").await;
    let (output, _) = stage.finish().await;
    for _again in 0..2 {
        let mut bytes = Vec::new();
        let read = stage.terminal.log().read(2, 3, &mut bytes).expect("the log can be read");
        assert_eq!((read.from, bytes.as_slice()), (2, &output[2..5]));
    }
    if ground.is_exact() { Verdict::Works } else { DRAWN }
}

pub(super) async fn law_02_characters_split_by_time_are_whole(ground: Arc<Ground>) -> Verdict {
    if !ground.is_exact() {
        return DRAWN;
    }
    for io in ground.all_io() {
        let script = r"printf 'h\303'; sleep .3; printf '\251llo \360\237'; sleep .3; printf '\230\200!'";
        let stage = ground.raw(io, script).await;
        let mut text = String::new();
        loop {
            let window = stage.for_ms(40).await;
            text += &window.text;
            if let Some(exit) = window.exit {
                assert_eq!(text, "héllo 😀!", "{io:?}: {exit:?}");
                break;
            }
        }
    }
    Verdict::Works
}

pub(super) async fn law_02_what_is_no_utf8_shows_at_once(ground: Arc<Ground>) -> Verdict {
    if !ground.is_exact() {
        return DRAWN;
    }
    for io in ground.all_io() {
        let stage = ground.raw(io, r"printf 'a\377\300b\355\240c'; sleep 600").await;
        assert_eq!(stage.until("c").await, "a\u{fffd}\u{fffd}b\u{fffd}\u{fffd}c", "{io:?}");
        stage.kill(Duration::ZERO).await;
    }
    Verdict::Works
}

pub(super) async fn law_03_windows_given_up_at_any_moment_lose_nothing(ground: Arc<Ground>) -> Verdict {
    if !ground.is_exact() {
        return DRAWN;
    }
    for io in ground.all_io() {
        let script = "i=0; while [ $i -lt 60 ]; do echo é$i; i=$((i+1)); sleep .005; done";
        let stage = ground.raw(io, script).await;
        let (mut text, mut turn) = (String::new(), 0_u64);
        loop {
            turn += 1;
            let call = WindowCall { deadline: None, ..stage.call_until("quiet:1") };
            // Most windows are given up, some before they began.
            let patience = Duration::from_millis(turn % 4);
            let Ok(ready) = tokio::time::timeout(patience, stage.terminal.window(call)).await else {
                continue;
            };
            if turn.is_multiple_of(3) {
                continue;
            }
            let window = ready.expect("the log can be read").commit();
            text += &window.text;
            if window.exit.is_some() {
                break;
            }
        }
        let want: String = (0..60).map(|n| format!("é{n}\n")).collect();
        assert_eq!(text, want, "{io:?}");
    }
    Verdict::Works
}

pub(super) async fn law_05_a_capped_window_has_its_head_and_tail(ground: Arc<Ground>) -> Verdict {
    if !ground.is_exact() {
        return DRAWN;
    }
    for io in ground.all_io() {
        let stage = ground.raw(io, "seq 1 100").await;
        stage.exit().await;
        let window = stage.take(WindowCall { cap_tokens: Some(20), ..stage.call_now() }).await;
        let want =
            "Total output lines: 100\n\n1\n2\n3\n4\n5\n6\n7\n8…66 tokens truncated…6\n97\n98\n99\n100\n";
        assert_eq!(window.text, want, "{io:?}");
        assert_eq!(window.original_token_count, Some(73), "{io:?}");
    }
    Verdict::Works
}

pub(super) async fn a_silent_program_is_quiet_and_alive(ground: Arc<Ground>) -> Verdict {
    for io in ground.all_io() {
        let mark = unique();
        let stage = ground.raw(io, &format!("sleep {mark}")).await;
        let window = stage.for_ms(300).await;
        assert!(window.exit.is_none(), "{io:?}: {window:?}");
        if ground.is_exact() {
            assert_eq!(window.text, "", "{io:?}");
        }
        let killed = stage.kill(Duration::ZERO).await;
        assert_eq!(killed.report.survivors, Vec::<u32>::new(), "{io:?}");
        super::stage::all_gone(mark).await;
    }
    Verdict::Works
}
