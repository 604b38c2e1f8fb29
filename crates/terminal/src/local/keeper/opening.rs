//! The first words of a connection. Their form never changes, so that any two versions understand them.
//!
//! ```text
//!   server                                keeper
//!     Hello                     -->
//!                               <--        Hello
//!     Upgrade                   -->                    if the server comes of a newer version
//!                               <--        Upgraded    by the same process: the newer version, or the old one with why
//!     Hello                     -->                    again, to a newer version
//!                               <--        Hello
//! ```
//!
//! Then both follow [`protocol`](super::protocol), if they speak the same one.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::protocol::PROTOCOL;

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) version: String,
    pub(super) pid: u32,
}

impl Hello {
    pub(super) fn ours() -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { protocol: PROTOCOL, version, pid: std::process::id() }
    }
}

/// Asks a keeper to go on as another program, with everything that it keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Upgrade {
    pub(super) upgrade: NewProgram,
}

/// The program a keeper shall go on as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NewProgram {
    pub(super) program: PathBuf,
    /// Its arguments, its own name first. What is handed over is added: see [`super::succession`].
    pub(super) args: Vec<String>,
}

/// How that went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Upgraded {
    /// Why the old program goes on; `None` when the new one speaks.
    pub(super) refused: Option<String>,
}

/// What a server says before it is attached.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum First {
    Upgrade(Upgrade),
    Hello(Hello),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_are_written_as_they_always_were() {
        let hello = Hello { protocol: 7, version: "1.2.3".to_owned(), pid: 9 };
        assert_eq!(
            serde_json::to_string(&First::Hello(hello)).unwrap(),
            r#"{"protocol":7,"version":"1.2.3","pid":9}"#
        );
        let upgrade =
            Upgrade { upgrade: NewProgram { program: "/bin/p".into(), args: vec!["p".to_owned()] } };
        assert_eq!(
            serde_json::to_string(&First::Upgrade(upgrade)).unwrap(),
            r#"{"upgrade":{"program":"/bin/p","args":["p"]}}"#
        );
        assert_eq!(serde_json::to_string(&Upgraded { refused: None }).unwrap(), r#"{"refused":null}"#);
        let more = r#"{"protocol":7,"version":"1.2.3","pid":9,"more":1}"#;
        assert!(matches!(serde_json::from_str(more), Ok(First::Hello(_))), "a later version may say more");
    }
}
