//! What a program tells its hooks: programs that it runs when something happens to a turn.

use ptyard_core::turn::{Rule, Status};
use serde_json::Value;

/// In which words a program tells its hooks what happened, which is also the shape in which it is given them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookWords {
    /// Those of Claude Code: a document with `hook_event_name`. Codex, Qwen Code and Kimi Code took them over.
    Claude,
    /// Those of Gemini CLI: the same document, with events of other names.
    Gemini,
    /// Those of Copilot CLI: a document that does not name its event.
    Copilot,
}

impl HookWords {
    const ALL: [Self; 3] = [Self::Claude, Self::Gemini, Self::Copilot];

    /// The word for it, in manifests and on command lines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
        }
    }

    /// The events that a hook is asked for: a text is taken, a turn may be over. A question is none of them: it may be
    /// dismissed, and no event says so; reports and the screen show questions, and that they are gone.
    #[must_use]
    pub const fn events(self) -> [&'static str; 2] {
        match self {
            Self::Claude => ["UserPromptSubmit", "Stop"],
            Self::Gemini => ["BeforeAgent", "AfterAgent"],
            Self::Copilot => ["userPromptSubmitted", "agentStop"],
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
        Self::ALL.into_iter().find(|words| words.as_str() == word).ok_or(NoHookWords)
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

/// Reads what a hook was told; `None` when that says nothing of a turn.
#[must_use]
pub fn read_hook(words: HookWords, told: &Value) -> Option<HookSaid> {
    let text = |key: &str| told.get(key)?.as_str();
    let [prompt, stop] = words.events();
    let event = match words {
        HookWords::Claude | HookWords::Gemini => text("hook_event_name")?,
        // Only one of its events has a prompt, and only the other one a reason.
        HookWords::Copilot if told.get("prompt").is_some() => prompt,
        HookWords::Copilot => text("stopReason").map(|_| stop)?,
    };
    let said = |status, rule| HookSaid { status, rule: Rule::named(rule), prompt: None };
    if event == prompt {
        let prompt = words_of(told.get("prompt")?)?;
        Some(HookSaid { prompt: Some(prompt), ..said(Status::Processing, "hook.prompt") })
    } else {
        // Another hook may have it go on, so this is not yet the end: it is only not known any more that it works.
        (event == stop).then(|| said(Status::Unknown, "hook.stop"))
    }
}

/// A prompt as text: Kimi Code hands over the parts of a message.
fn words_of(prompt: &Value) -> Option<String> {
    match prompt {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
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
        let parts =
            json!([{"type": "text", "text": "do "}, {"type": "image"}, {"type": "text", "text": "it"}]);
        let begun = read(json!({"hook_event_name": "UserPromptSubmit", "prompt": parts})).unwrap();
        assert_eq!(begun.prompt.as_deref(), Some("do it"));
        let stopped = read(json!({"hook_event_name": "Stop", "stop_hook_active": false})).unwrap();
        assert_eq!((stopped.status, stopped.prompt), (Status::Unknown, None));
    }

    #[test]
    fn each_program_is_heard_in_its_own_words_alone() {
        let begun = [
            (HookWords::Claude, json!({"hook_event_name": "UserPromptSubmit", "prompt": "p"})),
            (HookWords::Gemini, json!({"hook_event_name": "BeforeAgent", "prompt": "p"})),
            (HookWords::Copilot, json!({"sessionId": "s", "prompt": "p"})),
        ];
        let over = [
            (HookWords::Claude, json!({"hook_event_name": "Stop"})),
            (HookWords::Gemini, json!({"hook_event_name": "AfterAgent", "prompt_response": "r"})),
            (HookWords::Copilot, json!({"sessionId": "s", "stopReason": "end_turn"})),
        ];
        for (words, told) in begun {
            assert_eq!(read_hook(words, &told).and_then(|said| said.prompt).as_deref(), Some("p"), "{told}");
        }
        for (words, told) in over {
            assert_eq!(read_hook(words, &told).map(|said| said.status), Some(Status::Unknown), "{told}");
        }
        assert_eq!(read_hook(HookWords::Gemini, &json!({"hook_event_name": "Stop"})), None);
        assert_eq!(read_hook(HookWords::Claude, &json!({"hook_event_name": "AfterAgent"})), None);
        assert_eq!(read_hook(HookWords::Copilot, &json!({"prompt": 1, "stopReason": "x"})), None);
        assert_eq!(read_hook(HookWords::Copilot, &json!({"reason": "complete"})), None);
        for words in HookWords::ALL {
            assert_eq!(words.as_str().parse(), Ok(words));
        }
    }

    #[test]
    fn what_says_nothing_of_the_turn_is_passed_over() {
        for told in [
            json!({"hook_event_name": "SubagentStop", "stop_hook_active": false}),
            json!({"hook_event_name": "UserPromptSubmit", "prompt": 1}),
            json!({"hook_event_name": "UserPromptSubmit", "prompt": [{"type": "image"}]}),
            json!({"hook_event_name": ["Stop"]}),
            json!({}),
            json!("Stop"),
            Value::Null,
        ] {
            assert_eq!(read_hook(HookWords::Claude, &told), None, "{told}");
        }
        assert!("other".parse::<HookWords>().is_err());
    }
}
