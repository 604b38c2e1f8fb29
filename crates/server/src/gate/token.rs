//! The token of TCP peers.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ptyard_core::ErrorCode;
use rustix::fs::OFlags;
use subtle::ConstantTimeEq;

/// Random bytes in a token: nobody guesses 256 bits, so tries need not be counted.
const TOKEN_BYTES: usize = 32;

/// The secret that TCP peers show. It is compared in constant time and never printed.
pub struct Token(String);

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("token file {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// Others could have read or written it.
    #[error("token file {} is not private: it must be a file of your own with mode 0600", path.display())]
    NotPrivate {
        /// The file.
        path: PathBuf,
    },
    /// It holds something else.
    #[error("token file {} does not hold {} hex digits; remove it and a new one is made", path.display(), 2 * TOKEN_BYTES)]
    Malformed {
        /// The file.
        path: PathBuf,
    },
    /// The system gave no random bytes.
    #[error("no random bytes: {0}")]
    NoRandomness(getrandom::Error),
}

impl TokenError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Io { .. } => ErrorCode::StateUnwritable,
            Self::NotPrivate { .. } => ErrorCode::StateForeign,
            Self::Malformed { .. } => ErrorCode::InvalidArgument,
            Self::NoRandomness(_) => ErrorCode::Internal,
        }
    }
}

impl Token {
    /// The token in `path`, made (mode 0600) when there is none.
    ///
    /// # Errors
    /// When the file cannot be used, or others could have read or changed it.
    pub fn load_or_create(path: &Path) -> Result<Self, TokenError> {
        let io = |source| TokenError::Io { path: path.to_owned(), source };
        match Self::load(path) {
            Err(TokenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            loaded => return loaded,
        }
        let token = Self::random()?;
        // Written under another name and linked: nobody ever sees half a token, and a racing maker wins or loses.
        let draft = path.with_extension(format!("{}.new", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut file| {
                file.write_all(token.0.as_bytes())?;
                file.sync_all()
            })
            .and_then(|()| std::fs::hard_link(&draft, path));
        let removed = std::fs::remove_file(&draft);
        match written {
            Ok(()) => removed.map(|()| token).map_err(io),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Self::load(path),
            Err(error) => Err(io(error)),
        }
    }

    /// The token in `path`.
    fn load(path: &Path) -> Result<Self, TokenError> {
        let io = |source| TokenError::Io { path: path.to_owned(), source };
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits())
            .expect("invariant: open flags fit the type open(2) takes");
        let file = File::options().read(true).custom_flags(flags).open(path).map_err(io)?;
        let found = file.metadata().map_err(io)?;
        let own = found.uid() == rustix::process::geteuid().as_raw();
        if !found.is_file() || !own || found.mode() & 0o077 != 0 {
            return Err(TokenError::NotPrivate { path: path.to_owned() });
        }
        let mut text = String::new();
        let most = 4 * TOKEN_BYTES as u64;
        let read = file.take(most).read_to_string(&mut text);
        read.ok()
            .and_then(|_| Self::from_hex(text.trim_end()))
            .ok_or_else(|| TokenError::Malformed { path: path.to_owned() })
    }

    fn random() -> Result<Self, TokenError> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(TokenError::NoRandomness)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// A token from its 64 hex digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let well_formed = text.len() == 2 * TOKEN_BYTES && text.bytes().all(|b| b.is_ascii_hexdigit());
        well_formed.then(|| Self(text.to_ascii_lowercase()))
    }

    /// The hex digits, for a client of the same user.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Whether `given` is this token, in time that depends on its length only.
    #[must_use]
    pub fn matches(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_made_once_private_and_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let made = Token::load_or_create(&path).unwrap();
        assert_eq!(made.secret().len(), 64);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert!(Token::load_or_create(&path).unwrap().matches(made.secret()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
        let other = Token::load_or_create(&dir.path().join("other")).unwrap();
        assert!(!other.matches(made.secret()));
        assert_eq!(format!("{made:?}"), "Token(..)");
    }

    #[test]
    fn files_others_can_read_links_and_broken_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        Token::load_or_create(&path).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(Token::load_or_create(&link), Err(TokenError::Io { .. })));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Token::load_or_create(&path), Err(TokenError::NotPrivate { .. })));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "short\n").unwrap();
        assert!(matches!(Token::load_or_create(&path), Err(TokenError::Malformed { .. })));
        assert!(matches!(Token::load_or_create(dir.path()), Err(TokenError::NotPrivate { .. })));
    }
}
