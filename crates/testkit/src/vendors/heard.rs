//! What a server was asked.

use std::sync::Mutex;

use super::locked;

/// Requests that are remembered; the oldest go first.
const MOST: usize = 10_000;

/// Requests in their order, each as a line.
#[derive(Debug, Default)]
pub(super) struct Heard(Mutex<Vec<String>>);

impl Heard {
    pub(super) fn note(&self, request: String) {
        let mut all = locked(&self.0);
        if all.len() == MOST {
            all.remove(0);
        }
        all.push(request);
    }

    /// How many had this in their line.
    pub(super) fn count(&self, what: &str) -> usize {
        locked(&self.0).iter().filter(|request| request.contains(what)).count()
    }

    pub(super) fn forget(&self) {
        locked(&self.0).clear();
    }
}
