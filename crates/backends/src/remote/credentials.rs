//! Where secrets of vendors come from, and how they are kept from being shown.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A secret. It is shown nowhere: neither when it is printed for debugging nor in an error.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the header it goes into.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Why there is no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// Nobody gave one.
    #[error("{variable} is not set and {file} does not exist")]
    Missing {
        /// The vendor's usual variable.
        variable: &'static str,
        /// Where a file with it could be.
        file: PathBuf,
    },
    /// Others can read the file.
    #[error("{file} can be read by others (mode {mode:03o}); `chmod 600` it")]
    ReadByOthers {
        /// The file.
        file: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file cannot be read.
    #[error("{file}: {message}")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's word.
        message: String,
    },
}

/// The secret that `variable` holds, or else the first line of `file`, which nobody but its owner may be able to read.
pub(crate) fn find(
    variable: &'static str,
    value: Option<String>,
    file: &Path,
) -> Result<Secret, CredentialError> {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        return Ok(Secret(value));
    }
    let text = read_private(variable, file)?;
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => Ok(Secret(line.to_owned())),
        _ => Err(CredentialError::Unreadable { file: file.to_owned(), message: "it is empty".to_owned() }),
    }
}

/// What `file` holds, which nobody but its owner may be able to read. Without it the secret should have been in `variable`.
pub(crate) fn read_private(variable: &'static str, file: &Path) -> Result<String, CredentialError> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => CredentialError::Missing { variable, file: file.to_owned() },
        _ => CredentialError::Unreadable { file: file.to_owned(), message: error.to_string() },
    };
    let mode = fs::metadata(file).map_err(unreadable)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(CredentialError::ReadByOthers { file: file.to_owned(), mode });
    }
    fs::read_to_string(file).map_err(unreadable)
}

/// Where the file with the secret for `vendor` is looked for.
pub(crate) fn file(variable: &impl Fn(&str) -> Option<String>, vendor: &str) -> PathBuf {
    let given = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = given("XDG_CONFIG_HOME")
        .unwrap_or_else(|| given("HOME").unwrap_or_else(|| "/".into()).join(".config"));
    config.join("ptyard").join(format!("{vendor}.key"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        let secret = Secret::new("e2b_0123");
        assert!(!format!("{secret:?} {:?}", Some(&secret)).contains("0123"));
    }

    #[test]
    fn a_file_must_be_its_owners_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("e2b.key");
        let find = |value: Option<&str>| find("E2B_API_KEY", value.map(str::to_owned), &file);
        assert!(matches!(find(None), Err(CredentialError::Missing { .. })));
        fs::write(&file, "e2b_5678\n").unwrap();
        for mode in [0o644, 0o640, 0o604, 0o660] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let error = find(None).unwrap_err();
            assert!(matches!(error, CredentialError::ReadByOthers { .. }), "{mode:o}: {error}");
            assert!(!error.to_string().contains("5678"));
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(find(None), Ok(Secret::new("e2b_5678")));
        assert_eq!(find(Some("e2b_variable")), Ok(Secret::new("e2b_variable")), "the variable goes first");
        fs::write(&file, "\n").unwrap();
        assert!(matches!(find(None), Err(CredentialError::Unreadable { .. })));
    }
}
