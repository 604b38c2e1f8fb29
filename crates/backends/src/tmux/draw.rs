//! What a pane shows, for a log that does not have what it printed.
//!
//! The server keeps what a pane shows and not the bytes that led to it, so what was printed while nobody listened is
//! known only as far as it can still be seen. It is drawn into the log as output that leads to the same screen, behind
//! a line that says what it is.

use std::fmt::Write;

use super::link::{Follow, Followed, Link, TmuxError};
use super::protocol::Pane;

/// Lines of a pane's history that come with it when it is taken over.
const HISTORY_LINES: u32 = 10_000;

/// How much of what went by is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    /// All there is, up to [`HISTORY_LINES`].
    Whole,
    /// Only what can be seen now: the log has most of the rest.
    None,
}

/// What has to be known of a screen besides its rows.
const STATE: &str = "'#{cursor_x} #{cursor_y} #{alternate_on} #{cursor_flag} #{keypad_cursor_flag} #{keypad_flag} #{history_size}'";

/// Follows a pane, and gives what it shows at that very moment.
pub(super) async fn follow(
    link: &Link,
    pane: Pane,
    words: &str,
    history: History,
) -> Result<(Vec<u8>, Followed), TmuxError> {
    let [named, earlier, rows, state] = link
        .ask_at_once([
            (format!("display-message -p -t {pane} '#{{pane_id}}'"), Follow::Named),
            (format!("capture-pane -p -e -J -S -{HISTORY_LINES} -E -1 -t {pane}"), Follow::Nothing),
            (format!("capture-pane -p -e -t {pane}"), Follow::Nothing),
            (format!("display-message -p -t {pane} {STATE}"), Follow::Nothing),
        ])
        .await;
    let followed = named?.followed.ok_or_else(|| TmuxError::Refused("the pane is not there".to_owned()))?;
    let (earlier, state) = (earlier?.text, state?.text);
    // Without history the server answers with the first row of the screen.
    let has_history = state.split_whitespace().last().is_some_and(|lines| lines != "0");
    let earlier = if has_history && history == History::Whole { earlier } else { String::new() };
    Ok((drawn(words, &earlier, &rows?.text, &state), followed))
}

/// Output that leads to this screen.
fn drawn(words: &str, earlier: &str, rows: &str, state: &str) -> Vec<u8> {
    let mut numbers = state.split_whitespace().map(|word| word.parse::<u32>().unwrap_or(0));
    let mut number = || numbers.next().unwrap_or(0);
    let (column, row, is_alternate) = (number() + 1, number() + 1, number() == 1);
    let (shows_cursor, cursor_keys, keypad) = (number() == 1, number() == 1, number() == 1);
    // Whatever stood before is left: an alternate screen, a pen, a line that was begun.
    let mut text = format!("\x1b[?1049l\x1b[0m\r\n[ptyard: {words}]\r\n");
    for line in earlier.lines() {
        let _infallible = write!(text, "{line}\x1b[0m\r\n");
    }
    if is_alternate {
        text += "\x1b[?1049h\x1b[H";
    }
    let rows: Vec<&str> = rows.strip_suffix('\n').unwrap_or(rows).split('\n').collect();
    text += &rows.join("\x1b[0m\r\n");
    let _infallible = write!(text, "\x1b[0m\x1b[{row};{column}H");
    text += if shows_cursor { "\x1b[?25h" } else { "\x1b[?25l" };
    text += if cursor_keys { "\x1b[?1h" } else { "\x1b[?1l" };
    text += if keypad { "\x1b=" } else { "\x1b>" };
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_cursor_come_behind_a_line_that_says_what_they_are() {
        let drawn = String::from_utf8(drawn("as found", "old\n", "$ a\n\n", "3 0 0 1 0 0 1")).unwrap();
        let at = |text: &str| drawn.find(text).unwrap_or_else(|| panic!("{text:?} is not in {drawn:?}"));
        assert!(at("[ptyard: as found]") < at("old") && at("old") < at("$ a"), "{drawn:?}");
        assert!(at("$ a") < at("\x1b[1;4H"), "{drawn:?}");
        assert!(!drawn.contains("\x1b[?1049h"), "{drawn:?}");
    }
}
