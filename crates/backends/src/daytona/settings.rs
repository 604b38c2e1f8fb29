//! Where the vendor is and who we are there, as its usual variables say.

use std::path::PathBuf;

use crate::remote::address::{self, is_here};
use crate::remote::credentials::{self, CredentialError, Secret};

/// The vendor's word, in places and file names.
pub(super) const NAME: &str = "daytona";

/// Where the vendor is and who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The base of the vendor's API, without a slash at the end: `DAYTONA_API_URL`.
    pub api: String,
    /// The region for new sandboxes: `DAYTONA_TARGET`.
    pub target: Option<String>,
    /// The organization, which a token of a person needs beside it: `DAYTONA_ORGANIZATION_ID`.
    pub organization: Option<String>,
    /// What `DAYTONA_API_KEY` holds, else `DAYTONA_JWT_TOKEN`.
    key: Option<Secret>,
    /// Where the key is looked for when no variable is set.
    file: PathBuf,
}

impl Settings {
    /// What the variables say, read through `variable`. Nothing is asked of the vendor, and no file is read.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        let api = text("DAYTONA_API_URL").unwrap_or_else(|| "https://app.daytona.io/api".to_owned());
        Self {
            api: api.trim_end_matches('/').to_owned(),
            target: text("DAYTONA_TARGET"),
            organization: text("DAYTONA_ORGANIZATION_ID"),
            key: text("DAYTONA_API_KEY").or_else(|| text("DAYTONA_JWT_TOKEN")).map(Secret::new),
            file: credentials::file(&text, NAME),
        }
    }

    /// The key.
    pub(super) fn key(&self) -> Result<Secret, CredentialError> {
        match &self.key {
            Some(key) => Ok(key.clone()),
            None => credentials::find("DAYTONA_API_KEY", None, &self.file),
        }
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
        assert_eq!(plain.api, "https://app.daytona.io/api");
        assert_eq!(plain.file, PathBuf::from("/home/me/.config/ptyard/daytona.key"));
        let own = settings(&[
            ("DAYTONA_API_URL", "https://d.example/api/"),
            ("DAYTONA_JWT_TOKEN", "ey.1"),
            ("DAYTONA_ORGANIZATION_ID", "org"),
            ("DAYTONA_TARGET", "eu"),
        ]);
        assert_eq!((own.api.as_str(), own.target.as_deref()), ("https://d.example/api", Some("eu")));
        assert_eq!((own.key(), own.organization.as_deref()), (Ok(Secret::new("ey.1")), Some("org")));
        assert!(!format!("{own:?}").contains("ey.1"));
    }
}
