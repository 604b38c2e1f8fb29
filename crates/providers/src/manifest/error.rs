//! What is wrong with a manifest.

use ptyard_core::ErrorCode;

/// What is wrong with a manifest, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ManifestError {
    /// The line of the file, from 1.
    pub line: usize,
    /// What is wrong, in one sentence.
    pub message: String,
}

impl ManifestError {
    /// An error at byte `at` of `source`.
    pub(crate) fn at(source: &str, at: usize, message: impl Into<String>) -> Self {
        let before = &source.as_bytes()[..at.min(source.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Self { line, message: message.into() }
    }

    /// Its code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::InvalidArgument
    }
}
