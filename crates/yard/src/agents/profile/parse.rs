//! A text becomes a profile.

use serde_json::Value;

use super::front::{self, Field};
use super::{
    BadName, DESCRIPTION_CHARACTERS, MOST_BYTES, Notice, Parsed, Profile, ProfileError, ProfileName,
};

/// Reads a profile. `stem` is the name of its file without the ending, which names a profile that does not name itself.
///
/// # Errors
/// When the front matter cannot be read, a field cannot be used, or it has no name.
pub fn parse(text: &str, stem: Option<&str>) -> Result<Parsed, ProfileError> {
    if text.len() > MOST_BYTES {
        return Err(ProfileError::TooLarge { bytes: text.len() });
    }
    let mut notices = Vec::new();
    let cut = front::cut(text)?;
    let fields = match &cut.fields {
        Some(fields) => front::fields(fields, &mut notices)?,
        None => Vec::new(),
    };
    let mut draft = Draft::default();
    for field in fields {
        draft.take(field, &mut notices)?;
    }
    let body = cut.body.replace("\r\n", "\n").trim().to_owned();
    let prompt = match draft.prompt {
        Some((line, _)) if !body.is_empty() => {
            notices.push(Notice {
                line,
                text: "the text below the front matter is the prompt; this one is not used".to_owned(),
            });
            body
        }
        Some((_, prompt)) => prompt,
        None => body,
    };
    let name = match draft.name {
        Some(name) => name,
        None => stem.and_then(|stem| stem.parse().ok()).ok_or(ProfileError::NoName)?,
    };
    let profile = Profile {
        name,
        aliases: draft.aliases,
        description: draft.description,
        provider: draft.provider,
        model: draft.model,
        role: draft.role,
        tools: draft.tools,
        capabilities: draft.capabilities,
        tags: draft.tags,
        mcp_servers: draft.mcp_servers,
        prompt,
    };
    Ok(Parsed { profile, notices })
}

/// The fields so far.
#[derive(Default)]
struct Draft {
    name: Option<ProfileName>,
    aliases: Vec<ProfileName>,
    description: String,
    provider: Option<String>,
    model: Option<String>,
    role: Option<String>,
    tools: Option<Vec<String>>,
    capabilities: Vec<String>,
    tags: Vec<String>,
    mcp_servers: serde_json::Map<String, Value>,
    prompt: Option<(usize, String)>,
}

impl Draft {
    fn take(&mut self, field: Field, notices: &mut Vec<Notice>) -> Result<(), ProfileError> {
        let line = field.line;
        match field.key.as_str() {
            "name" => {
                let name = field.text()?.unwrap_or_default();
                self.name = Some(name.parse().map_err(|error: BadName| field.refuse(error.to_string()))?);
            }
            "aliases" => {
                let names = field.list()?.unwrap_or_default();
                self.aliases = names
                    .iter()
                    .map(|name| name.parse().map_err(|error: BadName| field.refuse(error.to_string())))
                    .collect::<Result<_, _>>()?;
            }
            "description" => {
                let text = field.text()?.unwrap_or_default();
                if text.chars().count() > DESCRIPTION_CHARACTERS {
                    return Err(field.refuse(format!("at most {DESCRIPTION_CHARACTERS} characters")));
                }
                self.description = text;
            }
            "provider" => self.provider = field.text()?,
            // Other tools write `inherit` for what is the default here.
            "model" => self.model = field.text()?.filter(|model| model != "inherit"),
            "role" => self.role = field.text()?,
            "tools" | "allowedTools" | "allowed_tools" | "allowed-tools" => self.tools = field.list()?,
            "capabilities" => self.capabilities = field.list()?.unwrap_or_default(),
            "tags" => self.tags = field.list()?.unwrap_or_default(),
            "mcpServers" | "mcp_servers" => match field.value {
                Value::Object(servers) => self.mcp_servers = servers,
                Value::Null => {}
                _ => return Err(field.refuse("a map of servers is expected, each with its name")),
            },
            "prompt" => self.prompt = field.text()?.map(|text| (line, text.trim().to_owned())),
            other => notices.push(Notice { line, text: format!("{other:?} means nothing here") }),
        }
        Ok(())
    }
}

impl Field {
    fn refuse(&self, message: impl Into<String>) -> ProfileError {
        ProfileError::Field { line: self.line, field: self.key.clone(), message: message.into() }
    }

    /// One piece of text; `None` when the field is empty.
    fn text(&self) -> Result<Option<String>, ProfileError> {
        let text = match &self.value {
            Value::Null => return Ok(None),
            Value::Array(_) | Value::Object(_) => return Err(self.refuse("a text is expected")),
            value => scalar(value),
        };
        Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
    }

    /// Several pieces: a list, `a, b`, or a map of which those that are on count.
    fn list(&self) -> Result<Option<Vec<String>>, ProfileError> {
        let pieces: Vec<String> = match &self.value {
            Value::Null => return Ok(None),
            Value::Array(items) if items.iter().any(|item| item.is_array() || item.is_object()) => {
                return Err(self.refuse("a list of texts is expected"));
            }
            Value::Array(items) => items.iter().map(scalar).collect(),
            Value::Object(switches) => switches
                .iter()
                .filter(|(_, on)| **on == Value::Bool(true))
                .map(|(name, _)| name.clone())
                .collect(),
            value => scalar(value).split(',').map(str::to_owned).collect(),
        };
        Ok(Some(
            pieces.iter().map(|piece| piece.trim().to_owned()).filter(|piece| !piece.is_empty()).collect(),
        ))
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
