//! Conditions that end a window early.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use regex::{Regex, RegexBuilder};

use super::WindowLimits;
use crate::ErrorCode;

/// The statuses a terminal can have.
pub const STATUS_NAMES: [&str; 8] =
    ["starting", "idle", "processing", "completed", "waiting_user_answer", "error", "exited", "unknown"];

/// Largest compiled pattern: 1 MiB, several times what a hand-written pattern needs. A pattern comes from outside, and
/// counted repetitions nest (`(a{999}){999}`), so without a limit a short text could take gigabytes.
const PATTERN_SIZE_LIMIT_BYTES: usize = 1 << 20;

/// A condition that ends a window when it holds: `exit`, `quiet:MS`, `regex:RE`, `prompt` or `status:NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The program ended. This ends every window, asked for or not.
    Exit,
    /// New output came, and then none for this long.
    Quiet(Duration),
    /// New output, as plain text, matches.
    Regex(Pattern),
    /// The shell showed a new prompt.
    Prompt,
    /// The terminal has this status, one of [`STATUS_NAMES`].
    Status(&'static str),
}

impl Condition {
    /// Most conditions of one window: 16. Each pattern has its own memory and is searched for by itself.
    pub const MOST: usize = 16;

    /// The conditions written in `texts`.
    pub fn parse_all<T: AsRef<str>>(texts: &[T]) -> Result<Vec<Self>, ConditionError> {
        match texts.get(Self::MOST) {
            Some(one_more) => Err(ConditionError::InvalidArgument {
                given: one_more.as_ref().to_owned(),
                reason: "a window takes at most 16 conditions",
            }),
            None => texts.iter().map(|text| text.as_ref().parse()).collect(),
        }
    }
}

/// A regular expression over output text.
///
/// `^` and `$` match at lines, which end with LF or CR LF; the end of the output so far is an end of line too, so that
/// a prompt that waits on its line can be matched. `.` matches neither CR nor LF.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

/// Why a condition was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// The pattern does not compile, or is too large when it does.
    #[error("{pattern:?} is not a usable regular expression: {reason}")]
    InvalidRegex {
        /// The pattern as given.
        pattern: String,
        /// What the compiler says, in one line.
        reason: String,
    },
    /// The condition is known; what it was given is not usable.
    #[error("{given:?} is not a condition: {reason}")]
    InvalidArgument {
        /// The condition as given.
        given: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no such condition.
    #[error("{given:?} is not a condition")]
    UnsupportedCondition {
        /// The condition as given.
        given: String,
    },
}

impl ConditionError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::InvalidRegex { .. } => ErrorCode::InvalidRegex,
            Self::InvalidArgument { .. } => ErrorCode::InvalidArgument,
            Self::UnsupportedCondition { .. } => ErrorCode::UnsupportedCondition,
        }
    }
}

impl Pattern {
    /// Compiles `pattern`.
    pub fn new(pattern: &str) -> Result<Self, ConditionError> {
        RegexBuilder::new(pattern)
            .multi_line(true)
            .crlf(true)
            .size_limit(PATTERN_SIZE_LIMIT_BYTES)
            .build()
            .map(Self)
            .map_err(|error| ConditionError::InvalidRegex {
                pattern: pattern.to_owned(),
                reason: reason(&error),
            })
    }

    /// The pattern as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) const fn regex(&self) -> &Regex {
        &self.0
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

/// The last line of what the compiler says; the lines before draw the pattern with a caret.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().next_back().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(given: &str) -> Result<Self, ConditionError> {
        let refused = |reason| ConditionError::InvalidArgument { given: given.to_owned(), reason };
        let (word, argument) = match given.split_once(':') {
            Some((word, argument)) => (word, Some(argument)),
            None => (given, None),
        };
        match (word, argument) {
            ("exit", None) => Ok(Self::Exit),
            ("prompt", None) => Ok(Self::Prompt),
            ("quiet", Some(ms)) => parse_quiet(ms).map(Self::Quiet).ok_or_else(|| {
                refused("write quiet:MS with milliseconds up to 86400000, for example quiet:500")
            }),
            ("regex", Some("")) => Err(refused("the pattern is empty; write regex:RE")),
            ("regex", Some(pattern)) => Pattern::new(pattern).map(Self::Regex),
            ("status", Some(name)) => {
                STATUS_NAMES.into_iter().find(|known| *known == name).map(Self::Status).ok_or_else(|| {
                    refused(
                        "the statuses are starting, idle, processing, completed, waiting_user_answer, error, \
                         exited and unknown",
                    )
                })
            }
            ("exit" | "prompt", Some(_)) => Err(refused("it takes no value")),
            ("quiet" | "regex" | "status", None) => {
                Err(refused("it needs a value: quiet:MS, regex:RE, status:NAME"))
            }
            _ => Err(ConditionError::UnsupportedCondition { given: given.to_owned() }),
        }
    }
}

fn parse_quiet(ms: &str) -> Option<Duration> {
    // `u64::from_str` takes a plus sign.
    let digits = ms.bytes().all(|byte| byte.is_ascii_digit());
    let quiet = Duration::from_millis(ms.parse().ok().filter(|_| digits)?);
    (quiet <= WindowLimits::LONGEST).then_some(quiet)
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit => f.write_str("exit"),
            Self::Quiet(quiet) => write!(f, "quiet:{}", quiet.as_millis()),
            Self::Regex(pattern) => write!(f, "regex:{}", pattern.as_str()),
            Self::Prompt => f.write_str("prompt"),
            Self::Status(name) => write!(f, "status:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> ConditionError {
        text.parse::<Condition>().expect_err(text)
    }

    #[test]
    fn conditions_round_trip_as_text() {
        for text in
            ["exit", "quiet:0", "quiet:86400000", "regex:a:b", "regex:^\\$ $", "prompt", "status:idle"]
        {
            assert_eq!(text.parse::<Condition>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_code() {
        for text in ["quiet", "quiet:", "quiet:-1", "quiet:+1", "quiet:1.5", "quiet:86400001", "quiet:1e9"] {
            assert_eq!(refused(text).code(), ErrorCode::InvalidArgument, "{text}");
        }
        for text in ["exit:", "exit:0", "prompt:$", "regex", "regex:", "status", "status:Idle", "status:busy"]
        {
            assert_eq!(refused(text).code(), ErrorCode::InvalidArgument, "{text}");
        }
        for text in ["", "Exit", "quite:500", "timeout:5", " exit"] {
            assert_eq!(refused(text).code(), ErrorCode::UnsupportedCondition, "{text}");
        }
        for text in ["regex:(", "regex:(?=x)", "regex:\\1", "regex:((a{999}){999}){999}", "regex:a{99999}"] {
            assert_eq!(refused(text).code(), ErrorCode::InvalidRegex, "{text}");
        }
    }

    #[test]
    fn a_window_takes_so_many_conditions() {
        assert_eq!(Condition::parse_all(&["exit"; 16]).map(|conditions| conditions.len()), Ok(16));
        let error = Condition::parse_all(&["exit"; 17]).expect_err("one more");
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
    }

    #[test]
    fn refusals_are_one_line_and_say_why() {
        assert_eq!(
            refused("regex:a(b").to_string(),
            "\"a(b\" is not a usable regular expression: unclosed group"
        );
        for text in ["regex:((a{999}){999}){999}", "status:busy", "quiet:x", "nope"] {
            assert_eq!(refused(text).to_string().lines().count(), 1, "{text}");
        }
    }
}
