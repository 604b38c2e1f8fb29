//! What one terminal may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of one terminal. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Longest life of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<Duration>,
    /// Longest time without output and without input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Duration>,
    /// Most memory of the program and all it started, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Most processes and threads of the program and all it started, itself included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u32>,
    /// Most bytes of output kept; the oldest goes. Ends nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
}

/// A limit that ends the program which reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// [`Limits::wall`].
    Wall,
    /// [`Limits::idle`].
    Idle,
    /// [`Limits::memory_bytes`].
    Memory,
    /// [`Limits::processes`].
    Processes,
}

impl Limit {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Wall, Self::Idle, Self::Memory, Self::Processes];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Idle => "idle",
            Self::Memory => "memory",
            Self::Processes => "processes",
        }
    }

    /// What an exit says about who ended the program: [`Exit::by`](crate::Exit::by).
    #[must_use]
    pub const fn by(self) -> &'static str {
        match self {
            Self::Wall => "limit:wall",
            Self::Idle => "limit:idle",
            Self::Memory => "limit:memory",
            Self::Processes => "limit:processes",
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A limit that no terminal can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the limit {name} is {given}, it must be at least {least}")]
pub struct LimitTooLow {
    /// Its name.
    pub name: &'static str,
    /// What was asked.
    pub given: String,
    /// The least there is.
    pub least: &'static str,
}

impl Limits {
    /// A program without a page of memory cannot start: 1 MiB is what the smallest shells need.
    const LEAST_MEMORY_BYTES: u64 = 1 << 20;
    /// Two segments of a few pages each.
    const LEAST_LOG_BYTES: u64 = 64 << 10;

    /// Whether anything is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// # Errors
    /// When one is too low to mean anything.
    pub fn check(&self) -> Result<(), LimitTooLow> {
        let low = |name, given: String, least| Err(LimitTooLow { name, given, least });
        for (name, time) in [("wall", self.wall), ("idle", self.idle)] {
            if time.is_some_and(|time| time.is_zero()) {
                return low(name, "0".to_owned(), "1 ms");
            }
        }
        match *self {
            Self { memory_bytes: Some(n), .. } if n < Self::LEAST_MEMORY_BYTES => {
                low("memory", format!("{n} bytes"), "1 MiB")
            }
            Self { processes: Some(0), .. } => low("processes", "0".to_owned(), "1"),
            Self { log_bytes: Some(n), .. } if n < Self::LEAST_LOG_BYTES => {
                low("log", format!("{n} bytes"), "64 KiB")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_says_in_an_exit_that_it_was_one() {
        for limit in Limit::ALL {
            assert_eq!(limit.by(), format!("limit:{limit}"));
        }
    }

    #[test]
    fn limits_that_no_program_could_live_with_are_refused_by_name() {
        let told = |limits: Limits| limits.check().unwrap_err().to_string();
        assert_eq!(
            told(Limits { wall: Some(Duration::ZERO), ..Limits::default() }),
            "the limit wall is 0, it must be at least 1 ms"
        );
        assert!(told(Limits { idle: Some(Duration::ZERO), ..Limits::default() }).contains("idle"));
        assert!(told(Limits { memory_bytes: Some(4096), ..Limits::default() }).contains("1 MiB"));
        assert!(told(Limits { processes: Some(0), ..Limits::default() }).contains("processes"));
        assert!(told(Limits { log_bytes: Some(1), ..Limits::default() }).contains("64 KiB"));
        let all = Limits {
            wall: Some(Duration::from_millis(1)),
            idle: Some(Duration::MAX),
            memory_bytes: Some(u64::MAX),
            processes: Some(1),
            log_bytes: Some(64 << 10),
        };
        assert_eq!(all.check(), Ok(()));
    }
}
