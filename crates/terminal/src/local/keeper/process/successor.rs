//! A keeper's way into another program.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::Instant;

use super::{FIRST_SERVER, Keeper, Setting};
use crate::local::keeper::KeeperPlace;
use crate::local::keeper::kept::Kept;
use crate::local::keeper::opening::Upgraded;
use crate::local::keeper::packet::Packet;
use crate::local::keeper::seat::{Outgoing, Watch};
use crate::local::keeper::succession::{Bequest, Estate};
use crate::local::open_files;
use crate::local::tree::cgroup::Home;
use crate::sys::exec::Inherited;

impl<'a> Keeper<'a> {
    /// Becomes the program that the server asked for, once nothing is on its way. If that cannot be, the server hears
    /// why, and everything goes on.
    pub(super) fn follow_upgrade(&mut self) {
        let Some(seat) = &self.seat else {
            self.upgrade = None;
            return;
        };
        // What comes of a start belongs to it; and the answer to the server's hello is the old program's.
        if !self.starting.is_empty() || seat.wanted() == Watch::Both {
            return;
        }
        let (Some(new), seat) = (self.upgrade.take(), seat.socket().as_raw_fd()) else { return };
        for program in self.programs.values_mut() {
            // The new program opens the logs itself.
            program.close_log();
        }
        let why = self.estate(seat).pass_on(&new);
        tracing::warn!(why, program = %new.program.display(), "the keeper goes on as it is");
        if let (Some(seat), Ok(packet)) = (&mut self.seat, Packet::new(&Upgraded { refused: Some(why) })) {
            seat.push(Outgoing::Plain(packet));
        }
    }

    fn estate(&self, seat: RawFd) -> Estate {
        let raw = |fds: Vec<BorrowedFd<'_>>| fds.iter().map(AsRawFd::as_raw_fd).collect();
        let lock_of = |home: &Home| (home.path().to_owned(), home.lock().as_raw_fd());
        Estate {
            limits: self.limits.into(),
            next_number: self.next_number,
            program_open_files: open_files::for_programs(),
            lock: self.lock.as_raw_fd(),
            listener: self.listener.as_raw_fd(),
            seat,
            waiting: raw(self.waiting.iter().map(AsFd::as_fd).collect()),
            home: self.home.as_deref().map(lock_of),
            homes: self.homes.iter().map(|home| lock_of(home)).collect(),
            programs: (self.programs.iter())
                .map(|(number, program)| Bequest {
                    number: *number,
                    known: self.numbers.get(&program.id) == Some(number),
                    program: program.describe(),
                    descriptors: raw(program.descriptors()),
                })
                .collect(),
        }
    }

    /// Goes on as the program before, in the same process.
    pub(super) fn resume(place: &'a KeeperPlace, estate: Estate, fds: &mut Inherited) -> io::Result<Self> {
        if let Some(limit) = estate.program_open_files {
            open_files::inherit(limit);
        }
        let home = |(path, lock)| io::Result::Ok(Home::of_the_dead(path, fds.take(lock)?));
        let homes: Vec<_> =
            estate.home.clone().into_iter().chain(estate.homes).map(home).collect::<Result<_, _>>()?;
        let mut homes = homes.into_iter();
        let own = if estate.home.is_some() { homes.next() } else { None };
        let lock = File::from(fds.take(estate.lock)?);
        let setting = Setting { lock, listener: fds.take(estate.listener)?, home: own };
        let mut keeper = Self::open(place, setting)?;
        keeper.homes = homes.collect();
        keeper.limits = estate.limits.into();
        keeper.next_number = estate.next_number;
        keeper.idle_until = Some(Instant::now() + FIRST_SERVER);
        keeper.waiting =
            (estate.waiting.into_iter()).map(|fd| fds.take(fd)).collect::<io::Result<VecDeque<_>>>()?;
        for Bequest { number, known, program, descriptors } in estate.programs {
            let id = program.id;
            let descriptors = descriptors.into_iter().map(|fd| fds.take(fd)).collect::<io::Result<_>>()?;
            let Some(program) = Kept::found(program, descriptors) else { continue };
            if known {
                keeper.numbers.insert(id, number);
            }
            keeper.keep_program(number, program);
            keeper.watch_output(number);
        }
        keeper.seat(fds.take(estate.seat)?);
        if let Some(seat) = &mut keeper.seat {
            seat.push(Outgoing::Plain(Packet::new(&Upgraded { refused: None })?));
        }
        keeper.flush();
        tracing::info!(
            programs = keeper.programs.len(),
            "the keeper goes on as version {}",
            env!("CARGO_PKG_VERSION")
        );
        Ok(keeper)
    }
}
