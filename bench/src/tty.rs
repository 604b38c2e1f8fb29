//! The limit: a pseudo terminal and a loop of blocking reads, with nothing between the kernel and the measurement.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::Outcome;

/// As much as a terminal is asked for at once. The kernel gives at most 4 KiB.
const READ_BYTES: usize = 64 * 1024;

/// A program on a pseudo terminal.
pub(crate) struct Tty {
    master: std::fs::File,
    child: Child,
    buffer: Vec<u8>,
}

impl Tty {
    pub(crate) fn start(argv: &[&str]) -> Outcome<Self> {
        let master: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = open(
            ptsname(&master, Vec::new())?.as_c_str(),
            OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let child = Command::new(argv[0])
            .args(&argv[1..])
            .stdin(slave.try_clone()?)
            .stdout(slave.try_clone()?)
            .stderr(Stdio::from(slave))
            .spawn()?;
        Ok(Self { master: master.into(), child, buffer: vec![0; READ_BYTES] })
    }

    /// The next bytes; none at the end.
    fn read(&mut self) -> io::Result<&[u8]> {
        match self.master.read(&mut self.buffer) {
            Ok(read) => Ok(&self.buffer[..read]),
            // The master of a terminal that nobody holds any more reads as EIO.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => Ok(&[]),
            Err(error) => Err(error),
        }
    }

    /// Reads to the end; gives the number of bytes.
    pub(crate) fn drain(mut self) -> io::Result<u64> {
        let mut sum = 0;
        loop {
            let read = self.read()?.len() as u64;
            if read == 0 {
                self.child.wait()?;
                return Ok(sum);
            }
            sum += read;
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.master.write_all(bytes)
    }

    /// Reads until what was read ends in `last`.
    pub(crate) fn read_until(&mut self, last: &[u8]) -> io::Result<()> {
        let mut seen = Vec::new();
        while !seen.ends_with(last) {
            let read = self.read()?;
            if read.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            seen.extend_from_slice(read);
        }
        Ok(())
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_gives_every_byte() {
        assert_eq!(Tty::start(&["printf", "a\\nb\\n"]).unwrap().drain().unwrap(), 6);
    }
}
