//! The send system calls: turns planned entries into what sendmmsg reads.

use super::address::{RawAddr, normalise};
use super::frame::Frame;
use super::paths::Paths;
use super::plan::Entry;
use homarus_proto::{Payload, Transmit};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Most entries in one system call.
pub(crate) const MAX_ENTRIES: usize = 64;
/// Bytes of packets from which on a system call takes no further entry.
pub(crate) const ENOUGH_BYTES: usize = 1 << 16;

/// Payloads up to this long are copied beside their headers, bytes. The kernel spends some 57 ns on each further
/// piece of memory that it gathers, as much as copying 1,500 to 2,500 bytes here.
const COPY_MAX: usize = 2048;
/// Room for copies: what is below `ENOUGH_BYTES` and one entry more.
const STAGE: usize = ENOUGH_BYTES + (1 << 16);

/// Room for one system call's arguments, reused. Its pointers are meaningful only within `submit`.
pub(crate) struct Outbox {
    stage: Box<[u8]>,
    pieces: Vec<libc::iovec>,
    parts: Vec<Parts>,
    messages: Vec<libc::mmsghdr>,
    /// TOS of packets that need not name theirs, if the socket has such a default.
    default_tos: Option<libc::c_int>,
}

/// What the header of one entry points to.
struct Parts {
    addr: RawAddr,
    addr_len: libc::socklen_t,
    control: Control,
    control_range: Range<usize>,
    pieces: usize,
}

// SAFETY: the raw pointers in the vectors are written and read only within one call of `submit`, which borrows all
// that they point to.
unsafe impl Send for Outbox {}

/// Control data of one entry; either part can be left off.
#[repr(C)]
#[derive(Clone, Copy)]
struct Control {
    tos: Cmsg<libc::c_int>,
    segment: Cmsg<u16>,
}

impl Control {
    fn new(to: SocketAddr, priority: u8, segment: usize) -> Control {
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

    /// The bytes of it that the kernel must see.
    fn needed(&self, default_tos: Option<libc::c_int>) -> Range<usize> {
        let segment_at = std::mem::offset_of!(Control, segment);
        let start = if default_tos == Some(self.tos.value) { segment_at } else { 0 };
        let end = if self.segment.value == 0 { segment_at } else { size_of::<Control>() };
        start..end
    }
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
    /// `default_tos` is what the socket gives packets that do not name a TOS.
    pub(crate) fn new(default_tos: Option<u8>) -> Outbox {
        Outbox {
            stage: vec![0; STAGE].into(),
            pieces: Vec::new(),
            parts: Vec::with_capacity(MAX_ENTRIES),
            messages: Vec::with_capacity(MAX_ENTRIES),
            default_tos: default_tos.map(libc::c_int::from),
        }
    }

    /// Sends `entries`, which describe the first packets of `batch`, and returns how many entries were sent, at
    /// least one, or why the first was not.
    pub(crate) fn submit(
        &mut self,
        fd: BorrowedFd<'_>,
        frame: &impl Frame,
        paths: &Paths,
        batch: &[Transmit],
        entries: &[Entry],
    ) -> io::Result<usize> {
        self.pieces.clear();
        self.parts.clear();
        let mut stage = Stage { free: &mut self.stage, pieces: &mut self.pieces, growing: false };
        let mut rest = batch;
        for entry in entries {
            let (packets, after) = rest.split_at(entry.packets);
            rest = after;
            let first = &packets[0];
            let to = normalise(first.to);
            let Some((addr, addr_len)) = frame.address(to) else {
                if self.parts.is_empty() {
                    return Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT));
                }
                break;
            };
            let before = stage.pieces.len();
            packets.iter().for_each(|packet| {
                stage.add(packet, |header, contents| frame.seal(to, paths, header, contents));
            });
            stage.growing = false;
            let control = Control::new(to, first.priority, entry.segment);
            self.parts.push(Parts {
                addr,
                addr_len,
                control_range: control.needed(self.default_tos),
                control,
                pieces: stage.pieces.len() - before,
            });
        }
        self.address_messages();
        self.call(fd)
    }

    /// Writes the message headers, once nothing that they point to moves any more.
    fn address_messages(&mut self) {
        self.messages.clear();
        let mut pieces = self.pieces.as_mut_slice();
        for part in &mut self.parts {
            let (mine, after) = pieces.split_at_mut(part.pieces);
            pieces = after;
            // SAFETY: all fields are integers or pointers, for which zero is valid.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_name = (&raw mut part.addr).cast();
            message.msg_hdr.msg_namelen = part.addr_len;
            message.msg_hdr.msg_iov = mine.as_mut_ptr();
            message.msg_hdr.msg_iovlen = mine.len() as _;
            if !part.control_range.is_empty() {
                let control: *mut u8 = (&raw mut part.control).cast();
                message.msg_hdr.msg_control = control.wrapping_add(part.control_range.start).cast();
                message.msg_hdr.msg_controllen = part.control_range.len() as _;
            }
            self.messages.push(message);
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

/// Collects the bytes of entries as pieces of memory.
struct Stage<'a> {
    free: &'a mut [u8],
    pieces: &'a mut Vec<libc::iovec>,
    /// Whether the last piece ends where `free` begins, and belongs to this entry.
    growing: bool,
}

impl Stage<'_> {
    /// Adds a packet whose copied header `seal` completes.
    fn add(&mut self, packet: &Transmit, seal: impl FnOnce(&mut [u8], &[u8])) {
        let contents = contents(&packet.payload);
        self.copy(packet.header(), |header| seal(header, contents));
        if contents.len() <= COPY_MAX {
            self.copy(contents, |_| {});
        } else {
            let base = contents.as_ptr().cast_mut().cast();
            self.pieces.push(libc::iovec { iov_base: base, iov_len: contents.len() });
            self.growing = false;
        }
    }

    fn copy(&mut self, bytes: &[u8], complete: impl FnOnce(&mut [u8])) {
        let (place, free) = std::mem::take(&mut self.free).split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        complete(place);
        self.free = free;
        match self.pieces.last_mut() {
            Some(last) if self.growing => last.iov_len += bytes.len(),
            _ => {
                let base = place.as_mut_ptr().cast();
                self.pieces.push(libc::iovec { iov_base: base, iov_len: bytes.len() });
                self.growing = true;
            }
        }
    }
}

/// A phantom goes out as zeros. One longer than any packet is cut, and is still too long to be sent.
fn contents(payload: &Payload) -> &[u8] {
    match payload {
        Payload::Bytes(bytes) => bytes,
        Payload::Phantom(len) => &ZEROS[..(*len).min(ZEROS.len())],
    }
}
