//! The one connection of a keeper: a server's.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use super::packet::Packet;

/// How far the server has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is expected to say who it is.
    New,
    /// It understands us.
    Greeted,
    /// It wants everything, and waits for starts that are under way.
    Attaching,
    /// It has everything: the keeper reads nothing.
    Attached,
}

/// What the keeper waits for on the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watch {
    /// What the server says.
    Incoming,
    /// Also that it takes more.
    Both,
}

/// What is to be sent. Descriptors are looked up when it is.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A message without any.
    Plain(Packet),
    /// A message with those of a program, by its number.
    OfProgram(Packet, u64),
    /// A message with the lock of the cgroups' directory.
    WithLock(Packet),
    /// A message with the lock of the cgroups of a keeper that died, by its place among them.
    WithLockOf(Packet, usize),
}

/// A server's connection.
///
/// What waits to be sent is bounded by what there is: for each program its handing over and its end, and one answer for
/// each start.
#[derive(Debug)]
pub(super) struct Seat {
    socket: OwnedFd,
    pub(super) phase: Phase,
    /// Whether it is watched for taking more.
    pub(super) watch: Watch,
    waiting: VecDeque<Outgoing>,
}

impl Seat {
    pub(super) const fn new(socket: OwnedFd) -> Self {
        Self { socket, phase: Phase::New, watch: Watch::Incoming, waiting: VecDeque::new() }
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// What has to be waited for now.
    pub(super) fn wanted(&self) -> Watch {
        if self.waiting.is_empty() { Watch::Incoming } else { Watch::Both }
    }

    pub(super) fn push(&mut self, outgoing: Outgoing) {
        self.waiting.push_back(outgoing);
    }

    /// Sends what the socket takes. `descriptors` finds those that go with a message; without any it is not sent.
    pub(super) fn flush<'a>(
        &mut self,
        descriptors: impl Fn(&Outgoing) -> Option<Vec<BorrowedFd<'a>>>,
    ) -> Result<(), Errno> {
        while let Some(next) = self.waiting.front() {
            if let Some(descriptors) = descriptors(next) {
                let (Outgoing::Plain(packet)
                | Outgoing::OfProgram(packet, _)
                | Outgoing::WithLock(packet)
                | Outgoing::WithLockOf(packet, _)) = next;
                match packet.send(self.socket.as_fd(), &descriptors) {
                    Ok(()) => {}
                    Err(Errno::AGAIN) => return Ok(()),
                    Err(errno) => return Err(errno),
                }
            }
            self.waiting.pop_front();
        }
        Ok(())
    }
}
