//! The receive system calls.

use super::address::RawAddr;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Room for the datagrams of one system call, reused.
pub(crate) struct Inbox {
    /// `BATCH` times `STRIDE` bytes; the kernel maps those that are ever written.
    contents: Vec<u8>,
    addrs: Vec<RawAddr>,
    controls: Vec<Control>,
    pieces: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
    /// Receptions to ask for next.
    want: usize,
    /// Lone receptions in a row, each of which might have had more behind it.
    lone: u32,
    /// Lone receptions before more are asked for: many if that was in vain lately.
    patience: u32,
}

// SAFETY: the raw pointers in the vectors are written and read only within one call of `receive`, and point into
// `self`.
unsafe impl Send for Inbox {}

/// Room for one control message, UDP_GRO's, which is an int.
#[repr(C)]
#[derive(Clone, Copy)]
struct Control {
    header: libc::cmsghdr,
    value: libc::c_int,
}

/// What one reception brought.
pub(crate) struct Reception<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) bytes: &'a [u8],
    /// Bytes in each datagram (the last may be shorter); all of them if there is one.
    pub(crate) segment: usize,
}

/// Most receptions in one system call.
const BATCH: usize = 32;
/// Receptions asked for when there may be more than one.
const FIRST_BATCH: usize = 4;
/// Most lone receptions before more are asked for: asking in vain costs 400 ns, not asking 150 ns for each.
const MAX_PATIENCE: u32 = 16;
/// Bytes kept for each: the most that UDP_GRO puts together.
const STRIDE: usize = 1 << 16;
/// Long receptions asked for in one call, so that what is being read stays in the cache.
const LONG_BATCH: usize = 4;
/// A reception beyond this is long, bytes.
const LONG: usize = 1 << 14;

impl Inbox {
    pub(crate) fn new() -> Inbox {
        // SAFETY: all fields are integers or pointers, for which zero is valid.
        let (control, message) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Inbox {
            contents: vec![0; BATCH * STRIDE],
            addrs: vec![RawAddr::EMPTY; BATCH],
            controls: vec![control; BATCH],
            pieces: vec![empty; BATCH],
            messages: vec![message; BATCH],
            want: 1,
            lone: 0,
            patience: 1,
        }
    }

    /// Receives what waits, at most one batch, and hands each reception to `each`. Returns how many there were.
    ///
    /// Asks for one first, and for more when calls are filled: a lone packet, whose latency counts, costs a plain
    /// recvmsg.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>, mut each: impl FnMut(Reception<'_>)) -> io::Result<usize> {
        let want = self.want;
        self.prepare(want);
        let got = self.call(fd, want);
        let Ok(count) = got else {
            self.want = 1;
            return got;
        };
        let mut longest = 0;
        for at in 0..count {
            let message = &self.messages[at];
            let length = (message.msg_len as usize).min(STRIDE);
            longest = longest.max(length);
            let Some(from) = self.addrs[at].decode(message.msg_hdr.msg_namelen) else {
                continue;
            };
            let bytes = &self.contents[at * STRIDE..][..length];
            let segment = segment(&message.msg_hdr, &self.controls[at]).unwrap_or(length);
            each(Reception { from, bytes, segment });
        }
        let most = if longest > LONG { LONG_BATCH } else { BATCH };
        self.adapt(count, most);
        Ok(count)
    }

    /// Chooses how many to ask for next after `count` came, at most `most`.
    fn adapt(&mut self, count: usize, most: usize) {
        if self.want == 1 {
            self.lone += 1;
            if self.lone >= self.patience {
                self.lone = 0;
                self.want = FIRST_BATCH;
            }
        } else if count == self.want {
            self.patience = 1;
            self.want = (count * 4).min(most);
        } else {
            self.patience = if count > 1 { 1 } else { (self.patience * 2).min(MAX_PATIENCE) };
            self.want = count;
        }
    }

    fn prepare(&mut self, want: usize) {
        for at in 0..want {
            let contents = &mut self.contents[at * STRIDE..][..STRIDE];
            self.pieces[at] = libc::iovec { iov_base: contents.as_mut_ptr().cast(), iov_len: STRIDE };
            let header = &mut self.messages[at].msg_hdr;
            header.msg_name = (&raw mut self.addrs[at]).cast();
            header.msg_namelen = RawAddr::CAPACITY;
            header.msg_iov = &raw mut self.pieces[at];
            header.msg_iovlen = 1;
            header.msg_control = (&raw mut self.controls[at]).cast();
            header.msg_controllen = size_of::<Control>() as _;
        }
    }

    fn call(&mut self, fd: BorrowedFd<'_>, want: usize) -> io::Result<usize> {
        const FLAGS: libc::c_int = libc::MSG_DONTWAIT;
        let messages = &mut self.messages[..want];
        // SAFETY: `prepare` has pointed the headers at distinct parts of `self`, with their sizes.
        let got = unsafe {
            match messages {
                [only] => match libc::recvmsg(fd.as_raw_fd(), &mut only.msg_hdr, FLAGS) {
                    length if length < 0 => -1,
                    length => {
                        only.msg_len = length as libc::c_uint;
                        1
                    }
                },
                many => {
                    let none = std::ptr::null_mut();
                    libc::recvmmsg(fd.as_raw_fd(), many.as_mut_ptr(), want as _, FLAGS as _, none)
                }
            }
        };
        usize::try_from(got).map_err(|_| io::Error::last_os_error())
    }
}

/// The segment size, if the kernel put several datagrams together.
fn segment(header: &libc::msghdr, control: &Control) -> Option<usize> {
    let expected = size_of::<libc::cmsghdr>() + size_of::<libc::c_int>();
    let present = header.msg_controllen >= expected as _
        && control.header.cmsg_level == libc::SOL_UDP
        && control.header.cmsg_type == libc::UDP_GRO;
    let size = usize::try_from(control.value).ok().filter(|size| *size > 0);
    if present { size } else { None }
}
