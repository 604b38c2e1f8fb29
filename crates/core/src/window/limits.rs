//! How long a window may take and how much it may show.

use std::time::Duration;

use crate::ErrorCode;

/// The call a window is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// A program was started.
    Exec,
    /// Something was typed.
    Write,
    /// Nothing was typed: output is only collected.
    Poll,
}

/// What besides the program's end can end a window before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Nothing.
    AtDeadline,
    /// Conditions were given.
    OnConditions,
}

/// A limit was overstepped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// A number of tokens that cannot be a cap.
    #[error(
        "{given} is not a number of tokens: it must be {}..={}",
        WindowLimits::MIN_TOKENS,
        WindowLimits::MAX_TOKENS
    )]
    MaxTokens {
        /// What was given.
        given: i64,
    },
}

impl LimitError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::MaxTokens { .. } => ErrorCode::InvalidArgument,
        }
    }
}

/// The limits of windows: the clamps that models and their tools were made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowLimits;

impl WindowLimits {
    /// Time of a window after a start, when none was given: 10 s.
    pub const EXEC_DEFAULT: Duration = Duration::from_secs(10);
    /// Time of a window after typing, when none was given: 250 ms.
    pub const WRITE_DEFAULT: Duration = Duration::from_millis(250);
    /// Shortest window: 250 ms, so that a zero still returns what a program prints at once.
    pub const SHORTEST: Duration = Duration::from_millis(250);
    /// Longest window that ends by time: 30 s, below the time after which callers give a tool up.
    pub const LONGEST_TIMED: Duration = Duration::from_secs(30);
    /// Shortest window of a poll: 5 s, so that a model that polls in a loop does not burn its turns.
    pub const SHORTEST_POLL: Duration = Duration::from_secs(5);
    /// Time of a window with conditions, when none was given: 10 s. Who names what to wait for means to wait; the 250 ms
    /// of a plain write would nearly always be over first.
    pub const CONDITIONS_DEFAULT: Duration = Duration::from_secs(10);
    /// Longest window of all: 24 h, for windows with conditions. Nobody waits longer for one answer, and sums of times
    /// stay far from overflow.
    pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

    /// Fewest tokens a window can be capped to.
    pub const MIN_TOKENS: i64 = 1;
    /// Most tokens a window can be capped to: 4,000,000, so 16 MB of text.
    pub const MAX_TOKENS: i64 = 4_000_000;
    /// The cap when none was given: 10,000 tokens, so 40 kB of text.
    pub const DEFAULT_TOKENS: i64 = 10_000;

    /// How long a window of `call` takes at most when `asked_ms` milliseconds were asked for.
    ///
    /// Any number is good: it is clamped. With conditions only [`WindowLimits::LONGEST`] and zero limit it.
    #[must_use]
    pub fn yield_time(call: Call, ends: Ends, asked_ms: Option<i128>) -> Duration {
        let default = match (ends, call) {
            (Ends::OnConditions, _) => Self::CONDITIONS_DEFAULT,
            (Ends::AtDeadline, Call::Exec) => Self::EXEC_DEFAULT,
            (Ends::AtDeadline, Call::Write | Call::Poll) => Self::WRITE_DEFAULT,
        };
        let asked = asked_ms.map_or(default, |ms| {
            let ms = ms.clamp(0, Self::LONGEST.as_millis() as i128);
            Duration::from_millis(u64::try_from(ms).expect("invariant: clamped to 24 h"))
        });
        match (ends, call) {
            (Ends::OnConditions, _) => asked,
            (Ends::AtDeadline, Call::Exec | Call::Write) => asked.clamp(Self::SHORTEST, Self::LONGEST_TIMED),
            (Ends::AtDeadline, Call::Poll) => asked.clamp(Self::SHORTEST_POLL, Self::LONGEST_TIMED),
        }
    }

    /// The cap of a window when `asked` tokens were asked for.
    pub fn max_tokens(asked: Option<i64>) -> Result<i64, LimitError> {
        let tokens = asked.unwrap_or(Self::DEFAULT_TOKENS);
        if (Self::MIN_TOKENS..=Self::MAX_TOKENS).contains(&tokens) {
            Ok(tokens)
        } else {
            Err(LimitError::MaxTokens { given: tokens })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(call: Call, asked_ms: Option<i128>) -> u128 {
        WindowLimits::yield_time(call, Ends::AtDeadline, asked_ms).as_millis()
    }

    fn conditional(call: Call, asked_ms: Option<i128>) -> u128 {
        WindowLimits::yield_time(call, Ends::OnConditions, asked_ms).as_millis()
    }

    #[test]
    fn times_are_clamped_as_the_contract_says() {
        let asked = [-1, 0, 249, 251, 4_999, 5_000, 30_000, 30_001, 1_000_000_000, i128::MIN, i128::MAX];
        let written = [250, 250, 250, 251, 4_999, 5_000, 30_000, 30_000, 30_000, 250, 30_000];
        let polled = [5_000, 5_000, 5_000, 5_000, 5_000, 5_000, 30_000, 30_000, 30_000, 5_000, 30_000];
        for ((asked, written), polled) in asked.into_iter().zip(written).zip(polled) {
            assert_eq!(timed(Call::Exec, Some(asked)), written, "exec {asked}");
            assert_eq!(timed(Call::Write, Some(asked)), written, "write {asked}");
            assert_eq!(timed(Call::Poll, Some(asked)), polled, "poll {asked}");
        }
    }

    #[test]
    fn each_call_has_its_default() {
        assert_eq!(timed(Call::Exec, None), 10_000);
        assert_eq!(timed(Call::Write, None), 250);
        assert_eq!(timed(Call::Poll, None), 5_000);
        for call in [Call::Exec, Call::Write, Call::Poll] {
            assert_eq!(conditional(call, None), 10_000, "{call:?}");
        }
    }

    #[test]
    fn with_conditions_only_a_day_limits_the_time() {
        for (asked, given) in
            [(i128::MIN, 0), (-1, 0), (0, 0), (1, 1), (90_000, 90_000), (i128::MAX, 86_400_000)]
        {
            assert_eq!(conditional(Call::Poll, Some(asked)), given, "{asked}");
        }
    }

    #[test]
    fn caps_outside_the_limits_are_refused() {
        assert_eq!(WindowLimits::max_tokens(None), Ok(10_000));
        for good in [1, 4_000_000] {
            assert_eq!(WindowLimits::max_tokens(Some(good)), Ok(good));
        }
        for bad in [i64::MIN, -5, 0, 4_000_001, i64::MAX] {
            let error = WindowLimits::max_tokens(Some(bad)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument);
            assert!(error.to_string().starts_with(&bad.to_string()));
        }
    }
}
