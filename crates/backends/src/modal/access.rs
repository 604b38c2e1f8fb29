//! A token for the machine on which a sandbox runs, and for how long it is good.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use tokio::time::Instant;

use crate::remote::credentials::Secret;

/// A token is replaced this long before its end, or a quarter of its life if that is shorter.
const MARGIN: Duration = Duration::from_secs(30);

/// A token.
///
/// It is not this machine's clock that says when it is over, which may be wrong: what counts is how long it is good
/// from when it came. When that cannot be known, the far side says so when it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) jwt: Secret,
    /// When to ask for the next one.
    due: Option<Instant>,
}

/// What the token says of itself, in seconds.
#[derive(Deserialize)]
struct Claims {
    exp: f64,
    iat: Option<f64>,
}

impl Access {
    /// A token that came just now; `now` and `wall` are the time on two clocks.
    pub(super) fn new(jwt: String, now: Instant, wall: SystemTime) -> Self {
        let due = life(&jwt, wall).map(|life| now + life.saturating_sub(MARGIN.min(life / 4)));
        Self { jwt: Secret::new(jwt), due }
    }

    /// Whether it should be replaced before it is used.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| due <= now)
    }
}

/// How long a token is good; `None` when it does not say, or this machine's clock is so wrong that it cannot be told.
fn life(jwt: &str, wall: SystemTime) -> Option<Duration> {
    let mut parts = jwt.split('.');
    let (_header, claims) = (parts.next()?, parts.next()?);
    let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    let claims: Claims = serde_json::from_slice(&claims).ok()?;
    let begins = match claims.iat {
        Some(issued) => issued,
        None => wall.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64(),
    };
    Duration::try_from_secs_f64(claims.exp - begins).ok().filter(|life| !life.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 1_800_000_000;

    fn jwt(claims: &str) -> String {
        format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims))
    }

    fn due_after(claims: &str) -> Option<Duration> {
        let now = Instant::now();
        let access = Access::new(jwt(claims), now, SystemTime::UNIX_EPOCH + Duration::from_secs(NOON));
        access.due.map(|due| due - now)
    }

    #[test]
    fn a_token_is_replaced_before_its_end() {
        assert_eq!(due_after(&format!(r#"{{"exp":{}}}"#, NOON + 3600)), Some(Duration::from_secs(3570)));
        assert_eq!(due_after(&format!(r#"{{"exp":{}}}"#, NOON + 40)), Some(Duration::from_secs(30)));
    }

    #[test]
    fn a_wrong_clock_makes_no_token_old() {
        // Of a clock that is an hour fast every token would be over: it is used until the far side refuses it.
        assert_eq!(due_after(&format!(r#"{{"exp":{}}}"#, NOON - 3000)), None);
        // One that says when it was made needs no clock.
        let dated = format!(r#"{{"iat":{},"exp":{}}}"#, NOON - 7200, NOON - 6600);
        assert_eq!(due_after(&dated), Some(Duration::from_secs(570)));
    }

    #[test]
    fn a_token_that_says_nothing_is_used_until_it_is_refused() {
        for claims in ["{}", "no", r#"{"exp":"soon"}"#, r#"{"exp":1e300}"#] {
            assert_eq!(due_after(claims), None, "{claims}");
        }
        let access = Access::new("opaque".to_owned(), Instant::now(), SystemTime::now());
        assert!(!access.is_due(Instant::now()));
        assert!(!format!("{access:?}").contains("opaque"));
    }
}
