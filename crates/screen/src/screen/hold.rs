//! Synchronized updates: output held back until its frame is complete.

use std::time::Duration;

use ptyard_core::Moment;

/// How long an update may take before what there is of it is drawn.
pub const SYNC_TIMEOUT: Duration = Duration::from_millis(150);

/// Most bytes of an update that are held; a longer one is drawn as it comes. A full repaint of a large screen
/// in 24-bit colours is about 200 KB.
pub(super) const HOLD_CAP: usize = 1 << 20;

/// A synchronized update that is going on.
#[derive(Debug)]
pub(super) struct Hold {
    /// What came since it began.
    pub(super) bytes: Vec<u8>,
    /// When it is drawn in any case.
    pub(super) deadline: Moment,
}

impl Hold {
    pub(super) fn begin(now: Moment) -> Self {
        Self { bytes: Vec::new(), deadline: now + SYNC_TIMEOUT }
    }
}
