//! Where the bridge is and who we are there, as the vendor's usual variables say.

use std::path::PathBuf;

use crate::remote::address::{check, is_here};
use crate::remote::credentials::{self, CredentialError, Secret};

/// The vendor's word, in places and file names.
pub(super) const NAME: &str = "cloudflare";

const URL: &str = "CLOUDFLARE_SANDBOX_WORKER_URL";
const KEY: &str = "CLOUDFLARE_SANDBOX_API_KEY";

/// Where the bridge is, and where its key is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The base of the bridge, a worker of one's own, without a slash at the end: `CLOUDFLARE_SANDBOX_WORKER_URL`.
    pub worker: Option<String>,
    /// What `CLOUDFLARE_SANDBOX_API_KEY` holds.
    key: Option<Secret>,
    /// Where the key is looked for when the variable is not set.
    file: PathBuf,
}

impl Settings {
    /// What the variables say, read through `variable`. Nothing is asked of the vendor, and no file is read.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        Self {
            worker: text(URL).map(|url| url.trim_end_matches('/').to_owned()),
            key: text(KEY).map(Secret::new),
            file: credentials::file(&text, NAME),
        }
    }

    /// The key; `None` when there is none, as for a bridge that asks for none.
    pub(super) fn key(&self) -> Result<Option<Secret>, CredentialError> {
        match &self.key {
            Some(key) => Ok(Some(key.clone())),
            None => match credentials::find(KEY, None, &self.file) {
                Err(CredentialError::Missing { .. }) => Ok(None),
                found => found.map(Some),
            },
        }
    }

    /// What is said of a bridge that asks for a key when there is none.
    pub(super) fn no_key(&self) -> String {
        CredentialError::Missing { variable: KEY, file: self.file.clone() }.to_string()
    }

    /// Whether nothing leaves this machine.
    pub(super) fn is_loopback(&self) -> bool {
        self.worker.as_deref().is_some_and(is_here)
    }

    /// The base. Keys, and what programs say, go over TLS or stay on this machine.
    pub(super) fn base(&self) -> Result<&str, String> {
        match self.worker.as_deref() {
            None => Err(format!("{URL} is not set: it names the worker that bridges to the sandboxes")),
            Some(url) => check(url).map(|()| url),
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
        let none = settings(&[("HOME", "/home/me")]);
        assert!(none.base().unwrap_err().starts_with("CLOUDFLARE_SANDBOX_WORKER_URL is not set"));
        assert_eq!(none.file, PathBuf::from("/home/me/.config/ptyard/cloudflare.key"));
        assert_eq!(none.key(), Ok(None), "a bridge may ask for no key");
        let set = settings(&[(URL, "https://bridge.example/"), (KEY, "secret-1")]);
        assert_eq!(
            (set.base(), set.key()),
            (Ok("https://bridge.example"), Ok(Some(Secret::new("secret-1"))))
        );
        assert!(!format!("{set:?}").contains("secret-1"));
        assert!(settings(&[(URL, "http://bridge.example")]).base().is_err(), "keys go over TLS");
    }
}
