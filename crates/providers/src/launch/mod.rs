//! How a program is started.

mod recipe;

pub use recipe::Recipe;
