//! The send system calls: turns planned entries into what sendmmsg reads.

use super::address::{RawAddr, normalise};
use super::plan::Entry;
use homarus_proto::{Payload, Transmit};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Most entries in one system call.
pub(super) const MAX_ENTRIES: usize = 64;
/// Most packets in one system call.
pub(super) const MAX_PACKETS: usize = 1024;

/// Room for one system call's arguments, reused. Its pointers are meaningful only within `submit`.
pub(super) struct Outbox {
    pieces: Vec<libc::iovec>,
    addrs: Vec<(RawAddr, libc::socklen_t)>,
    controls: Vec<Control>,
    messages: Vec<libc::mmsghdr>,
}

// SAFETY: the raw pointers in the vectors are written and read only within one call of `submit`, which borrows all
// that they point to.
unsafe impl Send for Outbox {}

/// Control data of one entry; `segment` is left off where there is one datagram only.
#[repr(C)]
#[derive(Clone, Copy)]
struct Control {
    tos: Cmsg<libc::c_int>,
    segment: Cmsg<u16>,
}

/// One control message with its padding, laid out as CMSG_SPACE has it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Cmsg<T> {
    header: libc::cmsghdr,
    value: T,
}

impl<T> Cmsg<T> {
    fn new(level: libc::c_int, kind: libc::c_int, value: T) -> Cmsg<T> {
        // SAFETY: all fields are integers, for which zero is valid.
        let mut header: libc::cmsghdr = unsafe { std::mem::zeroed() };
        header.cmsg_level = level;
        header.cmsg_type = kind;
        header.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<T>()) as _;
        Cmsg { header, value }
    }
}

/// Contents of phantom packets on a real network.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

impl Outbox {
    pub(super) fn new() -> Outbox {
        Outbox {
            pieces: Vec::with_capacity(2 * MAX_PACKETS),
            addrs: Vec::with_capacity(MAX_ENTRIES),
            controls: Vec::with_capacity(MAX_ENTRIES),
            messages: Vec::with_capacity(MAX_ENTRIES),
        }
    }

    /// Sends `entries`, which describe the first packets of `batch`, and returns how many entries were sent, at
    /// least one, or why the first was not.
    pub(super) fn submit(
        &mut self,
        fd: BorrowedFd<'_>,
        v6: bool,
        batch: &[Transmit],
        entries: &[Entry],
    ) -> io::Result<usize> {
        self.pieces.clear();
        self.addrs.clear();
        self.controls.clear();
        self.messages.clear();
        let mut rest = batch;
        for entry in entries {
            let (packets, after) = rest.split_at(entry.packets);
            rest = after;
            let first = &packets[0];
            let to = normalise(first.to);
            let Some(addr) = RawAddr::encode(to, v6) else {
                if self.addrs.is_empty() {
                    return Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT));
                }
                break;
            };
            self.addrs.push(addr);
            self.controls
                .push(control(to, first.priority, entry.segment));
            for packet in packets {
                self.pieces.push(piece(packet.header()));
                if !packet.payload.is_empty() {
                    self.pieces.push(piece(contents(&packet.payload)));
                }
            }
        }
        self.address_messages(batch, entries);
        self.call(fd)
    }

    /// Writes the message headers, once nothing that they point to moves any more.
    fn address_messages(&mut self, batch: &[Transmit], entries: &[Entry]) {
        let mut piece = 0;
        let mut packet = 0;
        for (at, (addr, addr_len)) in self.addrs.iter_mut().enumerate() {
            let entry = &entries[at];
            let packets = &batch[packet..packet + entry.packets];
            let pieces: usize = packets
                .iter()
                .map(|p| if p.payload.is_empty() { 1 } else { 2 })
                .sum();
            let control_len = if entry.segment == 0 {
                size_of::<Cmsg<libc::c_int>>()
            } else {
                size_of::<Control>()
            };
            // SAFETY: all fields are integers or pointers, for which zero is valid.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_name = (&raw mut *addr).cast();
            message.msg_hdr.msg_namelen = *addr_len;
            message.msg_hdr.msg_iov = self.pieces[piece..piece + pieces].as_mut_ptr();
            message.msg_hdr.msg_iovlen = pieces as _;
            message.msg_hdr.msg_control = (&raw mut self.controls[at]).cast();
            message.msg_hdr.msg_controllen = control_len as _;
            self.messages.push(message);
            piece += pieces;
            packet += entry.packets;
        }
    }

    fn call(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the headers point into `self` and into the batch that `submit` borrows; the kernel only reads
        // what they point to, and writes to the headers' own msg_len.
        let sent = unsafe {
            match self.messages.as_mut_slice() {
                [only] => match libc::sendmsg(fd.as_raw_fd(), &only.msg_hdr, FLAGS) {
                    bytes if bytes < 0 => -1,
                    _ => 1,
                },
                many => {
                    let count = many.len() as libc::c_uint;
                    libc::sendmmsg(fd.as_raw_fd(), many.as_mut_ptr(), count, FLAGS as _)
                }
            }
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

/// A phantom goes out as zeros. One longer than any packet is cut, and is still too long to be sent.
fn contents(payload: &Payload) -> &[u8] {
    match payload {
        Payload::Bytes(bytes) => bytes,
        Payload::Phantom(len) => &ZEROS[..(*len).min(ZEROS.len())],
    }
}

fn piece(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

fn control(to: SocketAddr, priority: u8, segment: usize) -> Control {
    let tos = libc::c_int::from(priority.min(7)) << 5;
    Control {
        tos: if to.is_ipv4() {
            Cmsg::new(libc::IPPROTO_IP, libc::IP_TOS, tos)
        } else {
            Cmsg::new(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, tos)
        },
        segment: Cmsg::new(libc::SOL_UDP, libc::UDP_SEGMENT, segment as u16),
    }
}
