//! R1 to R4: characters and windows.

use ptyard_core::Exit;

use crate::stage::{BOTH, Stage};

#[tokio::test(start_paused = true)]
async fn r01_a_character_split_across_windows_is_one_character() {
    for io in BOTH {
        let stage = Stage::new(io).await;
        stage.print(b"h\xc3").await;
        let first = stage.window().await;
        assert_eq!((first.text.as_str(), first.next), ("h", 1), "the held byte is not yet part of a window");
        stage.print(b"\xa9llo\n").await;
        assert_eq!(stage.window().await.text, "éllo\n");
    }
}

#[tokio::test(start_paused = true)]
async fn r01_every_split_of_every_width() {
    let whole = "aé☃𝄞b".as_bytes();
    for io in BOTH {
        for split in 0..=whole.len() {
            let stage = Stage::new(io).await;
            stage.print(&whole[..split]).await;
            let mut text = stage.window().await.text;
            stage.print(&whole[split..]).await;
            text += &stage.window().await.text;
            assert_eq!(text.as_bytes(), whole, "split at {split}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r02_bytes_that_begin_nothing_show_in_the_window_they_came_in() {
    let leads = [0xff, 0xc0, 0xc1].into_iter().chain(0xf5..=0xfe).chain(0x80..=0xbf);
    for io in BOTH {
        let stage = Stage::new(io).await;
        for lead in leads.clone() {
            stage.print([b'x', lead]).await;
            let window = stage.window().await;
            assert_eq!(window.text, "x\u{fffd}", "{lead:02x}");
            assert_eq!(window.next, stage.terminal.progress().borrow().end, "{lead:02x} is not held");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r03_the_carry_table() {
    let table: [(&[u8], u64); 12] = [
        (b"abc", 0),
        (b"\xc3", 1),
        (b"\xe2\x82", 2),
        (b"\xf0\x9f\x98", 3),
        (b"\xe0\x80", 0),
        (b"\xe0\xa0", 2),
        (b"\xed\xa0", 0),
        (b"\xed\x9f", 2),
        (b"\xf0\x80", 0),
        (b"\xf0\x90", 2),
        (b"\xf4\x90", 0),
        (b"\x80\x80\x80", 0),
    ];
    for io in BOTH {
        for (bytes, held) in table {
            let stage = Stage::new(io).await;
            stage.print(bytes).await;
            let window = stage.window().await;
            assert_eq!(bytes.len() as u64 - window.next, held, "{bytes:02x?}");
        }
        let stage = Stage::new(io).await;
        stage.print(b"\xed\xa0").await;
        assert_eq!(stage.window().await.text, "\u{fffd}\u{fffd}");
    }
}

#[tokio::test(start_paused = true)]
async fn r04_one_rule_whatever_the_transport() {
    let bytes = b"a\xed\xa0\x80b\xf0\x80\x80\x80c\xf4\x90\x80\x80d\xfee \xe4\xb8";
    let mut texts = Vec::new();
    for io in BOTH {
        let stage = Stage::new(io).await;
        let mut text = String::new();
        for byte in bytes {
            stage.print([*byte]).await;
            text += &stage.window().await.text;
        }
        stage.script.close_output();
        stage.script.exit(Exit::exited(0));
        text += &stage.take(stage.call_open()).await.text;
        assert_eq!(text, String::from_utf8_lossy(bytes));
        texts.push(text);
    }
    assert_eq!(texts[0], texts[1]);
}
