//! Names of profiles.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// 1 to 64 of `A-Z a-z 0-9 _ -`: safe as a file name, in a window title and on a command line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileName(String);

/// A name that cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no profile name: 1 to {most} of A-Z a-z 0-9 _ -", most = ProfileName::MOST_BYTES)]
pub struct BadName(String);

impl ProfileName {
    /// Longest name.
    pub const MOST_BYTES: usize = 64;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ProfileName {
    type Err = BadName;

    fn from_str(name: &str) -> Result<Self, BadName> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let good = (1..=Self::MOST_BYTES).contains(&name.len()) && name.bytes().all(plain);
        if good { Ok(Self(name.to_owned())) } else { Err(BadName(name.to_owned())) }
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ProfileName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}
