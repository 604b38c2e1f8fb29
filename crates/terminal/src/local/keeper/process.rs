//! The keeper's process: one loop over everything that happens.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptyard_core::TerminalId;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::process::{Pid, WaitId, WaitIdOptions};

use super::KeeperPlace;
use super::kept::{Drained, Kept};
use super::packet::{self, Packet, Received};
use super::protocol::{Hello, PROTOCOL, ToKeeper, ToServer};
use super::seat::{Outgoing, Phase, Seat, Watch};
use crate::local::errors;
use crate::local::fork::{EXEC_LIMIT, Starting};
use crate::local::launcher::Order;
use crate::local::strays;
use crate::local::tree::cgroup::Home;
use crate::log::LogConfig;
use crate::sys;

/// How long a new keeper waits for its first server.
const FIRST_SERVER: Duration = Duration::from_secs(30);

/// How long until a log that could not be written is tried again. The program waits meanwhile; nothing is lost.
const RETRY: Duration = Duration::from_millis(250);

/// How many servers may wait for the one before them to be gone; of more, the newest are turned away.
const WAITING_SERVERS: usize = 8;

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
            _ => Self::Output(number),
        }
    }
}

/// Keeps the programs of `place` until no program and no server is left. `ready` is called once servers can come.
///
/// For a process of its own, without threads: it blocks a signal, adopts orphans, and forks. It waits until the keeper
/// before it is gone.
///
/// # Errors
/// When the place cannot be used, or the system refuses what nothing works without.
pub fn run(place: &KeeperPlace, ready: impl FnOnce()) -> io::Result<()> {
    let mut lock = place.lock()?;
    // For people, and for nothing else.
    lock.set_len(0)?;
    writeln!(lock, "{}", std::process::id())?;
    let mut keeper = Keeper::open(place)?;
    ready();
    let kept = keeper.keep();
    // Before the lock goes, so that nobody's new socket is removed.
    let _ = std::fs::remove_file(place.socket());
    kept
}

