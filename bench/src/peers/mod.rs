//! Other programs that do the same job.

pub(crate) mod cao;
pub(crate) mod driver;
pub(crate) mod tmux;
pub(crate) mod unix_local;
pub(crate) mod vendors;
