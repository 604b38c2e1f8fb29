//! Ports on loopback for programs to serve at.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};

use ptyard_providers::EventWords;
use ptyard_providers::launch::Door;
use ptyard_terminal::{Outlives, replace_file};
use serde::{Deserialize, Serialize};

use super::super::token::Token;

/// Below the ports that kernels give to connections by themselves, so that none takes it before the program does.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// How many there are.
const COUNT: u16 = PORTS.end - PORTS.start;

/// How many are tried for one program.
const TRIES: usize = 32;

/// Where a door is written down, beside its terminal's log: for the server after this one.
const FILE: &str = "door.json";

/// A door, and what is said behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Served {
    pub(in super::super) words: EventWords,
    pub(in super::super) door: Door,
}

/// The same, as it is written down. It holds a secret, so it is shown by no `Debug`.
#[derive(Serialize, Deserialize)]
struct Written {
    words: EventWords,
    port: u16,
    secret: String,
}

impl Served {
    /// Writes it down in the directory of its terminal, for nobody but this user.
    pub(in super::super) fn keep(&self, directory: &Path) -> io::Result<()> {
        let written = Written { words: self.words, port: self.door.port, secret: self.door.secret.clone() };
        replace_file(&directory.join(FILE), &serde_json::to_vec(&written)?, Outlives::Process)
    }

    /// That of the terminal with this directory; `None` when its program serves nothing to us.
    pub(in super::super) fn kept(directory: &Path) -> Option<Self> {
        let written = std::fs::read(directory.join(FILE)).ok()?;
        let Written { words, port, secret } = serde_json::from_slice(&written).ok()?;
        Some(Self { words, door: Door { port, secret } })
    }
}

/// Gives out ports, one after the other: a program takes seconds to take its own, and does not come up when it is taken
/// by then. Where it begins is drawn, so that servers beside this one begin elsewhere.
#[derive(Debug)]
pub(in super::super) struct Doors {
    next: AtomicU16,
}

impl Default for Doors {
    fn default() -> Self {
        let mut bytes = [0; 2];
        // Without random bytes all begin at the same place, and find what is free.
        let _ = getrandom::fill(&mut bytes);
        Self { next: AtomicU16::new(u16::from_ne_bytes(bytes) % COUNT) }
    }
}

impl Doors {
    /// A port that nobody serves at now, with a secret of its own; `None` when none was found.
    pub(in super::super) fn find(&self) -> Option<Door> {
        let port = (0..TRIES).map(|_| self.next()).find(|port| is_free(*port))?;
        Some(Door { port, secret: Token::draw().reveal() })
    }

    fn next(&self) -> u16 {
        let step = |next: u16| Some((next + 1) % COUNT);
        let (Ok(next) | Err(next)) = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        PORTS.start + next
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_door_is_written_down_beside_its_terminal_and_nobody_else_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Served::kept(directory.path()), None);
        let door = Doors::default().find().unwrap();
        let served = Served { words: EventWords::Opencode, door };
        served.keep(directory.path()).unwrap();
        assert_eq!(Served::kept(directory.path()), Some(served.clone()));
        let mode = directory.path().join(FILE).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!format!("{served:?}").contains(&served.door.secret));
        std::fs::write(directory.path().join(FILE), "{").unwrap();
        assert_eq!(Served::kept(directory.path()), None);
    }

    #[test]
    fn doors_are_free_and_none_is_given_twice() {
        let doors = Doors { next: AtomicU16::new(COUNT - 2) };
        let taken: Vec<_> = (0..3).map(|_| doors.find().unwrap()).collect();
        // Held, or by somebody else already: it is passed over.
        let _held = TcpListener::bind((Ipv4Addr::LOCALHOST, taken[2].port + 1));
        let next = doors.find().unwrap();
        assert_ne!(next.port, taken[2].port + 1);
        for (n, door) in taken.iter().enumerate() {
            assert!(PORTS.contains(&door.port), "{door:?}");
            let others = taken[n + 1..].iter().chain([&next]);
            assert!(others.clone().all(|other| other.port != door.port && other.secret != door.secret));
        }
    }
}