struct Keeper<'a> {
    place: &'a KeeperPlace,
    epoll: OwnedFd,
    listener: OwnedFd,
    children: OwnedFd,
    home: Option<Arc<Home>>,
    limits: LogConfig,
    seat: Option<Seat>,
    waiting: VecDeque<OwnedFd>,
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
    fn open(place: &'a KeeperPlace) -> io::Result<Self> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let children = sys::signal::ended_children()?;
        let home = Home::open()
            .inspect_err(
                |error| tracing::info!(%error, "no cgroup can be used: programs are kept together by looking at all processes"),
            )
            .ok();
        let listener = place.listen()?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, About::Listener.data(), EventFlags::IN)?;
        epoll::add(&epoll, &children, About::Children.data(), EventFlags::IN)?;
        Ok(Self {
            place,
            epoll,
            listener,
            children,
            home,
            limits: LogConfig::default(),
            seat: None,
            waiting: VecDeque::new(),
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
                }
            }
            self.follow_deadlines();
            self.flush();
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let starts = self.starting.values().map(|(_, _, deadline)| *deadline);
        let retries = self.held_back.values().copied();
        starts.chain(retries).chain(self.idle_until).min()
    }

    fn follow_deadlines(&mut self) {
        let now = Instant::now();
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

    fn accept(&mut self) {
        while let Ok(socket) =
            rustix::net::accept_with(&self.listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            let is_ours = rustix::net::sockopt::socket_peercred(&socket)
                .is_ok_and(|peer| peer.uid == rustix::process::geteuid());
            if is_ours && self.waiting.len() < WAITING_SERVERS {
                self.waiting.push_back(socket);
            }
        }
    }

    fn seat(&mut self, socket: OwnedFd) {
        match epoll::add(&self.epoll, &socket, About::Seat.data(), EventFlags::IN) {
            Ok(()) => self.seat = Some(Seat::new(socket)),
            Err(error) => tracing::warn!(%error, "a server cannot be listened to"),
        }
    }

    /// Follows what the server said.
    fn serve(&mut self, flags: EventFlags) {
        if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            return;
        }
        while let Some(seat) = &self.seat {
            let followed = match packet::receive(seat.socket()) {
                Ok(Some(received)) => self.follow(&received),
                Err(Errno::AGAIN) => return,
                Ok(None) => return self.unseat(),
                Err(errno) => Err(errno.into()),
            };
            if let Err(error) = followed {
                tracing::warn!(%error, "a server cannot be understood");
                return self.unseat();
            }
        }
    }

    fn follow(&mut self, received: &Received) -> io::Result<()> {
        let Some(seat) = &mut self.seat else { return Ok(()) };
        if seat.phase == Phase::New {
            let hello: Hello = received.message()?;
            seat.push(Outgoing::Plain(Packet::new(&Hello::ours())?));
            if hello.protocol == PROTOCOL {
                seat.phase = Phase::Greeted;
            }
            return Ok(());
        }
        match received.message()? {
            ToKeeper::Attach { log } => {
                self.limits = log.into();
                seat.phase = Phase::Attaching;
                self.try_attach();
            }
            ToKeeper::Start(order) => self.start((*order).into()),
            ToKeeper::Reap(id) => self.with(id, Kept::reap),
            ToKeeper::CloseInput(id) => self.with(id, Kept::close_input),
            ToKeeper::Kill(id) => {
                self.with(id, Kept::kill);
                // Nobody will say when it may be reaped.
                self.numbers.remove(&id);
            }
            ToKeeper::Forget(id) => self.with(id, Kept::forget),
        }
        Ok(())
    }

    /// Does something with a program and lets it go when nothing is left to do for it.
    fn with(&mut self, id: TerminalId, what: impl FnOnce(&mut Kept)) {
        if let Some(&number) = self.numbers.get(&id) {
            self.with_number(number, what);
        }
    }

    fn with_number(&mut self, number: u64, what: impl FnOnce(&mut Kept)) {
        let Some(program) = self.programs.get_mut(&number) else { return };
        what(program);
        if program.is_done() {
            let id = program.id;
            self.programs.remove(&number);
            self.held_back.remove(&number);
            if self.numbers.get(&id) == Some(&number) {
                self.numbers.remove(&id);
            }
        }
    }

    /// Hands everything over, unless a start is under way: what comes of it belongs to it.
    fn try_attach(&mut self) {
        let Some(seat) = &mut self.seat else { return };
        if seat.phase != Phase::Attaching || !self.starting.is_empty() {
            return;
        }
        self.held_back.clear();
        for (number, program) in &mut self.programs {
            if let Some(output) = program.output() {
                // Not there when it waits for its log.
                let _ = epoll::delete(&self.epoll, output);
            }
            program.hand_over();
            if !program.is_forgotten() {
                seat.push(outgoing(&ToServer::Kept(program.describe()), |packet| {
                    Outgoing::OfProgram(packet, *number)
                }));
            }
        }
        let home = self.home.as_ref().map(|home| home.path().to_owned());
        seat.push(outgoing(&ToServer::Attached { home }, Outgoing::WithLock));
        seat.phase = Phase::Attached;
        self.idle_until = None;
    }

    /// The server is gone. If it had everything, the keeper takes over.
    fn unseat(&mut self) {
        let Some(seat) = self.seat.take() else { return };
        let _ = epoll::delete(&self.epoll, seat.socket());
        if seat.phase != Phase::Attached {
            return;
        }
        let numbers: Vec<u64> = self.programs.keys().copied().collect();
        for number in numbers {
            self.with_number(number, |program| {
                program.server_left();
                if program.is_forgotten() {
                    program.reap();
                }
            });
            self.watch_output(number);
        }
    }

    fn is_attached(&self) -> bool {
        self.seat.as_ref().is_some_and(|seat| seat.phase == Phase::Attached)
    }

    fn start(&mut self, order: Order) {
        let id = order.spec.id;
        let begun = Starting::begin(&order).and_then(|starting| {
            let number = self.next_number;
            epoll::add(&self.epoll, starting.report(), About::Report(number).data(), EventFlags::IN)
                .map_err(|error| errors::spawn_failed("cannot watch the new process", &error.into()))?;
            self.next_number += 1;
            self.starting.insert(number, (starting, order, Instant::now() + EXEC_LIMIT));
            Ok(())
        });
        if let Err(error) = begun {
            self.say(&ToServer::not_started(id, error));
        }
    }

    fn finish_start(&mut self, number: u64) {
        let Some((starting, order, _)) = self.starting.remove(&number) else { return };
        let _ = epoll::delete(&self.epoll, starting.report());
        let Order { spec, cgroup, timer_slack_ns } = order;
        let id = spec.id;
        match starting.finish(&spec) {
            Ok((child, ends)) => {
                let program = Kept::new(id, child, ends, cgroup, timer_slack_ns);
                let started = ToServer::Started { id, pid: program.pid() };
                self.numbers.insert(id, number);
                self.keep_program(number, program);
                match &mut self.seat {
                    Some(seat) if seat.phase == Phase::Attached => {
                        seat.push(outgoing(&started, |packet| Outgoing::OfProgram(packet, number)));
                    }
                    _ => self.watch_output(number),
                }
            }
            Err(error) => self.say(&ToServer::not_started(id, error)),
        }
        self.try_attach();
    }

    fn give_up_start(&mut self, number: u64) {
        let Some((starting, order, _)) = self.starting.remove(&number) else { return };
        let _ = epoll::delete(&self.epoll, starting.report());
        let (child, error) = starting.give_up();
        self.keep_program(number, Kept::given_up(order.spec.id, child));
        self.say(&ToServer::not_started(order.spec.id, error));
        self.try_attach();
    }

    fn keep_program(&mut self, number: u64, program: Kept) {
        if let Err(error) =
            epoll::add(&self.epoll, program.pidfd(), About::End(number).data(), EventFlags::IN)
        {
            tracing::error!(%error, id = %program.id, "the end of a program cannot be waited for");
        }
        self.programs.insert(number, program);
    }

    /// Says something to a server that has everything; any other will be told when it gets everything.
    fn say(&mut self, message: &ToServer) {
        if let Some(seat) = &mut self.seat
            && seat.phase == Phase::Attached
        {
            seat.push(outgoing(message, Outgoing::Plain));
        }
    }

    fn program_ended(&mut self, number: u64) {
        let Some(program) = self.programs.get_mut(&number) else { return };
        if !program.look() {
            return;
        }
        // A copy of the descriptor may live in the server, so closing ours would not take it out.
        let _ = epoll::delete(&self.epoll, program.pidfd());
        let (id, exit) = (program.id, program.exit().cloned());
        let is_known = self.numbers.get(&id) == Some(&number);
        if program.is_forgotten() && !(is_known && self.is_attached()) {
            self.with_number(number, Kept::reap);
        } else if let Some(exit) = exit {
            self.say(&ToServer::Ended { id, exit });
        }
    }

    fn watch_output(&mut self, number: u64) {
        let Some(output) = self.programs.get(&number).and_then(Kept::output) else { return };
        match epoll::add(&self.epoll, output, About::Output(number).data(), EventFlags::IN) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => {
                tracing::warn!(%error, "the output of a program cannot be watched now");
                self.held_back.insert(number, Instant::now() + RETRY);
            }
        }
    }

    fn drain(&mut self, number: u64) {
        if self.is_attached() {
            // An event from before the server came.
            return;
        }
        let Some(program) = self.programs.get_mut(&number) else { return };
        let drained = program.drain(&self.place.terminals(), self.limits);
        if drained == Drained::ForNow {
            return;
        }
        if let Some(source) = program.source() {
            let _ = epoll::delete(&self.epoll, source);
        }
        if drained == Drained::HeldBack {
            self.held_back.insert(number, Instant::now() + RETRY);
        }
    }

    fn flush(&mut self) {
        let Some(seat) = &mut self.seat else { return };
        let (programs, home) = (&self.programs, &self.home);
        let flushed = seat.flush(|outgoing| match outgoing {
            Outgoing::Plain(_) => Some(Vec::new()),
            Outgoing::OfProgram(_, number) => programs.get(number).map(Kept::descriptors),
            Outgoing::WithLock(_) => Some(home.iter().map(|home| home.lock()).collect()),
        });
        let wanted = seat.wanted();
        let watched = flushed.and_then(|()| {
            if seat.watch != wanted {
                let out = if wanted == Watch::Both { EventFlags::OUT } else { EventFlags::empty() };
                epoll::modify(&self.epoll, seat.socket(), About::Seat.data(), EventFlags::IN | out)?;
                seat.watch = wanted;
            }
            Ok(())
        });
        if watched.is_err() {
            self.unseat();
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

fn outgoing(message: &ToServer, wrap: impl FnOnce(Packet) -> Outgoing) -> Outgoing {
    wrap(Packet::new(message).expect("invariant: our messages are text and short"))
}
