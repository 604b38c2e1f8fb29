//! The output log, from outside: what it keeps, in every failure there is.

mod basics;
mod death;
mod disk;
mod kill;
mod model;
mod readers;
mod support;
