//! Who speaks for a terminal: only a program that was given its token.
//!
//! The token is drawn when the terminal is started, put into the environment of its program and written beside its log.
//! A sender is whoever shows the token of a terminal; there is no field in which a name could be claimed.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::str::FromStr;

/// The variable by which a program knows its token.
pub const TOKEN_VARIABLE: &str = "PTYARD_TOKEN";

const FILE: &str = "token";

const BYTES: usize = 32;

/// 256 random bits, written as 64 lowercase hexadecimal digits. `Debug` shows none of them.
#[derive(Clone)]
pub struct Token([u8; BYTES]);

/// A text that is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no token of a terminal")]
pub struct BadToken;

impl Token {
    /// A new one.
    ///
    /// # Panics
    /// When the kernel gives no random bytes, which it does once it has booted.
    #[must_use]
    pub fn draw() -> Self {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).expect("invariant: the kernel gives random bytes once it has booted");
        Self(bytes)
    }

    /// The text that a program is given.
    #[must_use]
    pub fn reveal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether it is this one, in a time that tells nothing about it.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        let differs = self.0.iter().zip(other.0).fold(0, |differs, (a, b)| differs | (a ^ b));
        std::hint::black_box(differs) == 0
    }

    /// Writes it down in the directory of its terminal.
    ///
    /// # Errors
    /// When it cannot be written, or there is one already.
    pub fn keep(&self, directory: &Path) -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(directory.join(FILE))?;
        file.write_all(self.reveal().as_bytes())
    }

    /// The token of the terminal with this directory; `None` when it was given none.
    #[must_use]
    pub fn kept(directory: &Path) -> Option<Self> {
        std::fs::read_to_string(directory.join(FILE)).ok()?.parse().ok()
    }
}

impl FromStr for Token {
    type Err = BadToken;

    fn from_str(text: &str) -> Result<Self, BadToken> {
        let digits = text.as_bytes();
        let mut bytes = [0; BYTES];
        if digits.len() != 2 * BYTES || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        {
            return Err(BadToken);
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| BadToken)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| BadToken)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_kept_beside_its_terminal_and_nobody_else_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Token::kept(directory.path()).is_none());
        let token = Token::draw();
        token.keep(directory.path()).unwrap();
        assert!(Token::kept(directory.path()).unwrap().is(&token));
        let mode = directory.path().join(FILE).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(token.keep(directory.path()).is_err(), "a token is never replaced");
        assert!(!format!("{token:?}").contains(&token.reveal()));
    }

    #[test]
    fn only_the_same_token_is_it() {
        let token = Token::draw();
        let shown = token.reveal();
        assert!(shown.parse::<Token>().unwrap().is(&token));
        assert!(!Token::draw().is(&token));
        let last = if shown.ends_with('0') { "1" } else { "0" };
        assert!(!format!("{}{last}", &shown[..63]).parse::<Token>().unwrap().is(&token));
        for bad in [
            "",
            "00",
            &shown[1..],
            &format!("{shown}0"),
            &shown.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A"),
            &"é".repeat(32),
        ] {
            assert!(bad.parse::<Token>().is_err(), "{bad:?}");
        }
    }
}
