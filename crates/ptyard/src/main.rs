//! The `ptyard` program.
fn main() {}
