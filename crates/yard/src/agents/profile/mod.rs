//! Profiles: what an agent is started as.
//!
//! A profile is a Markdown file. Its front matter names it and says what it runs on; its body is the prompt it works by.
//! The files of the field differ, so what can be understood is: lists as lists, as `a, b` or as a map of switches, keys
//! of several tools, values that a strict YAML reader would refuse. What cannot be understood is an [error](ProfileError)
//! with the line, and what means nothing here is a [notice](Notice).

mod builtin;
mod front;
mod library;
mod name;
mod parse;

pub use builtin::BUILT_IN;
pub use library::{Found, Library, LibraryError, Listed, Origin};
pub use name::{BadName, ProfileName};
pub use parse::parse;

use serde::Serialize;

/// Largest profile file.
pub const MOST_BYTES: usize = 256 << 10;

/// Longest description.
pub const DESCRIPTION_CHARACTERS: usize = 1_024;

/// What an agent is started as.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// Its name.
    pub name: ProfileName,
    /// Other names it answers to.
    pub aliases: Vec<ProfileName>,
    /// What it is for, for people and for agents that look for help.
    pub description: String,
    /// The provider it wants; `None` leaves it to who starts it.
    pub provider: Option<String>,
    /// The model it wants; `None` is the provider's own choice.
    pub model: Option<String>,
    /// A preset of tools.
    pub role: Option<String>,
    /// The tools it may use; `None` leaves it to the role and the provider.
    pub tools: Option<Vec<String>>,
    /// What it is good at, for those who look for help.
    pub capabilities: Vec<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// MCP servers it is given, as its provider takes them.
    pub mcp_servers: serde_json::Map<String, serde_json::Value>,
    /// The prompt it works by; may be empty.
    pub prompt: String,
}

/// A profile, and what its reader should know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parsed {
    /// The profile.
    pub profile: Profile,
    /// What was not understood or was mended.
    pub notices: Vec<Notice>,
}

/// Something about a file that changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Line, from 1.
    pub line: usize,
    /// What.
    pub text: String,
}

/// Why a text is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The front matter has no end.
    #[error("line 1: the front matter has no end: a line `---` is missing after the fields")]
    NoEnd,
    /// The front matter is not YAML, and nothing that can be mended.
    #[error("line {line}: {message}")]
    Yaml {
        /// Line, from 1.
        line: usize,
        /// What the YAML reader says.
        message: String,
    },
    /// A field has a value that cannot be used.
    #[error("line {line}: {field}: {message}")]
    Field {
        /// Line, from 1.
        line: usize,
        /// The field.
        field: String,
        /// What is wrong.
        message: String,
    },
    /// It has no name, and no file to take one from.
    #[error("line 1: a profile needs a name: begin the file with `---`, `name: NAME`, `---`")]
    NoName,
    /// It is too large.
    #[error("{bytes} bytes are too many for a profile, {MOST_BYTES} is the most")]
    TooLarge {
        /// Bytes.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests;
