//! The keeper's process: one loop over everything that happens.

mod place;
mod programs;
mod successor;
mod talk;

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptyard_core::TerminalId;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions};

use self::place::Reach;
use super::KeeperPlace;
use super::kept::Kept;
use super::opening::NewProgram;
use super::seat::Seat;
use super::succession::Estate;
use crate::local::Containment;
use crate::local::fork::Starting;
use crate::local::launcher::Order;
use crate::local::strays;
use crate::local::tree::cgroup::Home;
use crate::log::LogConfig;
use crate::sys;

/// How long a new keeper waits for its first server.
const FIRST_SERVER: Duration = Duration::from_secs(30);

/// How long until a log that could not be written is tried again. The program waits meanwhile; nothing is lost.
const RETRY: Duration = Duration::from_millis(250);

/// Events taken at once.
const EVENTS: usize = 64;

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Listener,
    Seat,
    Children,
    /// A child that starts has become its program, or not.
    Report(u64),
    /// A program has ended.
    End(u64),
    /// A program has printed something.
    Output(u64),
    /// Something happened to the socket's file.
    Place,
}

impl About {
    fn data(self) -> EventData {
        let (kind, number) = match self {
            Self::Listener => (0, 0),
            Self::Seat => (1, 0),
            Self::Children => (2, 0),
            Self::Report(number) => (3, number),
            Self::End(number) => (4, number),
            Self::Output(number) => (5, number),
            Self::Place => (6, 0),
        };
        EventData::new_u64(number << 3 | kind)
    }

    fn of(data: EventData) -> Self {
        let number = data.u64() >> 3;
        match data.u64() & 7 {
            0 => Self::Listener,
            1 => Self::Seat,
            2 => Self::Children,
            3 => Self::Report(number),
            4 => Self::End(number),
            5 => Self::Output(number),
            _ => Self::Place,
        }
    }
}

/// Keeps the programs of `place` until no program and no server is left. `ready` is called once servers can come.
/// Where [`Containment::Cgroup`] cannot be had, it is [`Containment::Walk`].
///
/// For a process of its own, without threads: it blocks a signal, adopts orphans, and forks. It waits until the keeper
/// before it is gone.
///
/// # Errors
/// When the place cannot be used, or the system refuses what nothing works without.
pub fn run(place: &KeeperPlace, containment: Containment, ready: impl FnOnce()) -> io::Result<()> {
    let mut lock = place.lock()?;
    // For people, and for nothing else: on a full disk programs want a keeper all the more.
    let _unnamed = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
    let home = match containment {
        Containment::Cgroup => Home::open()
            .inspect_err(
                |error| tracing::info!(%error, "no cgroup can be used: programs are kept together by looking at all processes"),
            )
            .ok(),
        Containment::Walk => None,
    };
    let keeper = Keeper::open(place, Setting { lock, listener: place.listen()?, home })?;
    ready();
    keep(keeper)
}

/// Goes on as the keeper that this process was before it executed this program, which left descriptor `estate` open.
///
/// # Errors
/// As [`run`], and when what it left cannot be taken. Its programs lose their keeper then.
pub fn resume(place: &KeeperPlace, estate: RawFd) -> io::Result<()> {
    let (estate, mut descriptors) = Estate::inherit(estate)?;
    keep(Keeper::resume(place, estate, &mut descriptors)?)
}

fn keep(mut keeper: Keeper<'_>) -> io::Result<()> {
    let kept = keeper.keep();
    keeper.leave_place();
    kept
}

/// What a keeper begins with.
struct Setting {
    lock: File,
    listener: OwnedFd,
    home: Option<Arc<Home>>,
}

struct Keeper<'a> {
    place: &'a KeeperPlace,
    /// Held as long as this process lives.
    lock: File,
    /// Tells when the socket's file goes.
    place_watch: OwnedFd,
    reach: Reach,
    /// When the place is looked at, after something happened to the socket's file.
    place_look: Option<Instant>,
    epoll: OwnedFd,
    listener: OwnedFd,
    children: OwnedFd,
    home: Option<Arc<Home>>,
    /// The cgroups of keepers that died, which nobody shall clear away while programs live in them.
    homes: Vec<Arc<Home>>,
    limits: LogConfig,
    seat: Option<Seat>,
    waiting: VecDeque<OwnedFd>,
    /// The program that the server wants this one to become.
    upgrade: Option<NewProgram>,
    programs: BTreeMap<u64, Kept>,
    numbers: BTreeMap<TerminalId, u64>,
    starting: BTreeMap<u64, (Starting, Order, Instant)>,
    next_number: u64,
    /// Programs whose output waits until its log is tried again.
    held_back: BTreeMap<u64, Instant>,
    /// When a keeper that nobody came to gives up.
    idle_until: Option<Instant>,
}

