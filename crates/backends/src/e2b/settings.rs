//! Where the vendor is and who we are there, as its usual variables say.

use std::path::PathBuf;

use crate::remote::address::is_here;
use crate::remote::credentials::{self, CredentialError, Secret};

/// The vendor's word, in places and file names.
pub(super) const NAME: &str = "e2b";

const DOMAIN: &str = "e2b.app";

/// Where the vendor is, and where its key is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The base of the vendor's API, without a slash at the end: `E2B_API_URL`, else `https://api.` and the domain.
    pub api: String,
    /// The domain of its sandboxes: `E2B_DOMAIN`.
    pub domain: String,
    /// One base for the daemons of all sandboxes, which are told apart by a header then: `E2B_SANDBOX_URL`.
    pub sandbox: Option<String>,
    /// What `E2B_API_KEY` holds.
    key: Option<Secret>,
    /// Where the key is looked for when the variable is not set.
    file: PathBuf,
}

impl Settings {
    /// What the variables say, read through `variable`. Nothing is asked of the vendor, and no file is read.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        let url = |name: &str| text(name).map(|url| url.trim_end_matches('/').to_owned());
        let domain = text("E2B_DOMAIN").unwrap_or_else(|| DOMAIN.to_owned());
        Self {
            api: url("E2B_API_URL").unwrap_or_else(|| format!("https://api.{domain}")),
            sandbox: url("E2B_SANDBOX_URL"),
            key: text("E2B_API_KEY").map(Secret::new),
            file: credentials::file(&text, NAME),
            domain,
        }
    }

    /// The key.
    pub(super) fn key(&self) -> Result<Secret, CredentialError> {
        match &self.key {
            Some(key) => Ok(key.clone()),
            None => credentials::find("E2B_API_KEY", None, &self.file),
        }
    }

    /// Whether nothing leaves this machine.
    pub(super) fn is_loopback(&self) -> bool {
        is_here(&self.api) && self.sandbox.as_deref().is_some_and(is_here)
    }

    /// Keys go over TLS, or stay on this machine.
    pub(super) fn check(&self) -> Result<(), String> {
        let bad = [Some(&self.api), self.sandbox.as_ref()]
            .into_iter()
            .flatten()
            .find(|url| !url.starts_with("https://") && !self.is_loopback());
        match bad {
            Some(url) => Err(format!("{url} is not https, so no key is sent there")),
            None => Ok(()),
        }
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
        assert_eq!(plain.api, "https://api.e2b.app");
        assert_eq!(plain.file, PathBuf::from("/home/me/.config/ptyard/e2b.key"));
        let own = settings(&[
            ("E2B_DOMAIN", "e2b.example"),
            ("E2B_SANDBOX_URL", "https://s/"),
            ("E2B_API_KEY", "e2b_1"),
        ]);
        assert_eq!(
            (own.api.as_str(), own.sandbox.as_deref()),
            ("https://api.e2b.example", Some("https://s"))
        );
        assert_eq!(own.key(), Ok(Secret::new("e2b_1")));
        assert!(!format!("{own:?}").contains("e2b_1"));
    }

    #[test]
    fn keys_leave_this_machine_over_tls_only() {
        let check = |api, sandbox| settings(&[("E2B_API_URL", api), ("E2B_SANDBOX_URL", sandbox)]).check();
        assert!(check("http://127.0.0.1:80", "http://127.0.0.1:81").is_ok());
        assert!(check("http://127.0.0.1.example.com", "http://127.0.0.1:81").is_err());
        assert!(check("http://api.e2b.app", "https://s").is_err());
        assert!(check("https://api.e2b.app", "").is_ok());
    }
}
