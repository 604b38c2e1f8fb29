//! OpenAI's Responses.

use serde_json::{Value, json};

use super::tool::{Shell, Tool};
use super::wire::{Finder, Question, Wire, event, text_of};

/// Messages in the user's name that are none of the user's.
const CONTEXT: [&str; 4] = ["<environment_context", "<user_instructions", "<permissions", "# AGENTS"];

pub(super) fn read(request: &Value) -> Question {
    let none = Vec::new();
    let input = request["input"].as_array().unwrap_or(&none);
    let is_prompt = |item: &Value| {
        let text = text_of(&item["content"]);
        item["role"] == "user" && !CONTEXT.iter().any(|start| text.trim_start().starts_with(start))
    };
    let at = input.iter().rposition(is_prompt);
    let prompt = at.map_or_else(String::new, |at| text_of(&input[at]["content"]));
    let is_result = |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output"));
    let result = input.iter().skip(at.map_or(0, |at| at + 1)).rfind(is_result);
    let result =
        result.map(|item| item["output"].as_str().map_or_else(|| item["output"].to_string(), str::to_owned));
    let tools = request["tools"].as_array().unwrap_or(&none);
    let nested = tools.iter().flat_map(|tool| tool["tools"].as_array().into_iter().flatten());
    let shell = Shell::among(tools.iter().chain(nested).map(|tool| (&tool["name"], &tool["parameters"])));
    let tools = tools.iter().flat_map(named).collect();
    Question { prompt, result, shell, tools, finder: Finder::None, wants_stream: request["stream"] == true }
}

/// A tool, or those of a group.
fn named(tool: &Value) -> Vec<Tool> {
    match tool["tools"].as_array() {
        Some(nested) => nested.iter().filter_map(|one| Tool::named(tool["name"].as_str(), one)).collect(),
        None => Tool::named(None, tool).into_iter().collect(),
    }
}

pub(super) struct Responses {
    number: u64,
    model: Value,
    events: u64,
    text: String,
    items: Vec<Value>,
}

impl Responses {
    pub(super) fn new(request: &Value, number: u64) -> Self {
        Self { number, model: request["model"].clone(), events: 0, text: String::new(), items: Vec::new() }
    }

    fn event(&mut self, kind: &str, mut data: Value) -> String {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.events);
        self.events += 1;
        event(Some(kind), &data)
    }

    fn item(&self) -> String {
        format!("item_{}", self.number)
    }

    fn response(&self, status: &str) -> Value {
        json!({
            "id": format!("resp_{}", self.number), "object": "response", "created_at": 1_767_225_600,
            "model": self.model, "status": status, "output": self.items,
            "usage": {
                "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 120,
            },
        })
    }

    fn message(&self, status: &str) -> Value {
        let content = json!([{"type": "output_text", "text": self.text, "annotations": []}]);
        json!({"type": "message", "id": self.item(), "role": "assistant", "status": status, "content": content})
    }
}

impl Wire for Responses {
    fn open(&mut self) -> String {
        let response = self.response("in_progress");
        self.event("response.created", json!({"response": response}))
    }

    fn text(&mut self, piece: &str) -> String {
        let mut out = String::new();
        if self.text.is_empty() {
            let mut item = self.message("in_progress");
            item["content"] = json!([]);
            out += &self.event("response.output_item.added", json!({"output_index": 0, "item": item}));
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            let added = json!({"item_id": self.item(), "output_index": 0, "content_index": 0, "part": part});
            out += &self.event("response.content_part.added", added);
        }
        self.text.push_str(piece);
        let delta = json!({"item_id": self.item(), "output_index": 0, "content_index": 0, "delta": piece});
        out + &self.event("response.output_text.delta", delta)
    }

    fn call(&mut self, tool: &Tool, arguments: &Value) -> String {
        let arguments = arguments.to_string();
        let call = format!("call_{}", self.number);
        let mut item = json!({
            "type": "function_call", "id": self.item(), "call_id": call, "name": tool.name,
            "arguments": arguments, "status": "completed",
        });
        if let Some(group) = &tool.group {
            item["namespace"] = json!(group);
        }
        let mut begun = item.clone();
        begun["arguments"] = json!("");
        begun["status"] = json!("in_progress");
        let mut out = self.event("response.output_item.added", json!({"output_index": 0, "item": begun}));
        let done = json!({"item_id": self.item(), "output_index": 0, "arguments": arguments});
        out += &self.event("response.function_call_arguments.done", done);
        out += &self.event("response.output_item.done", json!({"output_index": 0, "item": item}));
        self.items.push(item);
        out
    }

    fn close(&mut self) -> String {
        let mut out = String::new();
        if !self.text.is_empty() {
            let done = json!({
                "item_id": self.item(), "output_index": 0, "content_index": 0, "text": self.text,
            });
            out += &self.event("response.output_text.done", done);
            let item = self.message("completed");
            out += &self.event("response.output_item.done", json!({"output_index": 0, "item": item}));
            self.items.push(item);
        }
        let response = self.response("completed");
        out + &self.event("response.completed", json!({"response": response}))
    }

    fn whole(&self) -> Value {
        self.response("completed")
    }
}
