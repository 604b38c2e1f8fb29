//! Whether servers can still come to a keeper.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use std::{io, mem};

use rustix::event::epoll::{self, EventFlags};
use rustix::fs::inotify;

use super::{About, Keeper};
use crate::local::keeper::KeeperPlace;
use crate::local::keeper::kept::Kept;

/// How long after something happened to the socket's file the place is looked at: whoever removes the whole directory
/// shall not find a new file in it.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// Whether servers can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// They can.
    Open,
    /// The state directory is gone, or another one is in its place. Nobody can ever ask for the programs again.
    Lost,
}

/// Tells when something happens to the socket's file.
pub(super) fn watch(place: &KeeperPlace) -> io::Result<OwnedFd> {
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
    let events =
        inotify::WatchFlags::ATTRIB | inotify::WatchFlags::DELETE_SELF | inotify::WatchFlags::MOVE_SELF;
    inotify::add_watch(&watch, place.socket(), events)?;
    Ok(watch)
}

impl Keeper<'_> {
    /// Whether the state directory is still the one whose lock is held.
    fn place_is_ours(&self) -> bool {
        let held = self.lock.metadata().map(|lock| (lock.dev(), lock.ino()));
        let there = fs::metadata(self.place.lock_file()).map(|lock| (lock.dev(), lock.ino()));
        matches!((held, there), (Ok(held), Ok(there)) if held == there)
    }

    /// Something happened to the socket's file.
    pub(super) fn place_changed(&mut self) {
        let mut room = [0; 512];
        while rustix::io::read(&self.place_watch, &mut room).is_ok_and(|count| count > 0) {}
        self.place_look = Some(Instant::now() + LOOK_AFTER);
    }

    /// Looks what became of the place. A socket that was only removed (some clean up directories for temporary files that
    /// way) is made again; with the directory goes all reason to go on.
    pub(super) fn look_at_place(&mut self) {
        self.place_look = None;
        if self.reach == Reach::Lost || (self.place_is_ours() && self.place.socket().exists()) {
            return;
        }
        if !self.place_is_ours() || self.open_again().is_err() {
            tracing::warn!("the state directory is gone: programs end with the server");
            self.reach = Reach::Lost;
        }
    }

    fn open_again(&mut self) -> io::Result<()> {
        let listener = self.place.listen()?;
        let place_watch = watch(self.place)?;
        epoll::add(&self.epoll, &listener, About::Listener.data(), EventFlags::IN)?;
        epoll::add(&self.epoll, &place_watch, About::Place.data(), EventFlags::IN)?;
        // Nobody else has the old ones, so closing them takes them out.
        drop(mem::replace(&mut self.listener, listener));
        drop(mem::replace(&mut self.place_watch, place_watch));
        Ok(())
    }

    /// Ends all programs: nobody can reach them any more.
    pub(super) fn end_everything(&mut self) {
        self.home.iter().chain(&self.homes).for_each(|home| home.kill());
        // Nobody will say when they may be reaped.
        self.numbers.clear();
        let numbers: Vec<u64> = self.programs.keys().copied().collect();
        for number in numbers {
            self.forget_output(number);
            self.with_number(number, |program| {
                program.kill();
                program.reap();
            });
        }
    }

    fn forget_output(&mut self, number: u64) {
        self.held_back.remove(&number);
        if let Some(source) = self.programs.get(&number).and_then(Kept::source) {
            let _ = epoll::delete(&self.epoll, source.as_fd());
        }
    }

    /// Takes the socket away, before the lock goes, so that nobody's new one is removed.
    pub(super) fn leave_place(&self) {
        if self.place_is_ours() {
            let _ = fs::remove_file(self.place.socket());
        }
    }
}
