//! What the engine's API takes and gives, as far as it is used here.

use std::fmt::Write;

use serde::Deserialize;

/// Something was made.
#[derive(Debug, Deserialize)]
pub(super) struct Made {
    #[serde(rename = "Id")]
    pub(super) id: String,
}

/// A program in a container that has others.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExecState {
    #[serde(default)]
    pub(super) running: bool,
    #[serde(default)]
    pub(super) exit_code: Option<i32>,
    /// On the engine's machine; 0 until the process is there.
    #[serde(default)]
    pub(super) pid: u32,
}

/// A container.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Container {
    pub(super) id: String,
    pub(super) state: ContainerState,
    #[serde(default)]
    pub(super) config: ContainerConfig,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ContainerState {
    #[serde(default)]
    pub(super) running: bool,
    #[serde(default)]
    pub(super) paused: bool,
    #[serde(default)]
    pub(super) pid: u32,
    #[serde(default)]
    pub(super) exit_code: i32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ContainerConfig {
    #[serde(default)]
    pub(super) env: Option<Vec<String>>,
}

/// Text as it may stand in a path or query.
pub(super) fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            all.push(char::from(byte));
        } else {
            let _infallible = write!(all, "%{byte:02X}");
        }
        all
    })
}
