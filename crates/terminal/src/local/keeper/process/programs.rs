//! A keeper's programs: starting them, their ends, and their output while there is no server.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;

use ptyard_core::TerminalId;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;

use super::talk::outgoing;
use super::{About, Keeper, RETRY};
use crate::local::errors;
use crate::local::fork::{EXEC_LIMIT, Starting};
use crate::local::keeper::kept::{Drained, Kept};
use crate::local::keeper::protocol::{KeptProgram, ToServer};
use crate::local::keeper::seat::{Outgoing, Phase};
use crate::local::launcher::Order;
use crate::local::tree::cgroup::Home;

impl Keeper<'_> {
    /// Does something with a program and lets it go when nothing is left to do for it.
    pub(super) fn with(&mut self, id: TerminalId, what: impl FnOnce(&mut Kept)) {
        if let Some(&number) = self.numbers.get(&id) {
            self.with_number(number, what);
        }
    }

    pub(super) fn with_number(&mut self, number: u64, what: impl FnOnce(&mut Kept)) {
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

    pub(super) fn start(&mut self, order: Order) {
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

    pub(super) fn finish_start(&mut self, number: u64) {
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

    pub(super) fn give_up_start(&mut self, number: u64) {
        let Some((starting, order, _)) = self.starting.remove(&number) else { return };
        let _ = epoll::delete(&self.epoll, starting.report());
        let (child, error) = starting.give_up();
        self.keep_program(number, Kept::given_up(order.spec.id, child));
        self.say(&ToServer::not_started(order.spec.id, error));
        self.try_attach();
    }

    /// Keeps a program of a keeper that died. The server has it, and goes on reading.
    pub(super) fn adopt(&mut self, program: KeptProgram, descriptors: Vec<OwnedFd>) {
        let id = program.id;
        if self.numbers.contains_key(&id) {
            // Only the connection broke.
            return;
        }
        let Some(program) = Kept::found(program, descriptors) else {
            tracing::error!(%id, "a program will end with its server: too many descriptors are open");
            return;
        };
        let number = self.next_number;
        self.next_number += 1;
        self.numbers.insert(id, number);
        self.keep_program(number, program);
    }

    /// Guards the cgroups of a keeper that died.
    pub(super) fn guard(&mut self, path: PathBuf, lock: Option<OwnedFd>) {
        let is_known = self.home.iter().chain(&self.homes).any(|home| home.path() == path);
        match lock {
            Some(lock) if !is_known => self.homes.push(Home::of_the_dead(path, lock)),
            Some(_) => {}
            None => {
                tracing::error!(path = %path.display(), "a cgroup is not guarded: too many descriptors are open");
            }
        }
    }

    pub(super) fn keep_program(&mut self, number: u64, program: Kept) {
        if let Err(error) =
            epoll::add(&self.epoll, program.pidfd(), About::End(number).data(), program.tells())
        {
            tracing::error!(%error, id = %program.id, "the end of a program cannot be waited for");
        }
        self.programs.insert(number, program);
    }

    pub(super) fn program_ended(&mut self, number: u64) {
        let Some(program) = self.programs.get_mut(&number) else { return };
        let is_news = program.look();
        if program.exit().is_some() {
            // A copy of the descriptor may live in the server, so closing ours would not take it out.
            let _ = epoll::delete(&self.epoll, program.pidfd());
        }
        if !is_news {
            return;
        }
        let (id, exit) = (program.id, program.exit().cloned());
        let is_known = self.numbers.get(&id) == Some(&number);
        if program.is_forgotten() && !(is_known && self.is_attached()) {
            self.with_number(number, Kept::reap);
        } else if let Some(exit) = exit {
            self.say(&ToServer::Ended { id, exit });
        }
    }

    pub(super) fn watch_output(&mut self, number: u64) {
        let Some(output) = self.programs.get(&number).and_then(Kept::output) else { return };
        match epoll::add(&self.epoll, output, About::Output(number).data(), EventFlags::IN) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => {
                tracing::warn!(%error, "the output of a program cannot be watched now");
                self.held_back.insert(number, Instant::now() + RETRY);
            }
        }
    }

    pub(super) fn drain(&mut self, number: u64) {
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
}