impl<'a> Keeper<'a> {
    fn open(place: &'a KeeperPlace, setting: Setting) -> io::Result<Self> {
        let Setting { lock, listener, home } = setting;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let children = sys::signal::ended_children()?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, About::Listener.data(), EventFlags::IN)?;
        epoll::add(&epoll, &children, About::Children.data(), EventFlags::IN)?;
        let place_watch = place::watch(place)?;
        epoll::add(&epoll, &place_watch, About::Place.data(), EventFlags::IN)?;
        Ok(Self {
            place,
            lock,
            place_watch,
            reach: Reach::Open,
            place_look: None,
            epoll,
            listener,
            children,
            home,
            homes: Vec::new(),
            limits: LogConfig::default(),
            seat: None,
            waiting: VecDeque::new(),
            upgrade: None,
            programs: BTreeMap::new(),
            numbers: BTreeMap::new(),
            starting: BTreeMap::new(),
            next_number: 0,
            held_back: BTreeMap::new(),
            idle_until: Some(Instant::now() + FIRST_SERVER),
        })
    }

    fn keep(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            if self.seat.is_none()
                && let Some(next) = self.waiting.pop_front()
            {
                self.seat(next);
            }
            if self.seat.is_none() && self.reach == Reach::Lost {
                self.end_everything();
            }
            let is_idle = self.seat.is_none() && self.programs.is_empty() && self.starting.is_empty();
            if is_idle && self.idle_until.is_none_or(|until| until <= Instant::now()) {
                return Ok(());
            }
            let timeout = self.next_deadline().map(|at| at.saturating_duration_since(Instant::now()));
            // Rounded up, so that the deadline has come when the wait is over.
            let timeout = timeout.map(|left| left + Duration::from_millis(1));
            let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            for event in events.drain(..) {
                match About::of(event.data) {
                    About::Listener => self.accept(),
                    About::Seat => self.serve(event.flags),
                    About::Children => self.reap_strays(),
                    About::Report(number) => self.finish_start(number),
                    About::End(number) => self.program_ended(number),
                    About::Output(number) => self.drain(number),
                    About::Place => self.place_changed(),
                }
            }
            self.follow_deadlines();
            self.flush();
            if self.upgrade.is_some() {
                self.follow_upgrade();
                self.flush();
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let starts = self.starting.values().map(|(_, _, deadline)| *deadline);
        let retries = self.held_back.values().copied();
        starts.chain(retries).chain(self.idle_until).chain(self.place_look).min()
    }

    fn follow_deadlines(&mut self) {
        let now = Instant::now();
        if self.place_look.is_some_and(|at| at <= now) {
            self.look_at_place();
        }
        let late: Vec<u64> =
            self.starting.iter().filter(|(_, start)| start.2 <= now).map(|(number, _)| *number).collect();
        for number in late {
            self.give_up_start(number);
        }
        let due: Vec<u64> =
            self.held_back.iter().filter(|(_, at)| **at <= now).map(|(number, _)| *number).collect();
        for number in due {
            self.held_back.remove(&number);
            self.watch_output(number);
        }
    }

    /// Reaps the orphans that fell to this process. The programs are reaped on a server's word.
    fn reap_strays(&self) {
        sys::signal::take_ended_children(self.children.as_fd());
        let pid = std::process::id();
        let Ok(children) = std::fs::read_to_string(format!("/proc/self/task/{pid}/children")) else {
            // A kernel without that list.
            strays::reap();
            return;
        };
        let awaited = crate::local::fork::awaited();
        let strays = children.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok());
        for stray in strays.filter(|pid| !awaited.contains(pid)) {
            if let Some(pid) = Pid::from_raw(stray.cast_signed()) {
                let _ =
                    rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            }
        }
    }
}
