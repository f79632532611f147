//! What the network and the kernel say about packets that were sent earlier: the socket's error queue.

use super::address::RawAddr;
use super::frame::Frame;
use homarus_proto::Unreachable;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// One such message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// Packets to the peer are not delivered.
    Unreachable(SocketAddr, Unreachable),
    /// Packets to the peer are too large for the path.
    TooLarge(SocketAddr),
}

/// Reports that wait to be handed up.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    waiting: VecDeque<Report>,
    /// Reports that were dropped because too many waited.
    pub(crate) dropped: u64,
}

/// Most reports that wait. A peer that stays out of reach causes new ones.
const MAX_WAITING: usize = 1024;
/// Most errors read from the kernel at once.
const MAX_READ: usize = 64;

impl Reports {
    /// Adds one, unless the same was added last.
    pub(crate) fn push(&mut self, report: Report) {
        if self.waiting.back() == Some(&report) {
            return;
        }
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(report);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The oldest.
    pub(crate) fn pop(&mut self) -> Option<Report> {
        self.waiting.pop_front()
    }

    /// Reads the socket's error queue, and returns how many errors were in it, of interest or not.
    pub(crate) fn read_from(&mut self, fd: BorrowedFd<'_>, frame: &impl Frame) -> usize {
        for read in 0..MAX_READ {
            match read_error(fd, frame) {
                Ok(Some(report)) => self.push(report),
                Ok(None) => {}
                Err(_) => return read,
            }
        }
        MAX_READ
    }
}

/// Control data of an error: the kernel sends the error and the address of whoever reported it.
#[repr(C, align(8))]
struct Control([u8; 256]);

/// Bytes read of the packet that an error is about: the ports that all transports begin with.
const QUOTE: usize = 4;

/// Takes one error off the queue; `None` if it says nothing about a peer. An error if the queue is empty.
fn read_error(fd: BorrowedFd<'_>, frame: &impl Frame) -> io::Result<Option<Report>> {
    let mut name = RawAddr::EMPTY;
    let mut control = Control([0; 256]);
    let mut quote = [0; QUOTE];
    let mut piece = libc::iovec { iov_base: quote.as_mut_ptr().cast(), iov_len: QUOTE };
    // SAFETY: all fields are integers or pointers, for which zero is valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = RawAddr::CAPACITY;
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: name, quote and control outlive the call, and their sizes are given.
    let result = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
    let Ok(quoted) = usize::try_from(result) else {
        return Err(io::Error::last_os_error());
    };
    let dest = name.decode(message.msg_namelen);
    let peer = dest.and_then(|dest| frame.blamed(dest, &quote[..quoted.min(QUOTE)]));
    let error = find_error(&message);
    Ok(peer.zip(error).and_then(|(peer, error)| interpret(peer, &error)))
}

fn find_error(message: &libc::msghdr) -> Option<libc::sock_extended_err> {
    // SAFETY: the kernel filled in msg_control and msg_controllen; the macros stay within them. An error's cmsg
    // holds a sock_extended_err, perhaps not aligned.
    unsafe {
        let mut cmsg = libc::CMSG_FIRSTHDR(message);
        while !cmsg.is_null() {
            let kind = ((*cmsg).cmsg_level, (*cmsg).cmsg_type);
            if kind == (libc::IPPROTO_IP, libc::IP_RECVERR) || kind == (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) {
                return Some(libc::CMSG_DATA(cmsg).cast::<libc::sock_extended_err>().read_unaligned());
            }
            cmsg = libc::CMSG_NXTHDR(message, cmsg);
        }
    }
    None
}

/// Errors of local origin say nothing new, as the call that caused them failed, and do not name the port.
fn interpret(peer: SocketAddr, error: &libc::sock_extended_err) -> Option<Report> {
    const ICMP_UNREACHABLE: u8 = 3;
    const ICMP6_UNREACHABLE: u8 = 1;
    const ICMP6_TOO_BIG: u8 = 2;
    const ICMP6_PARAMETER: u8 = 4;
    let unreachable = |why| Some(Report::Unreachable(peer, why));
    match (error.ee_origin, error.ee_type, error.ee_code) {
        (libc::SO_EE_ORIGIN_ICMP, ICMP_UNREACHABLE, 2) => unreachable(Unreachable::Protocol),
        (libc::SO_EE_ORIGIN_ICMP, ICMP_UNREACHABLE, 3) => unreachable(Unreachable::Port),
        (libc::SO_EE_ORIGIN_ICMP, ICMP_UNREACHABLE, 4) => Some(Report::TooLarge(peer)),
        (libc::SO_EE_ORIGIN_ICMP, ICMP_UNREACHABLE, _) => unreachable(Unreachable::Host),
        (libc::SO_EE_ORIGIN_ICMP6, ICMP6_UNREACHABLE, 4) => unreachable(Unreachable::Port),
        (libc::SO_EE_ORIGIN_ICMP6, ICMP6_UNREACHABLE, _) => unreachable(Unreachable::Host),
        (libc::SO_EE_ORIGIN_ICMP6, ICMP6_TOO_BIG, _) => Some(Report::TooLarge(peer)),
        (libc::SO_EE_ORIGIN_ICMP6, ICMP6_PARAMETER, 1) => unreachable(Unreachable::Protocol),
        _ => None,
    }
}

/// Whether a system call's error may be about a packet sent earlier, and not about the call's own.
pub(crate) fn may_be_deferred(errno: i32) -> bool {
    matches!(
        errno,
        libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENONET
            | libc::ENOPROTOOPT
            | libc::EOPNOTSUPP
            | libc::EPROTO
            | libc::EMSGSIZE
            | libc::EACCES
            | libc::EPERM
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(origin: u8, kind: u8, code: u8) -> libc::sock_extended_err {
        let errno = libc::EMSGSIZE as u32;
        libc::sock_extended_err {
            ee_errno: errno,
            ee_origin: origin,
            ee_type: kind,
            ee_code: code,
            ee_pad: 0,
            ee_info: 1400,
            ee_data: 0,
        }
    }

    #[test]
    fn icmp_is_understood() {
        let peer = "10.0.0.1:5".parse().unwrap();
        let is = |origin, kind, code| interpret(peer, &error(origin, kind, code));
        let unreachable = |why| Some(Report::Unreachable(peer, why));
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP, 3, 3), unreachable(Unreachable::Port));
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP, 3, 2), unreachable(Unreachable::Protocol));
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP, 3, 0), unreachable(Unreachable::Host));
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP, 3, 13), unreachable(Unreachable::Host));
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP, 3, 4), Some(Report::TooLarge(peer)));
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP, 11, 0), None);
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP6, 1, 4), unreachable(Unreachable::Port));
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP6, 1, 0), unreachable(Unreachable::Host));
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP6, 4, 1), unreachable(Unreachable::Protocol));
        assert_eq!(is(libc::SO_EE_ORIGIN_ICMP6, 2, 0), Some(Report::TooLarge(peer)));
        assert_eq!(is(libc::SO_EE_ORIGIN_LOCAL, 0, 0), None);
    }

    #[test]
    fn reports_are_bounded_and_not_repeated() {
        let mut reports = Reports::default();
        for port in 0..2000 {
            for _ in 0..3 {
                reports.push(Report::TooLarge(SocketAddr::from(([10, 0, 0, 1], port))));
            }
        }
        assert_eq!(reports.waiting.len(), MAX_WAITING);
        assert!(reports.dropped >= 2000 - MAX_WAITING as u64);
    }
}
