//! Where the vendor is and who we are there, as its usual variables say.

use std::path::PathBuf;
use std::time::Duration;

use crate::remote::address::{self, is_here};
use crate::remote::credentials::{self, CredentialError, Secret};

/// The vendor's word, in places and file names.
pub(super) const NAME: &str = "blaxel";

const KEY: &str = "BL_API_KEY";
const WORKSPACE: &str = "BL_WORKSPACE";

/// After this long without a word from us a program's carrier ends it. The vendor ends a terminal that nobody listens to
/// after ten minutes, but not what hid from it.
const ALONE: Duration = Duration::from_secs(480);

/// Where the vendor is and who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The base of the vendor's API, without a slash at the end: `BL_API_URL`.
    pub api: String,
    /// Whose sandboxes: `BL_WORKSPACE`.
    pub workspace: Option<String>,
    /// The region of new sandboxes: `BL_REGION`.
    pub region: Option<String>,
    /// How long a program runs on that nobody asks for.
    pub alone: Duration,
    /// What `BL_API_KEY` holds.
    key: Option<Secret>,
    /// Where the key is looked for when the variable is not set.
    file: PathBuf,
}

impl Settings {
    /// What the variables say, read through `variable`. Nothing is asked of the vendor, and no file is read.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        let api = text("BL_API_URL").unwrap_or_else(|| "https://api.blaxel.ai/v0".to_owned());
        Self {
            api: api.trim_end_matches('/').to_owned(),
            workspace: text(WORKSPACE),
            region: text("BL_REGION"),
            alone: ALONE,
            key: text(KEY).map(Secret::new),
            file: credentials::file(&text, NAME),
        }
    }

    /// The key.
    pub(super) fn key(&self) -> Result<Secret, CredentialError> {
        match &self.key {
            Some(key) => Ok(key.clone()),
            None => credentials::find(KEY, None, &self.file),
        }
    }

    /// Whose sandboxes.
    pub(super) fn workspace(&self) -> Result<&str, String> {
        let missing = || format!("{WORKSPACE} is not set: it names the workspace that the key is for");
        self.workspace.as_deref().ok_or_else(missing)
    }

    /// Whether nothing leaves this machine.
    pub(super) fn is_loopback(&self) -> bool {
        is_here(&self.api)
    }

    /// Keys go over TLS, or stay on this machine.
    pub(super) fn check(&self) -> Result<(), String> {
        address::check(&self.api)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        Settings::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_usual_variables_are_read() {
        let plain = settings(&[("HOME", "/home/me")]);
        assert_eq!(plain.api, "https://api.blaxel.ai/v0");
        assert_eq!(plain.file, PathBuf::from("/home/me/.config/ptyard/blaxel.key"));
        assert!(plain.workspace().unwrap_err().starts_with("BL_WORKSPACE is not set"));
        let own = settings(&[
            ("BL_API_URL", "https://b.example/v0/"),
            ("BL_API_KEY", "bl_1"),
            ("BL_WORKSPACE", "ws"),
            ("BL_REGION", "eu-lon-1"),
        ]);
        assert_eq!((own.api.as_str(), own.region.as_deref()), ("https://b.example/v0", Some("eu-lon-1")));
        assert_eq!((own.key(), own.workspace()), (Ok(Secret::new("bl_1")), Ok("ws")));
        assert!(!format!("{own:?}").contains("bl_1"));
        assert!(settings(&[("BL_API_URL", "http://b.example")]).check().is_err(), "keys go over TLS");
    }
}
