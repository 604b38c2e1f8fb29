//! A terminal for the program under test.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

pub(crate) struct Pty {
    master: File,
    slave: File,
    shown: Vec<u8>,
}

impl Pty {
    pub(crate) fn new(cols: u16, rows: u16) -> Self {
        let master: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let no_controlling_terminal = OFlags::NOCTTY.bits() as i32;
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(no_controlling_terminal)
            .open(name)
            .unwrap();
        tcsetwinsize(&master, Winsize { ws_col: cols, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        Self { master: master.into(), slave, shown: Vec::new() }
    }

    pub(crate) fn spawn(&self, mut command: Command) -> Child {
        let end = || Stdio::from(self.slave.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Reads what is shown until `wanted` is in it, and gives all of it.
    pub(crate) fn read_until(&mut self, wanted: &str) -> String {
        let mut part = [0; 4096];
        loop {
            let text = String::from_utf8_lossy(&self.shown).into_owned();
            if text.contains(wanted) {
                return text;
            }
            let len = self.master.read(&mut part).unwrap();
            self.shown.extend_from_slice(&part[..len]);
        }
    }

    /// Whether input is edited line by line, as before a program took the terminal over.
    pub(crate) fn is_cooked(&self) -> bool {
        use rustix::termios::LocalModes;
        tcgetattr(&self.slave).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }
}
