//! What the Linux Homa module and its users agree on: numbers, and structures byte by byte.
//!
//! All of it is recalled from the module's public header as of 2025/26, in our own words, and could not be tried against
//! the module. Whatever turns out to be different is put right in this file: nothing else knows a number or an offset.

use std::io;

/// Option by which a socket is given the memory for incoming messages: [`RegionArgs`].
pub(super) const SO_HOMA_RCVBUF: libc::c_int = 10;
/// Option by which a socket is made to take requests: an int, 1. Modules without it always take them.
pub(super) const SO_HOMA_SERVER: libc::c_int = 11;
/// Level of both options: the protocol's number.
pub(super) const SOL_HOMA: libc::c_int = crate::raw::HOMA;
/// Request by which an RPC is aborted: [`AbortArgs`].
pub(super) const HOMAIOCABORT: libc::Ioctl = libc::_IOWR::<AbortArgs>(0x89, 0xe3);

/// Bytes in one page of the memory for incoming messages, which the module calls a bpage.
pub const PAGE: usize = 1 << 16;
/// Most pages that a message takes.
pub const MAX_PAGES: usize = 16;
/// Longest message, bytes; the shortest has one.
pub const MAX_MESSAGE: usize = 1_000_000;
/// Where the ports of clients begin, which the module assigns; those of servers are below.
pub const FIRST_CLIENT_PORT: u16 = 0x8000;

/// What `sendmsg` reads and writes by way of `msg_control`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendArgs {
    /// 0 for a request: the kernel writes its id. For a response the id of the request.
    pub id: u64,
    /// For a request: what comes back with the response.
    pub cookie: u64,
    /// 1 if only those who ask for this id may receive the response, else 0.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
}

/// What `recvmsg` reads and writes by way of `msg_control`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecvArgs {
    /// Going in: the RPC waited for, 0 for any. Coming out: whose message it is, or which one failed; 0 for none.
    pub id: u64,
    /// Coming out, for a response: what was sent with the request.
    pub cookie: u64,
    /// How many of `pages` count.
    pub num_pages: u32,
    /// 0.
    pub reserved: u32,
    /// Where pages begin, bytes from the start of the memory. Going in: those that are given back. Coming out: those of
    /// the message, all whole but the last, which may begin anywhere and has what is left of the length.
    pub pages: [u32; MAX_PAGES],
}

/// What the request to abort an RPC reads.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbortArgs {
    /// The RPC, one of this socket as a client.
    pub id: u64,
    /// 0: it ends without a word. Else the error, as errno has it, that it ends with.
    pub error: u32,
    /// 0.
    pub padding: u32,
    /// 0.
    pub reserved: [u64; 2],
}

/// The memory for incoming messages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RegionArgs {
    /// Address of its first byte, at the beginning of one of the processor's pages.
    pub(super) start: u64,
    /// Bytes, a multiple of [`PAGE`].
    pub(super) length: u64,
}

impl RecvArgs {
    /// The pages that count.
    pub fn pages(&self) -> &[u32] {
        &self.pages[..(self.num_pages as usize).min(MAX_PAGES)]
    }
}

/// Whether an id, as the module hands it to one side of an RPC, is that of the server: odd. A client's are even.
pub(super) fn is_servers(id: u64) -> bool {
    id % 2 == 1
}

/// What `msg_controllen` is to be when a message is sent.
///
/// The system copies control data that has a length before a protocol sees it, and then the id of a request could not be
/// written back: so the length ought to be 0. As this is not certain, a first message that is refused with `EINVAL` is
/// sent once more with the other length.
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlLength {
    bytes: usize,
    settled: bool,
}

impl ControlLength {
    pub(super) const UNKNOWN: ControlLength = ControlLength { bytes: 0, settled: false };

    /// Bytes to send with.
    pub(super) fn bytes(self) -> usize {
        self.bytes
    }

    /// Notes how a message fared, and returns whether to try it with another length.
    pub(super) fn learn(&mut self, sent: &io::Result<()>) -> bool {
        let refused = matches!(sent, Err(error) if error.raw_os_error() == Some(libc::EINVAL));
        let again = refused && !self.settled;
        if again {
            self.bytes = if self.bytes == 0 { size_of::<SendArgs>() } else { 0 };
        }
        // What was refused both times is refused for another reason, and says nothing about the length.
        self.settled |= sent.is_ok();
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn sending() {
        assert_eq!(size_of::<SendArgs>(), 24);
        assert_eq!((offset_of!(SendArgs, id), offset_of!(SendArgs, cookie)), (0, 8));
        assert_eq!((offset_of!(SendArgs, flags), offset_of!(SendArgs, reserved)), (16, 20));
    }

    #[test]
    fn receiving() {
        assert_eq!(size_of::<RecvArgs>(), 88);
        assert_eq!((offset_of!(RecvArgs, id), offset_of!(RecvArgs, cookie)), (0, 8));
        assert_eq!((offset_of!(RecvArgs, num_pages), offset_of!(RecvArgs, reserved)), (16, 20));
        assert_eq!(offset_of!(RecvArgs, pages), 24);
        const { assert!(MAX_MESSAGE <= MAX_PAGES * PAGE) };
    }

    #[test]
    fn options_and_requests() {
        assert_eq!(size_of::<RegionArgs>(), 16);
        assert_eq!((offset_of!(RegionArgs, start), offset_of!(RegionArgs, length)), (0, 8));
        assert_eq!(size_of::<AbortArgs>(), 32);
        assert_eq!((offset_of!(AbortArgs, id), offset_of!(AbortArgs, error)), (0, 8));
        assert_eq!((offset_of!(AbortArgs, padding), offset_of!(AbortArgs, reserved)), (12, 16));
        // Both directions, 32 bytes, as most architectures number requests.
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
        assert_eq!(HOMAIOCABORT as u32, 0xc020_89e3);
        assert_eq!((SOL_HOMA, SO_HOMA_RCVBUF, SO_HOMA_SERVER), (146, 10, 11));
    }

    #[test]
    fn a_count_out_of_range_is_cut() {
        assert_eq!(RecvArgs { num_pages: 2, ..RecvArgs::default() }.pages().len(), 2);
        assert_eq!(RecvArgs { num_pages: u32::MAX, ..RecvArgs::default() }.pages().len(), MAX_PAGES);
    }

    #[test]
    fn the_control_length_that_works_is_kept() {
        let refusal = || Err(io::Error::from_raw_os_error(libc::EINVAL));
        let mut length = ControlLength::UNKNOWN;
        assert!(length.learn(&refusal()));
        assert_eq!(length.bytes(), 24);
        assert!(!length.learn(&Ok(())));
        assert!(!length.learn(&refusal()), "the message was at fault");
        assert_eq!(length.bytes(), 24);

        let mut length = ControlLength::UNKNOWN;
        assert!(!length.learn(&Err(io::Error::from_raw_os_error(libc::EAGAIN))));
        assert!(!length.learn(&Ok(())));
        assert!(!length.learn(&refusal()));
        assert_eq!(length.bytes(), 0);
    }
}
