//! Other programs that do the same job.

pub(crate) mod tmux;
pub(crate) mod unix_local;
