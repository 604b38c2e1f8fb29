//! Messages as packets: JSON behind one byte that says where it is, with descriptors beside it.
//!
//! A packet is taken whole or not at all. A message that is too long for one (arguments and environments may be
//! megabytes) travels as a file in memory, which is the packet's last descriptor then.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest message in the packet itself.
const INLINE_BYTES: usize = 16 << 10;

/// Longest message at all: beyond what any exec takes.
const MOST_BYTES: u64 = 64 << 20;

/// Most descriptors beside a message: those of a program, and the one that holds the message.
const MOST_DESCRIPTORS: usize = 4;

const HERE: u8 = 0;
const IN_MEMORY: u8 = 1;

/// A message ready to be sent.
#[derive(Debug)]
pub(super) struct Packet {
    bytes: Vec<u8>,
    memory: Option<OwnedFd>,
}

impl Packet {
    pub(super) fn new(message: &impl Serialize) -> io::Result<Self> {
        let mut bytes = vec![HERE];
        serde_json::to_writer(&mut bytes, message)?;
        if bytes.len() <= INLINE_BYTES {
            return Ok(Self { bytes, memory: None });
        }
        let mut memory = File::from(rustix::fs::memfd_create(c"ptyard-message", MemfdFlags::CLOEXEC)?);
        memory.write_all(&bytes[1..])?;
        Ok(Self { bytes: vec![IN_MEMORY], memory: Some(memory.into()) })
    }

    /// Sends it, with copies of `descriptors`.
    pub(super) fn send(&self, socket: BorrowedFd<'_>, descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let mut all: Vec<BorrowedFd<'_>> = descriptors.to_vec();
        all.extend(self.memory.as_ref().map(AsFd::as_fd));
        debug_assert!(all.len() <= MOST_DESCRIPTORS, "more descriptors than anybody takes");
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !all.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&all)) {
            return Err(Errno::TOOBIG);
        }
        loop {
            let sent =
                rustix::net::sendmsg(socket, &[IoSlice::new(&self.bytes)], &mut control, SendFlags::NOSIGNAL);
            match sent {
                Err(Errno::INTR) => {}
                other => return other.map(drop),
            }
        }
    }
}

/// A packet as it came.
#[derive(Debug)]
pub(super) struct Received {
    bytes: Vec<u8>,
    /// The descriptors beside the message.
    pub(super) descriptors: Vec<OwnedFd>,
}

impl Received {
    /// The message.
    pub(super) fn message<T: DeserializeOwned>(&self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.bytes)?)
    }
}

/// Takes the next packet; `None` when the other side is gone.
pub(super) fn receive(socket: BorrowedFd<'_>) -> Result<Option<Received>, Errno> {
    let mut bytes = vec![0; INLINE_BYTES];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let came = loop {
        let flags = RecvFlags::CMSG_CLOEXEC;
        match rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            descriptors.extend(came);
        }
    }
    if came.bytes == 0 {
        return Ok(None);
    }
    // Cut control data means that this process could not take all the descriptors. Whoever misses them finds out.
    if came.flags.contains(ReturnFlags::CTRUNC) {
        descriptors.clear();
    }
    bytes.truncate(came.bytes);
    let bytes = match (bytes[0], came.flags.contains(ReturnFlags::TRUNC)) {
        (HERE, false) => bytes.split_off(1),
        (IN_MEMORY, false) => read_memory(&File::from(descriptors.pop().ok_or(Errno::BADMSG)?))?,
        _ => return Err(Errno::BADMSG),
    };
    Ok(Some(Received { bytes, descriptors }))
}

fn read_memory(memory: &File) -> Result<Vec<u8>, Errno> {
    let errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
    let length = memory.metadata().map_err(errno)?.len();
    if length > MOST_BYTES {
        return Err(Errno::MSGSIZE);
    }
    let mut bytes = vec![0; length as usize];
    memory.read_exact_at(&mut bytes, 0).map_err(errno)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
    }

    #[test]
    fn short_and_long_messages_arrive_whole_with_their_descriptors() {
        let (ours, theirs) = pair();
        for length in [0, 1, INLINE_BYTES - 3, INLINE_BYTES - 2, 5 << 20] {
            let message = "x".repeat(length);
            let (reader, writer) = io::pipe().unwrap();
            Packet::new(&message).unwrap().send(ours.as_fd(), &[reader.as_fd()]).unwrap();
            drop(writer);
            let received = receive(theirs.as_fd()).unwrap().unwrap();
            assert!(received.message::<String>().unwrap() == message, "{length} bytes");
            assert_eq!(received.descriptors.len(), 1);
        }
        drop(ours);
        assert!(receive(theirs.as_fd()).unwrap().is_none());
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let (ours, theirs) = pair();
        rustix::io::write(&ours, b"\x07{}").unwrap();
        assert_eq!(receive(theirs.as_fd()).unwrap_err(), Errno::BADMSG);
        rustix::io::write(&ours, b"\x01").unwrap();
        assert_eq!(receive(theirs.as_fd()).unwrap_err(), Errno::BADMSG, "no file");
        rustix::io::write(&ours, b"\x00no json").unwrap();
        assert!(receive(theirs.as_fd()).unwrap().unwrap().message::<String>().is_err());
        rustix::io::write(&ours, &vec![0; INLINE_BYTES + 1]).unwrap();
        assert_eq!(receive(theirs.as_fd()).unwrap_err(), Errno::BADMSG, "cut");
    }
}
