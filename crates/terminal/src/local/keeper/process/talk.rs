//! A keeper's talk with its server.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::net::SocketFlags;

use super::{About, Keeper};
use crate::local::keeper::kept::Kept;
use crate::local::keeper::opening::{First, Hello, Upgrade};
use crate::local::keeper::packet::{self, Packet, Received};
use crate::local::keeper::protocol::{PROTOCOL, ToKeeper, ToServer};
use crate::local::keeper::seat::{Outgoing, Phase, Seat, Watch};

/// How many servers may wait for the one before them to be gone; of more, the newest are turned away.
const WAITING_SERVERS: usize = 8;

impl Keeper<'_> {
    pub(super) fn accept(&mut self) {
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

    pub(super) fn seat(&mut self, socket: OwnedFd) {
        match epoll::add(&self.epoll, &socket, About::Seat.data(), EventFlags::IN) {
            Ok(()) => self.seat = Some(Seat::new(socket)),
            Err(error) => tracing::warn!(%error, "a server cannot be listened to"),
        }
    }

    /// Follows what the server said.
    pub(super) fn serve(&mut self, flags: EventFlags) {
        if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            return;
        }
        while let Some(seat) = &self.seat {
            let followed = match packet::receive(seat.socket()) {
                Ok(Some(received)) => self.follow(received),
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

    fn follow(&mut self, received: Received) -> io::Result<()> {
        let Some(seat) = &mut self.seat else { return Ok(()) };
        if matches!(seat.phase, Phase::New | Phase::Greeted) {
            match received.message() {
                Ok(First::Hello(hello)) => {
                    seat.push(Outgoing::Plain(Packet::new(&Hello::ours())?));
                    seat.phase = if hello.protocol == PROTOCOL { Phase::Greeted } else { Phase::New };
                    return Ok(());
                }
                Ok(First::Upgrade(Upgrade { upgrade })) => {
                    self.upgrade = Some(upgrade);
                    return Ok(());
                }
                Err(error) if seat.phase == Phase::New => return Err(error),
                Err(_) => {}
            }
        }
        match received.message()? {
            ToKeeper::Attach { log } => {
                self.limits = log.into();
                seat.phase = Phase::Attaching;
                self.try_attach();
            }
            ToKeeper::Home { path } => self.guard(path, received.descriptors.into_iter().next()),
            ToKeeper::Adopt(program) => self.adopt(program, received.descriptors),
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

    /// Hands everything over, unless a start is under way: what comes of it belongs to it.
    pub(super) fn try_attach(&mut self) {
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
        for (place, home) in self.homes.iter().enumerate() {
            let message = ToServer::Home { path: home.path().to_owned() };
            seat.push(outgoing(&message, |packet| Outgoing::WithLockOf(packet, place)));
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

    pub(super) fn is_attached(&self) -> bool {
        self.seat.as_ref().is_some_and(|seat| seat.phase == Phase::Attached)
    }

    /// Says something to a server that has everything; any other will be told when it gets everything.
    pub(super) fn say(&mut self, message: &ToServer) {
        if let Some(seat) = &mut self.seat
            && seat.phase == Phase::Attached
        {
            seat.push(outgoing(message, Outgoing::Plain));
        }
    }

    pub(super) fn flush(&mut self) {
        let Some(seat) = &mut self.seat else { return };
        let (programs, home, homes) = (&self.programs, &self.home, &self.homes);
        let flushed = seat.flush(|outgoing| match outgoing {
            Outgoing::Plain(_) => Some(Vec::new()),
            Outgoing::OfProgram(_, number) => programs.get(number).map(Kept::descriptors),
            Outgoing::WithLock(_) => Some(home.iter().map(|home| home.lock()).collect()),
            Outgoing::WithLockOf(_, place) => {
                Some(homes.get(*place).iter().map(|home| home.lock()).collect())
            }
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
}

pub(super) fn outgoing(message: &ToServer, wrap: impl FnOnce(Packet) -> Outgoing) -> Outgoing {
    wrap(Packet::new(message).expect("invariant: our messages are text and short"))
}
