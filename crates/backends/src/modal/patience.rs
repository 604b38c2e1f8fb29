//! How long it is tried to reach a program that cannot be reached.

use std::time::Duration;

use tokio::time::Instant;

use crate::remote::http::{CallError, jittered};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Counts the time since something last went well.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    failing_since: Option<Instant>,
    pause: Duration,
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Try again after this pause.
    Retry(Duration),
    /// It does not come back.
    GiveUp,
}

impl Patience {
    pub(super) const fn new(limit: Duration) -> Self {
        Self { limit, failing_since: None, pause: FIRST_PAUSE }
    }

    /// Something went well.
    pub(super) const fn went_well(&mut self) {
        self.failing_since = None;
        self.pause = FIRST_PAUSE;
    }

    /// Something failed.
    pub(super) fn failed(&mut self, error: &CallError, now: Instant) -> Next {
        let since = *self.failing_since.get_or_insert(now);
        if !error.may_pass() || now.duration_since(since) >= self.limit {
            return Next::GiveUp;
        }
        let pause = jittered(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Next::Retry(pause)
    }

    /// Whether it has failed more than once by now, so that it is worth asking somebody else why.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.pause > FIRST_PAUSE * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_borne_for_a_while_and_refusals_not() {
        let (broken, now) = (CallError::Broken("reset".to_owned()), Instant::now());
        let mut patience = Patience::new(Duration::from_secs(10));
        assert!(matches!(patience.failed(&broken, now), Next::Retry(pause) if pause <= FIRST_PAUSE));
        assert!(!patience.is_in_doubt());
        assert!(matches!(patience.failed(&broken, now + Duration::from_secs(9)), Next::Retry(_)));
        assert!(patience.is_in_doubt());
        assert_eq!(patience.failed(&broken, now + Duration::from_secs(10)), Next::GiveUp);
        patience.went_well();
        assert!(matches!(patience.failed(&broken, now + Duration::from_secs(11)), Next::Retry(_)));
        for _ in 0..20 {
            if let Next::Retry(pause) = patience.failed(&broken, now + Duration::from_secs(12)) {
                assert!(pause <= LONGEST_PAUSE);
            }
        }
        assert_eq!(patience.failed(&CallError::garbled("no"), now + Duration::from_secs(12)), Next::GiveUp);
    }
}
