//! Tool answers as the text models were trained on.

use std::time::Duration;

use ptyard_server::api::{ScreenReply, WindowReply};

use crate::run::{remarks, shell_code};

/// A window:
///
/// ```text
/// Chunk ID: 577be0
/// Wall time: 0.2518 seconds
/// Process exited with code 3             when it has ended; 128 + N for signal N, `unknown` when nobody knows
/// Process running with session ID 19523  when it has not
/// Original token count: 73               when the output was cut
/// Output:
/// ...
/// ```
///
/// `wall` is what the whole call took. Nothing else stands there, except a `Note:` line for what a reader must know.
pub(super) fn window(window: &WindowReply, wall: Duration) -> String {
    let mut lines = vec![
        format!("Chunk ID: {}", window.chunk_id),
        format!("Wall time: {:.4} seconds", wall.as_secs_f64()),
    ];
    if let Some(exit) = &window.exit {
        let code = shell_code(exit).map_or_else(|| "unknown".to_owned(), |code| code.to_string());
        lines.push(format!("Process exited with code {code}"));
    }
    if let Some(id) = window.session_id {
        lines.push(format!("Process running with session ID {id}"));
    }
    if let Some(count) = window.original_token_count {
        lines.push(format!("Original token count: {count}"));
    }
    lines.extend(remarks(window).into_iter().map(|remark| format!("Note: {remark}")));
    lines.push(format!("Output:\n{}", window.output));
    lines.join("\n")
}

/// A screen, with what is not visible in its rows above them.
pub(super) fn screen(screen: &ScreenReply) -> String {
    let cursor = &screen.cursor;
    let hidden = if cursor.visible { "" } else { " (hidden)" };
    let mut text = format!(
        "Screen {}x{}, cursor at row {} column {}{hidden}",
        screen.cols, screen.rows, cursor.row, cursor.col
    );
    if !screen.title.is_empty() {
        text.push_str(&format!(", title {:?}", screen.title));
    }
    if screen.scrollback > 0 {
        text.push_str(&format!(", the first {} lines are above the screen", screen.scrollback));
    }
    text.push('\n');
    text.push_str(screen.lines.join("\n").trim_end_matches('\n'));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptyard_server::api::{ExitInfo, ScreenCursor};

    fn reply(output: &str) -> WindowReply {
        WindowReply {
            id: "t00000000000000000000000000000001".into(),
            session_id: None,
            output: output.into(),
            exit: None,
            original_token_count: None,
            from: 0,
            next: 0,
            evicted: 0,
            ended_by: "deadline".into(),
            wall_ms: 0.0,
            chunk_id: "577be0".into(),
            written: None,
            unwritten: None,
            removed: None,
            warnings: vec![],
        }
    }

    fn exit(code: Option<i32>, signal: Option<i32>) -> Option<ExitInfo> {
        Some(ExitInfo { code, signal, cause: "exited".into(), by: None, descendants: 0 })
    }

    const WALL: Duration = Duration::from_micros(251_811);

    #[test]
    fn a_running_and_a_finished_window_byte_for_byte() {
        let running = WindowReply { session_id: Some(19523), ..reply("hi\n") };
        assert_eq!(
            window(&running, WALL),
            "Chunk ID: 577be0\nWall time: 0.2518 seconds\nProcess running with session ID 19523\nOutput:\nhi\n"
        );
        let finished = WindowReply { exit: exit(Some(3), None), original_token_count: Some(73), ..reply("") };
        assert_eq!(
            window(&finished, WALL),
            "Chunk ID: 577be0\nWall time: 0.2518 seconds\nProcess exited with code 3\nOriginal token count: 73\nOutput:\n"
        );
    }

    #[test]
    fn law_04_a_signal_is_128_and_more_and_an_unknown_end_is_unknown() {
        let killed = WindowReply { exit: exit(None, Some(2)), ..reply("") };
        assert!(window(&killed, WALL).contains("\nProcess exited with code 130\n"));
        let lost = WindowReply { exit: exit(None, None), ..reply("") };
        assert!(window(&lost, WALL).contains("\nProcess exited with code unknown\n"));
    }

    #[test]
    fn law_01_a_reader_is_told_of_what_it_missed() {
        let warnings = vec!["2 of 3 bytes of input were not taken".to_owned()];
        let gap = WindowReply { evicted: 7, unwritten: Some(2), written: Some(1), warnings, ..reply("x") };
        let text = window(&gap, WALL);
        assert!(text.contains("\nNote: 7 bytes of output were evicted before they were read\n"), "{text}");
        assert_eq!(text.matches("not taken").count(), 1, "told once: {text}");
        assert!(text.ends_with("\nOutput:\nx"));
    }

    #[test]
    fn a_screen_says_where_the_cursor_is() {
        let shown = ScreenReply {
            cols: 80,
            rows: 3,
            cursor: ScreenCursor { row: 1, col: 2, visible: false },
            title: "vi".into(),
            modes: std::collections::BTreeMap::new(),
            lines: vec!["a".into(), "b".into(), String::new()],
            scrollback: 0,
            offset: 9,
        };
        assert_eq!(screen(&shown), "Screen 80x3, cursor at row 1 column 2 (hidden), title \"vi\"\na\nb");
    }
}
