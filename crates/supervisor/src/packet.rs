//! Messages with file descriptors over a socket of packets.
//!
//! The kernel limits the size of a packet, and an order may be longer, so a message is split into parts. A packet is
//! one byte that tells whether more follows, and a part. Descriptors come with the last packet.

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
        SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
        sendmsg, socketpair,
    },
};
use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{BorrowedFd, OwnedFd},
};

/// Maximum bytes of a message in one packet.
const MAX_PART_BYTES: usize = 32 * 1024;

/// Maximum bytes of a message. The kernel accepts less than this as arguments and environment.
pub(crate) const MAX_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// Maximum descriptors of a message: standard input, output and error.
const MAX_DESCRIPTORS: usize = 3;

const LAST_PART: u8 = 0;
const MORE_PARTS: u8 = 1;

/// Creates two connected sockets that programs don't inherit.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let kind = SocketType::SEQPACKET;
    Ok(socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?)
}

/// Splits a message into packets.
pub(crate) fn parts(message: &[u8]) -> impl Iterator<Item = PacketPart<'_>> {
    let count = message.chunks(MAX_PART_BYTES).len();
    message.chunks(MAX_PART_BYTES).enumerate().map(move |(at, bytes)| {
        let last = at + 1 == count;
        PacketPart { head: if last { LAST_PART } else { MORE_PARTS }, bytes }
    })
}

/// A part of a message to send.
pub(crate) struct PacketPart<'a> {
    head: u8,
    bytes: &'a [u8],
}

impl PacketPart<'_> {
    /// Sends the part, with `descriptors` if it is the last. Never blocks.
    pub(crate) fn send(
        &self,
        socket: BorrowedFd<'_>,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if self.head == LAST_PART
            && !descriptors.is_empty()
            && !control.push(SendAncillaryMessage::ScmRights(descriptors))
        {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let head = [self.head];
        let packet = [IoSlice::new(&head), IoSlice::new(self.bytes)];
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        sendmsg(socket, &packet, &mut control, flags)?;
        Ok(())
    }
}

/// A received message.
#[derive(Debug)]
pub(crate) struct PacketMessage {
    pub(crate) bytes: Vec<u8>,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// The result of one read from the socket.
#[derive(Debug)]
pub(crate) enum ReceiveOutcome {
    /// A whole message.
    Message(PacketMessage),
    /// A part; more will follow.
    Part,
    /// The peer has closed its side.
    End,
}

/// Assembles messages from parts.
#[derive(Debug, Default)]
pub(crate) struct PacketInbox {
    bytes: Vec<u8>,
}

impl PacketInbox {
    /// Reads one packet; blocks only if `wait` is set. A malformed packet is an error.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        wait: bool,
    ) -> io::Result<ReceiveOutcome> {
        let mut packet = vec![0; MAX_PART_BYTES + 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let flags = if wait { flags } else { flags | RecvFlags::DONTWAIT };
        let got = loop {
            match recvmsg(socket, &mut [IoSliceMut::new(&mut packet)], &mut control, flags) {
                Err(Errno::INTR) => {}
                other => break other?,
            }
        };
        let mut descriptors = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(come) = message {
                descriptors.extend(come);
            }
        }
        if got.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match packet.get(..got.bytes).and_then(<[u8]>::split_first) {
            None => Ok(ReceiveOutcome::End),
            Some((&head, part)) => self.add(head, part, descriptors),
        }
    }

    fn add(
        &mut self,
        head: u8,
        part: &[u8],
        descriptors: Vec<OwnedFd>,
    ) -> io::Result<ReceiveOutcome> {
        let odd = !matches!(head, LAST_PART | MORE_PARTS)
            || head == MORE_PARTS && !descriptors.is_empty();
        if odd || self.bytes.len() + part.len() > MAX_MESSAGE_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.bytes.extend_from_slice(part);
        if head == MORE_PARTS {
            return Ok(ReceiveOutcome::Part);
        }
        Ok(ReceiveOutcome::Message(PacketMessage {
            bytes: std::mem::take(&mut self.bytes),
            descriptors,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::send;
    use std::{fs::File, os::fd::AsFd};

    fn next(socket: &OwnedFd, inbox: &mut PacketInbox) -> io::Result<Option<PacketMessage>> {
        loop {
            match inbox.receive(socket.as_fd(), false)? {
                ReceiveOutcome::Message(message) => return Ok(Some(message)),
                ReceiveOutcome::Part => {}
                ReceiveOutcome::End => return Ok(None),
            }
        }
    }

    #[test]
    fn a_message_of_any_length_arrives_whole_with_its_descriptors() {
        for length in
            [1, MAX_PART_BYTES - 1, MAX_PART_BYTES, MAX_PART_BYTES + 1, 3 * MAX_PART_BYTES]
        {
            let (ours, theirs) = pair().unwrap();
            let file = File::open("/dev/null").unwrap();
            let sent: Vec<u8> = (0..=250).cycle().take(length).collect();
            for part in parts(&sent) {
                part.send(ours.as_fd(), &[file.as_fd(); 3]).unwrap();
            }
            drop(ours);
            let mut inbox = PacketInbox::default();
            let message = next(&theirs, &mut inbox).unwrap().unwrap();
            assert!(message.bytes == sent, "{length}");
            assert_eq!(message.descriptors.len(), 3, "{length}");
            assert!(next(&theirs, &mut inbox).unwrap().is_none());
        }
    }

    #[test]
    fn a_malformed_packet_is_an_error() {
        let check = |packets: &[&[u8]]| {
            let (ours, theirs) = pair().unwrap();
            for packet in packets {
                send(&ours, packet, SendFlags::empty()).unwrap();
            }
            let found = next(&theirs, &mut PacketInbox::default());
            assert_eq!(found.unwrap_err().kind(), io::ErrorKind::InvalidData);
        };
        check(&[&[2]]);
        check(&[b"\xffxyz"]);
        check(&[&[1, 65], &[7]]);
        check(&[&vec![0; MAX_PART_BYTES + 2]]);
    }

    #[test]
    fn a_message_without_end_is_refused_at_the_bound() {
        let mut inbox = PacketInbox::default();
        let part = vec![0; MAX_PART_BYTES];
        let whole = MAX_MESSAGE_BYTES / MAX_PART_BYTES;
        assert!((0..whole).all(|_| inbox.add(MORE_PARTS, &part, Vec::new()).is_ok()));
        assert!(inbox.add(MORE_PARTS, &part, Vec::new()).is_err());
    }

    #[test]
    fn an_empty_socket_is_reported_without_waiting() {
        let (_ours, theirs) = pair().unwrap();
        let found = next(&theirs, &mut PacketInbox::default());
        assert_eq!(found.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
