//! Where the vendor is and who we are there, as its usual variables and its usual file say.

use std::path::PathBuf;
use std::time::Duration;

use crate::remote::credentials::{CredentialError, Secret, read_private};

/// The vendor's word, in places.
pub(super) const NAME: &str = "modal";

const SERVER: &str = "https://api.modal.com";

/// The app that sandboxes of ours belong to at the vendor.
const APP: &str = "ptyard";

/// How long a program whose place does not answer is held for one that is there, as [`Settings::patience`] says.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the vendor is, and where its token is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The vendor's address: `MODAL_SERVER_URL`.
    pub server: String,
    /// The environment that things are made in, empty for the account's own: `MODAL_ENVIRONMENT`.
    pub environment: String,
    /// The app that sandboxes are made in, which is made when it is not there: `PTYARD_MODAL_APP`, else `ptyard`.
    pub app: String,
    /// Certificates of authorities to believe instead of this machine's, in a file: `SSL_CERT_FILE`.
    pub authorities: Option<PathBuf>,
    /// How long it is tried to reach a program again that cannot be reached, before it is lost.
    pub patience: Duration,
    /// What `MODAL_TOKEN_ID` and `MODAL_TOKEN_SECRET` hold.
    token: Option<Token>,
    /// Where the token is looked for when they are not set: `MODAL_CONFIG_PATH`, else `~/.modal.toml`.
    file: PathBuf,
    /// The part of the file: `MODAL_PROFILE`, else the active one.
    profile: Option<String>,
}

/// Who we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) id: Secret,
    pub(super) secret: Secret,
}

impl Settings {
    /// What the variables say, read through `variable`. Nothing is asked of the vendor, and no file is read.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        let token = text("MODAL_TOKEN_ID").zip(text("MODAL_TOKEN_SECRET"));
        let file = text("MODAL_CONFIG_PATH").map_or_else(
            || PathBuf::from(text("HOME").unwrap_or_else(|| "/".to_owned())).join(".modal.toml"),
            PathBuf::from,
        );
        Self {
            server: text("MODAL_SERVER_URL")
                .map_or_else(|| SERVER.to_owned(), |url| url.trim_end_matches('/').to_owned()),
            environment: text("MODAL_ENVIRONMENT").unwrap_or_default(),
            app: text("PTYARD_MODAL_APP").unwrap_or_else(|| APP.to_owned()),
            authorities: text("SSL_CERT_FILE").map(PathBuf::from),
            patience: PATIENCE,
            token: token.map(|(id, secret)| Token { id: Secret::new(id), secret: Secret::new(secret) }),
            file,
            profile: text("MODAL_PROFILE"),
        }
    }

    /// The token.
    pub(super) fn token(&self) -> Result<Token, CredentialError> {
        if let Some(token) = &self.token {
            return Ok(token.clone());
        }
        let text = read_private("MODAL_TOKEN_ID", &self.file)?;
        in_file(&text, self.profile.as_deref()).map_err(|message| CredentialError::Unreadable {
            file: self.file.clone(),
            message: message.to_owned(),
        })
    }

    /// Whether the vendor is on this machine.
    pub(super) fn is_loopback(&self) -> bool {
        is_loopback(&self.server)
    }

    /// Tokens go over TLS, or stay on this machine.
    pub(super) fn check(&self, url: &str) -> Result<(), String> {
        // As with the vendor's own client: a vendor elsewhere has nothing on this machine.
        if url.starts_with("https://") || (self.is_loopback() && is_loopback(url)) {
            return Ok(());
        }
        Err(format!("{url} is not https, so no token is sent there"))
    }
}

fn is_loopback(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|here| {
            rest.strip_prefix(here).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
        })
    })
}

/// The token in a file as the vendor's own client writes it: one table for each profile, and one of them is active.
fn in_file(text: &str, profile: Option<&str>) -> Result<Token, &'static str> {
    // What the parser says could show a line of the file.
    let file: toml::Table = text.parse().map_err(|_| "it is not TOML")?;
    let is_active = |table: &toml::Value| table.get("active").and_then(toml::Value::as_bool) == Some(true);
    let table = match profile {
        Some(profile) => file.get(profile).ok_or("it has no such profile"),
        None => file
            .values()
            .find(|table| is_active(table))
            .or_else(|| file.get("default"))
            .ok_or("it has no active profile"),
    }?;
    let text = |name: &str| table.get(name).and_then(toml::Value::as_str).filter(|text| !text.is_empty());
    let (id, secret) = text("token_id").zip(text("token_secret")).ok_or("its profile has no token")?;
    Ok(Token { id: Secret::new(id), secret: Secret::new(secret) })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        Settings::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_usual_variables_are_read() {
        let plain = settings(&[("HOME", "/home/me")]);
        assert_eq!((plain.server.as_str(), plain.app.as_str()), ("https://api.modal.com", "ptyard"));
        assert_eq!(plain.file, PathBuf::from("/home/me/.modal.toml"));
        let own = settings(&[
            ("MODAL_SERVER_URL", "https://modal.example/"),
            ("MODAL_TOKEN_ID", "ak-1"),
            ("MODAL_TOKEN_SECRET", "as-1"),
            ("MODAL_ENVIRONMENT", "dev"),
        ]);
        assert_eq!((own.server.as_str(), own.environment.as_str()), ("https://modal.example", "dev"));
        assert_eq!(own.token().unwrap().secret, Secret::new("as-1"));
        assert!(!format!("{own:?}").contains("as-1"));
    }

    #[test]
    fn tokens_leave_this_machine_over_tls_only() {
        let check = |server: &str, url: &str| settings(&[("MODAL_SERVER_URL", server)]).check(url);
        assert!(check("http://127.0.0.1:80", "http://127.0.0.1:81").is_ok());
        assert!(check("http://127.0.0.1:80", "http://router.example").is_err());
        assert!(check("https://api.modal.com", "https://router.example").is_ok());
        assert!(check("https://api.modal.com", "http://127.0.0.1:81").is_err());
        assert!(check("http://127.0.0.1.example.com", "http://127.0.0.1.example.com").is_err());
    }

    #[test]
    fn the_vendors_file_is_read_when_it_is_its_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("modal.toml");
        let path = file.to_str().unwrap();
        let one = settings(&[("MODAL_CONFIG_PATH", path)]);
        assert!(matches!(one.token(), Err(CredentialError::Missing { .. })));
        let text = "[old]\ntoken_id = \"ak-0\"\ntoken_secret = \"as-0\"\n\
                    [mine]\ntoken_id = \"ak-2\"\ntoken_secret = \"as-2\"\nactive = true\n";
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(one.token(), Err(CredentialError::ReadByOthers { .. })));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(one.token().unwrap().id, Secret::new("ak-2"));
        let old = settings(&[("MODAL_CONFIG_PATH", path), ("MODAL_PROFILE", "old")]);
        assert_eq!(old.token().unwrap().secret, Secret::new("as-0"));
        let none = settings(&[("MODAL_CONFIG_PATH", path), ("MODAL_PROFILE", "none")]);
        assert!(none.token().unwrap_err().to_string().contains("no such profile"));
        fs::write(&file, "token_secret = as-9").unwrap();
        assert!(!one.token().unwrap_err().to_string().contains("as-9"));
    }
}
