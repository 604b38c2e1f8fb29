//! The last answer of an agent, out of what its terminal printed.
//!
//! [`Reader`] draws the log again, with all that scrolled away: lines of the normal screen go to the scrollback;
//! a transcript that a full-screen program scrolls by itself is put together from its frames. The rows after the
//! user's last message are the answer, and what the program drew is taken back to what the agent wrote.

mod extract;
mod reader;
mod stitch;
mod text;

pub use reader::{Answer, Reader};

#[cfg(test)]
mod tests;
