//! OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::tool::{Shell, Tool};
use super::wire::{Finder, Question, Wire, event, text_of};

pub(super) fn read(request: &Value) -> Question {
    let none = Vec::new();
    let messages = request["messages"].as_array().unwrap_or(&none);
    let is_asked = |message: &Value| message["role"] == "user" && !is_reminder(&text_of(&message["content"]));
    let at = messages.iter().rposition(is_asked);
    let prompt = at.map_or_else(String::new, |at| text_of(&messages[at]["content"]));
    let result = messages.iter().skip(at.map_or(0, |at| at + 1)).rfind(|message| message["role"] == "tool");
    let result = result.map(|message| text_of(&message["content"]));
    let tools = request["tools"].as_array().unwrap_or(&none);
    let tools: Vec<&Value> = tools.iter().map(|tool| &tool["function"]).collect();
    let shell = Shell::among(tools.iter().map(|tool| (&tool["name"], &tool["parameters"])));
    let tools = tools.iter().filter_map(|tool| Tool::named(None, tool)).collect();
    Question { prompt, result, shell, tools, finder: Finder::None, wants_stream: request["stream"] == true }
}

/// Whether it is a note of the CLI to the model, in the name of the user.
fn is_reminder(text: &str) -> bool {
    text.starts_with("<system-reminder>") && text.trim_end().ends_with("</system-reminder>")
}

pub(super) struct Chat {
    number: u64,
    model: Value,
    text: String,
    calls: Vec<Value>,
}

impl Chat {
    pub(super) fn new(request: &Value, number: u64) -> Self {
        Self { number, model: request["model"].clone(), text: String::new(), calls: Vec::new() }
    }

    fn reason(&self) -> &'static str {
        if self.calls.is_empty() { "stop" } else { "tool_calls" }
    }

    fn document(&self, object: &str, choice: &Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.number), "object": object, "created": 1_767_225_600,
            "model": self.model, "choices": [choice],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        })
    }

    fn delta(&self, delta: &Value, reason: Option<&str>) -> String {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        event(None, &self.document("chat.completion.chunk", &choice))
    }
}

impl Wire for Chat {
    fn open(&mut self) -> String {
        self.delta(&json!({"role": "assistant", "content": ""}), None)
    }

    fn text(&mut self, piece: &str) -> String {
        self.text.push_str(piece);
        self.delta(&json!({"content": piece}), None)
    }

    fn call(&mut self, tool: &Tool, arguments: &Value) -> String {
        let function = json!({"name": tool.name, "arguments": arguments.to_string()});
        let call = json!({
            "index": 0, "id": format!("call_{}", self.number), "type": "function", "function": function,
        });
        self.calls.push(call);
        self.delta(&json!({"tool_calls": self.calls}), None)
    }

    fn close(&mut self) -> String {
        format!("{}data: [DONE]\n\n", self.delta(&json!({}), Some(self.reason())))
    }

    fn whole(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.calls.is_empty() {
            message["tool_calls"] = json!(self.calls);
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": self.reason()});
        self.document("chat.completion", &choice)
    }
}
