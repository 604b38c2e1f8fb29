//! Anthropic's Messages.

use serde_json::{Value, json};

use super::tool::{Shell, Tool};
use super::wire::{Finder, Question, Wire, event, text_of};

/// The tool by which the model asks for tools that were not described to it yet.
const FINDER: &str = "ToolSearch";

/// The parts of a kind in a message.
fn parts<'m>(message: &'m Value, kind: &'static str) -> impl Iterator<Item = &'m Value> {
    let parts = message["content"].as_array().into_iter().flatten();
    parts.filter(move |part| part["type"] == kind)
}

/// The results of tools in a message.
fn results(message: &Value) -> impl Iterator<Item = &Value> {
    parts(message, "tool_result")
}

/// The prompt in a message of the user. What a CLI adds for itself is put into parts of their own, before it.
fn prompt_of(content: &Value) -> String {
    let Some(parts) = content.as_array() else { return text_of(content) };
    let is_own = |text: &&str| !text.trim_start().starts_with("<system-reminder>");
    let texts = parts.iter().filter_map(|part| part["text"].as_str()).filter(is_own);
    texts.collect::<Vec<_>>().join("\n")
}

pub(super) fn read(request: &Value) -> Question {
    let none = Vec::new();
    let messages = request["messages"].as_array().unwrap_or(&none);
    let is_prompt = |message: &Value| message["role"] == "user" && results(message).next().is_none();
    let at = messages.iter().rposition(is_prompt);
    let prompt = at.map_or_else(String::new, |at| prompt_of(&messages[at]["content"]));
    let after = &messages[at.map_or(0, |at| at + 1)..];
    let searches: Vec<&Value> = after
        .iter()
        .flat_map(|message| parts(message, "tool_use"))
        .filter(|part| part["name"] == FINDER)
        .map(|part| &part["id"])
        .collect();
    let (found, told): (Vec<&Value>, Vec<&Value>) =
        after.iter().flat_map(results).partition(|part| searches.contains(&&part["tool_use_id"]));
    let result = told.last().map(|part| text_of(&part["content"]));
    let tools = request["tools"].as_array().unwrap_or(&none);
    let shell = Shell::among(tools.iter().map(|tool| (&tool["name"], &tool["input_schema"])));
    let tools: Vec<Tool> = tools.iter().filter_map(|tool| Tool::named(None, tool)).collect();
    let finder = match tools.iter().find(|tool| tool.name == FINDER) {
        _ if !found.is_empty() => Finder::Asked,
        Some(tool) => Finder::Offered(tool.clone()),
        None => Finder::None,
    };
    Question { prompt, result, shell, tools, finder, wants_stream: request["stream"] == true }
}

pub(super) struct Messages {
    number: u64,
    model: Value,
    text: String,
    call: Option<Value>,
}

impl Messages {
    pub(super) fn new(request: &Value, number: u64) -> Self {
        Self { number, model: request["model"].clone(), text: String::new(), call: None }
    }

    fn event(kind: &str, mut data: Value) -> String {
        data["type"] = json!(kind);
        event(Some(kind), &data)
    }

    fn reason(&self) -> &'static str {
        if self.call.is_some() { "tool_use" } else { "end_turn" }
    }

    fn message(&self, content: &[Value], reason: Option<&str>) -> Value {
        json!({
            "id": format!("msg_{}", self.number), "type": "message", "role": "assistant", "model": self.model,
            "content": content, "stop_reason": reason, "stop_sequence": null,
            "usage": {"input_tokens": 100, "output_tokens": 20},
        })
    }
}

impl Wire for Messages {
    fn open(&mut self) -> String {
        Self::event("message_start", json!({"message": self.message(&[], None)}))
    }

    fn text(&mut self, piece: &str) -> String {
        let mut out = String::new();
        if self.text.is_empty() {
            let block = json!({"type": "text", "text": ""});
            out += &Self::event("content_block_start", json!({"index": 0, "content_block": block}));
        }
        self.text.push_str(piece);
        let delta = json!({"type": "text_delta", "text": piece});
        out + &Self::event("content_block_delta", json!({"index": 0, "delta": delta}))
    }

    fn call(&mut self, tool: &Tool, arguments: &Value) -> String {
        let id = format!("toolu_{}", self.number);
        let begun = json!({"type": "tool_use", "id": id, "name": tool.name, "input": {}});
        let mut out = Self::event("content_block_start", json!({"index": 0, "content_block": begun}));
        let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
        out += &Self::event("content_block_delta", json!({"index": 0, "delta": delta}));
        self.call = Some(json!({"type": "tool_use", "id": id, "name": tool.name, "input": arguments}));
        out
    }

    fn close(&mut self) -> String {
        let mut out = Self::event("content_block_stop", json!({"index": 0}));
        let delta = json!({"stop_reason": self.reason(), "stop_sequence": null});
        out += &Self::event("message_delta", json!({"delta": delta, "usage": {"output_tokens": 20}}));
        out + &Self::event("message_stop", json!({}))
    }

    fn whole(&self) -> Value {
        let text = json!({"type": "text", "text": self.text});
        let content = self.call.clone().unwrap_or(text);
        self.message(&[content], Some(self.reason()))
    }
}
