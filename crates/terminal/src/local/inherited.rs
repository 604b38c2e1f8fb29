//! A descriptor from the program that this process was before, or that started it.

use std::fs::File;
use std::io;
use std::os::fd::RawFd;

use crate::sys::exec::Inherited;

/// The descriptor that was left open for this program by this number. It closes with the next exec from now on.
///
/// # Errors
/// When it is not open, or is a standard stream.
pub fn inherited(number: RawFd) -> io::Result<File> {
    Ok(Inherited::claim(&[number])?.take(number)?.into())
}
