//! The last answer of an agent, out of what its terminal printed.
