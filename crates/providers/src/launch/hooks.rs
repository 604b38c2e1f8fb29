//! Settings with hooks.

use serde_json::{Map, json};

use crate::signals::{CLAUDE_EVENTS, HookWords};

/// How long the program waits for a hook, in seconds: longer than it takes on a loaded machine, and no turn is lost on one
/// that hangs.
const PATIENCE_S: u32 = 10;

/// Settings by which `hook`, and the word for these words behind it, is run for every event that says something of a turn.
pub(super) fn settings(words: HookWords, hook: &[String]) -> String {
    let argv = hook.iter().map(String::as_str).chain([words.as_str()]);
    let command = argv.map(quoted).collect::<Vec<_>>().join(" ");
    match words {
        HookWords::Claude => {
            let entry = json!([{"hooks": [{"type": "command", "command": command, "timeout": PATIENCE_S}]}]);
            let hooks: Map<_, _> =
                CLAUDE_EVENTS.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
            json!({ "hooks": hooks }).to_string()
        }
    }
}

/// As one word of a shell: the program gives the line to one.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
