//! Hooks as a program is given them: which events, in which shape, and the line of a shell behind them.

use serde_json::{Map, Value, json};

use crate::signals::HookWords;

/// The edition of what stands in other programs' files, written into every entry: a later one finds it, and what it has
/// to replace.
pub const HOOK_EDITION: u32 = 1;

/// What every entry ends with, before its edition.
const MARK: &str = " --entry ptyard-";

/// The line of a shell that `program` is told by, in these words.
///
/// Outside our terminals it does nothing, not even look for the program: settings of a user are there for every run of a
/// CLI, and may outlive us. Which terminal it speaks for, its token and the state directory stand in the environment,
/// which hooks inherit.
#[must_use]
pub fn hook_line(words: HookWords, program: &str) -> String {
    let program = format!("'{}'", program.replace('\'', r"'\''"));
    format!(r#"[ -z "$PTYARD_TOKEN" ] || {program} hook {}{MARK}{HOOK_EDITION}"#, words.as_str())
}

/// The edition of a line that [`hook_line`] made, now or in an earlier version; `None` for any other line.
#[must_use]
pub fn hook_edition(line: &str) -> Option<u32> {
    let (before, edition) = line.rsplit_once(MARK)?;
    let (before, words) = before.rsplit_once(' ')?;
    let is_ours = before.ends_with("' hook") && words.parse::<HookWords>().is_ok();
    (is_ours && edition.bytes().all(|byte| byte.is_ascii_digit())).then(|| edition.parse().ok())?
}

/// What stands in the list of one event, for `line` to be run. No limit of time: programs count it in different units, and
/// ours ends by itself.
#[must_use]
pub fn hook_entry(words: HookWords, line: &str) -> Value {
    match words {
        HookWords::Claude | HookWords::Gemini => json!({"hooks": [{"type": "command", "command": line}]}),
        HookWords::Copilot => json!({"type": "command", "bash": line}),
    }
}

/// Settings by which `program` is told of every event that says something of a turn.
pub(super) fn settings(words: HookWords, program: &str) -> String {
    let line = hook_line(words, program);
    let hooks: Map<_, _> =
        words.events().iter().map(|event| ((*event).to_owned(), json!([hook_entry(words, &line)]))).collect();
    json!({ "hooks": hooks }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_known_again_and_no_other_is() {
        for words in [HookWords::Claude, HookWords::Gemini, HookWords::Copilot] {
            for program in ["/opt/ptyard", "/opt/it's/a \"b\" $c/ptyard", "' hook claude --entry ptyard-7"] {
                let line = hook_line(words, program);
                assert_eq!(hook_edition(&line), Some(HOOK_EDITION), "{line}");
                let later = format!("{}31", line.strip_suffix('1').unwrap());
                assert_eq!(hook_edition(&later), Some(31));
                assert_eq!(hook_edition(&format!("{line} ")), None);
                assert_eq!(hook_edition(&format!("{line};rm")), None);
            }
        }
        for line in [
            "",
            "ptyard hook claude",
            "'/x/ptyard' hook claude --entry ptyard-",
            "'/x/ptyard' hook claude --entry ptyard-+1",
            "'/x/ptyard' hook nobody --entry ptyard-1",
            "'/x/ptyard' list claude --entry ptyard-1",
            "echo claude --entry ptyard-1",
            "'/x/ptyard' hook claude --entry ptyard-99999999999999999999",
        ] {
            assert_eq!(hook_edition(line), None, "{line}");
        }
    }
}
