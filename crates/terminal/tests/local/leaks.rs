//! Nothing is left behind.
