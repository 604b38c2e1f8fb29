//! What the APIs have in common.

use serde_json::Value;

use super::tool::{Shell, Tool};

/// What a request asks for.
#[derive(Debug)]
pub(super) struct Question {
    /// The last message of the user.
    pub(super) prompt: String,
    /// The result of a tool call after that message.
    pub(super) result: Option<String>,
    /// The shell that the CLI offers. Requests for titles and the like offer none.
    pub(super) shell: Option<Shell>,
    /// All tools that it describes.
    pub(super) tools: Vec<Tool>,
    /// How it describes more.
    pub(super) finder: Finder,
    /// Whether it wants a stream.
    pub(super) wants_stream: bool,
}

/// A tool that describes other tools: some CLIs describe those of MCP servers to who asks for them only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finder {
    /// There is none.
    None,
    /// It can be called.
    Offered(Tool),
    /// It was called, and told what it knows.
    Asked,
}

/// How an API writes an answer, piece by piece.
pub(super) trait Wire: Send {
    /// Before the first piece.
    fn open(&mut self) -> String;
    /// A piece of text.
    fn text(&mut self, piece: &str) -> String;
    /// A call of a tool.
    fn call(&mut self, tool: &Tool, arguments: &Value) -> String;
    /// After the last piece.
    fn close(&mut self) -> String;
    /// The whole of it, for who wants no stream.
    fn whole(&self) -> Value;
}

/// One event of a stream.
pub(super) fn event(name: Option<&str>, data: &Value) -> String {
    let name = name.map_or_else(String::new, |name| format!("event: {name}\n"));
    format!("{name}data: {data}\n\n")
}

/// The text in the content of a message: a string, or a list of parts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
