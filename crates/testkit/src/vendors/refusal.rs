//! Requests that are refused on purpose.

/// Refusals to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Part of a path, as `/sandboxes` or `SendInput`; some servers take the method before it.
    pub path: &'static str,
    /// The status.
    pub status: u16,
    /// How often.
    pub times: u32,
}

impl Refusal {
    /// The status that a request for this path is refused with, which counts.
    pub(super) fn refuses(refusal: &mut Option<Self>, path: &str) -> Option<u16> {
        let refusal = refusal.as_mut().filter(|refusal| refusal.times > 0 && path.contains(refusal.path))?;
        refusal.times -= 1;
        Some(refusal.status)
    }
}
