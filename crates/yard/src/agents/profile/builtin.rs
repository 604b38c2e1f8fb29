//! The profiles that are always there.

/// Name of the file and its text.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("supervisor", include_str!("../../../profiles/supervisor.md")),
    ("developer", include_str!("../../../profiles/developer.md")),
    ("reviewer", include_str!("../../../profiles/reviewer.md")),
];
