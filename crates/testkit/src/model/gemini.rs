//! Google's `generateContent`.

use serde_json::{Value, json};

use super::tool::{Shell, Tool};
use super::wire::{Finder, Question, Wire, event, text_of};

pub(super) fn read(request: &Value, path: &str) -> Question {
    let none = Vec::new();
    let contents = request["contents"].as_array().unwrap_or(&none);
    let results = |content: &Value| {
        let parts = content["parts"].as_array().into_iter().flatten();
        parts
            .filter_map(|part| part.get("functionResponse"))
            .map(|result| result["response"].to_string())
            .next_back()
    };
    let at = contents.iter().rposition(|content| content["role"] == "user" && results(content).is_none());
    let prompt = at.map_or_else(String::new, |at| text_of(&contents[at]["parts"]));
    let result = contents.iter().skip(at.map_or(0, |at| at + 1)).filter_map(results).next_back();
    let groups = request["tools"].as_array().unwrap_or(&none);
    let tools: Vec<&Value> =
        groups.iter().filter_map(|group| group["functionDeclarations"].as_array()).flatten().collect();
    let schema = |tool: &'_ Value| tool.get("parametersJsonSchema").or(tool.get("parameters")).cloned();
    let schemas: Vec<(&Value, Value)> =
        tools.iter().map(|tool| (&tool["name"], schema(tool).unwrap_or_default())).collect();
    let shell = Shell::among(schemas.iter().map(|(name, schema)| (*name, schema)));
    let tools = tools.iter().filter_map(|tool| Tool::named(None, tool)).collect();
    let wants_stream = path.ends_with(":streamGenerateContent");
    Question { prompt, result, shell, tools, finder: Finder::None, wants_stream }
}

pub(super) struct Gemini {
    number: u64,
    /// It is to answer with a document: who speaks next, which model is fit. No prompt of a user asks for that.
    wants_document: bool,
    parts: Vec<Value>,
}

impl Gemini {
    pub(super) fn new(request: &Value, number: u64) -> Self {
        let settings = &request["generationConfig"];
        let wants_document = settings["responseMimeType"] == "application/json";
        Self { number, wants_document, parts: Vec::new() }
    }

    fn document(&self, parts: &[Value], reason: Option<&str>) -> Value {
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
        if let Some(reason) = reason {
            candidate["finishReason"] = json!(reason);
        }
        json!({
            "candidates": [candidate], "modelVersion": "model", "responseId": format!("r{}", self.number),
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
        })
    }

    fn part(&mut self, part: Value) -> String {
        self.parts.push(part.clone());
        event(None, &self.document(&[part], None))
    }
}

impl Wire for Gemini {
    fn open(&mut self) -> String {
        String::new()
    }

    fn text(&mut self, piece: &str) -> String {
        let text = if self.wants_document {
            json!({"reasoning": piece, "next_speaker": "user", "model_choice": "flash"}).to_string()
        } else {
            piece.to_owned()
        };
        self.part(json!({"text": text}))
    }

    fn call(&mut self, tool: &Tool, arguments: &Value) -> String {
        let call = json!({"id": format!("call_{}", self.number), "name": tool.name, "args": arguments});
        self.part(json!({"functionCall": call}))
    }

    fn close(&mut self) -> String {
        event(None, &self.document(&[json!({"text": ""})], Some("STOP")))
    }

    fn whole(&self) -> Value {
        self.document(&self.parts, Some("STOP"))
    }
}
