//! Sizes of a log.

/// How large the parts of a log are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// Bytes of the ring; rounded up to pages, at least two. A busy terminal keeps this much memory.
    pub ring_bytes: usize,
    /// Bytes of one segment file, the unit of eviction; at least one page.
    pub segment_bytes: u64,
    /// Bytes kept in segment files, at least two segments. The ring comes on top.
    pub quota_bytes: u64,
}

impl LogConfig {
    /// 64 KiB of ring: large enough that flushing costs a few percent of a drain, and a thousand busy terminals
    /// stay below 100 MB.
    pub const RING_BYTES: usize = 64 << 10;
    /// 8 MiB per segment: 32 files at the default quota.
    pub const SEGMENT_BYTES: u64 = 8 << 20;
    /// 256 MiB per terminal.
    pub const QUOTA_BYTES: u64 = 256 << 20;

    /// The same, keeping at most `bytes` of output in files, in segments that are small enough for it. Less than two
    /// pages cannot be kept.
    #[must_use]
    pub fn keeping(self, bytes: u64) -> Self {
        Self { segment_bytes: self.segment_bytes.min(bytes / 4), quota_bytes: bytes, ..self }
    }

    /// The same with every size inside its limits.
    pub(crate) fn within_limits(self) -> Self {
        let page = rustix::param::page_size();
        let segment_bytes = self.segment_bytes.max(page as u64);
        Self {
            ring_bytes: self.ring_bytes.next_multiple_of(page).max(2 * page),
            segment_bytes,
            quota_bytes: self.quota_bytes.max(2 * segment_bytes),
        }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            ring_bytes: Self::RING_BYTES,
            segment_bytes: Self::SEGMENT_BYTES,
            quota_bytes: Self::QUOTA_BYTES,
        }
    }
}
