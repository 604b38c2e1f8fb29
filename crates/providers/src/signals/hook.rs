//! What a program tells its hooks: programs that it runs when something happens to a turn.

use ptyard_core::turn::{Rule, Status};
use serde_json::Value;

/// In which words a program tells its hooks what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookWords {
    /// Those of Claude Code: a document with `hook_event_name`.
    Claude,
}

impl HookWords {
    /// The word for it, in manifests and on command lines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
        }
    }
}

/// A word that is none of [`HookWords`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no program has hooks of this kind")]
pub struct NoHookWords;

impl std::str::FromStr for HookWords {
    type Err = NoHookWords;

    fn from_str(word: &str) -> Result<Self, NoHookWords> {
        (word == Self::Claude.as_str()).then_some(Self::Claude).ok_or(NoHookWords)
    }
}

/// Something that happened to a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSaid {
    /// What the program does from then on.
    pub status: Status,
    /// The rule that says so.
    pub rule: Rule,
    /// The prompt that began the turn, where that is what happened.
    pub prompt: Option<String>,
}

/// The events of Claude Code that a hook is asked for. A question is none of them: it may be dismissed, and no event says
/// so; reports and the screen show questions, and that they are gone.
pub(crate) const CLAUDE_EVENTS: [&str; 2] = ["UserPromptSubmit", "Stop"];

/// Reads what a hook was told; `None` when that says nothing of a turn.
#[must_use]
pub fn read_hook(words: HookWords, told: &Value) -> Option<HookSaid> {
    match words {
        HookWords::Claude => claude(told),
    }
}

fn claude(told: &Value) -> Option<HookSaid> {
    let said = |status, rule| HookSaid { status, rule: Rule::named(rule), prompt: None };
    match told.get("hook_event_name")?.as_str()? {
        "UserPromptSubmit" => {
            let prompt = told.get("prompt")?.as_str()?.to_owned();
            Some(HookSaid { prompt: Some(prompt), ..said(Status::Processing, "hook.prompt") })
        }
        // Another hook may have it go on, so this is not yet the end: it is only not known any more that it works.
        "Stop" => Some(said(Status::Unknown, "hook.stop")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_prompt_begins_a_turn_and_a_stop_makes_nothing_ready() {
        let read = |told: Value| read_hook(HookWords::Claude, &told);
        let begun = read(json!({"hook_event_name": "UserPromptSubmit", "prompt": "do it"})).unwrap();
        assert_eq!((begun.status, begun.prompt.as_deref()), (Status::Processing, Some("do it")));
        let stopped = read(json!({"hook_event_name": "Stop", "stop_hook_active": false})).unwrap();
        assert_eq!((stopped.status, stopped.prompt), (Status::Unknown, None));
    }

    #[test]
    fn what_says_nothing_of_the_turn_is_passed_over() {
        for told in [
            json!({"hook_event_name": "SubagentStop", "stop_hook_active": false}),
            json!({"hook_event_name": "UserPromptSubmit", "prompt": 1}),
            json!({"hook_event_name": ["Stop"]}),
            json!({}),
            json!("Stop"),
            Value::Null,
        ] {
            assert_eq!(read_hook(HookWords::Claude, &told), None, "{told}");
        }
        assert_eq!("claude".parse(), Ok(HookWords::Claude));
        assert!("other".parse::<HookWords>().is_err());
    }
}
