//! The system calls on a socket of the module, and the memory that it puts messages into.

use super::layout::{AbortArgs, HOMAIOCABORT, RecvArgs, RegionArgs, SO_HOMA_RCVBUF, SOL_HOMA, SendArgs};
use crate::socket::RawAddr;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

/// Memory that the kernel puts messages into, and only while it executes [`receive`].
pub(super) struct Region {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: nothing else points to the memory, which belongs to no thread.
unsafe impl Send for Region {}

impl Region {
    /// Memory of `length` bytes, more than 0.
    pub(super) fn new(length: usize) -> io::Result<Region> {
        const ACCESS: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;
        const KIND: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, wherever the kernel finds room.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, ACCESS, KIND, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Region { start, length })
    }

    /// Appends `length` bytes from `offset` on to `message`; whether the memory has as many there.
    pub(super) fn copy(&self, offset: u32, length: usize, message: &mut Vec<u8>) -> bool {
        let offset = offset as usize;
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return false;
        }
        // SAFETY: the range is inside the mapping, all of which is initialised, with zeros at first. The kernel writes
        // only during `receive`, which the owner of this memory calls through `&mut`.
        let bytes = unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset), length) };
        message.extend_from_slice(bytes);
        true
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this length, and nothing refers to it any more: the socket that
        // uses it has been shut down by its owner.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Gives a socket the memory for incoming messages. It must live until the socket has been shut down.
pub(super) fn give_region(fd: BorrowedFd<'_>, region: &Region) -> io::Result<()> {
    let args = RegionArgs { start: region.start.as_ptr() as u64, length: region.length as u64 };
    let length = size_of_val(&args) as libc::socklen_t;
    // SAFETY: `args` outlives the call and its size is passed along.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), SOL_HOMA, SO_HOMA_RCVBUF, (&raw const args).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends a message to the address `to` of `to_length` bytes; the module may write to `args` whatever `control_length`,
/// which goes into `msg_controllen`, says.
pub(super) fn send(
    fd: BorrowedFd<'_>,
    (mut to, to_length): (RawAddr, libc::socklen_t),
    message: &[u8],
    args: &mut SendArgs,
    control_length: usize,
) -> io::Result<()> {
    // The kernel only reads what it sends.
    let mut contents = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
    let mut header = empty_header();
    header.msg_name = (&raw mut to).cast();
    header.msg_namelen = to_length;
    header.msg_iov = &raw mut contents;
    header.msg_iovlen = 1;
    header.msg_control = ptr::from_mut(args).cast();
    header.msg_controllen = control_length.min(size_of::<SendArgs>()) as _;
    const FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: all that the header points to outlives the call, with sizes no larger than what is there; `args`, whose size
    // the module knows, is there as a whole.
    let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const header, FLAGS) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Receives a message into the socket's [`Region`] and returns its length and who sent it. `args` says which, also of one
/// that failed.
pub(super) fn receive(fd: BorrowedFd<'_>, args: &mut RecvArgs) -> io::Result<(usize, Option<SocketAddr>)> {
    let mut from = RawAddr::EMPTY;
    let mut header = empty_header();
    header.msg_name = (&raw mut from).cast();
    header.msg_namelen = RawAddr::CAPACITY;
    header.msg_control = ptr::from_mut(args).cast();
    header.msg_controllen = size_of::<RecvArgs>() as _;
    // SAFETY: all that the header points to outlives the call, with its sizes. The region that the kernel also writes to
    // is alive, as `give_region` demands, and nobody reads it now.
    let length = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    Ok((length, from.decode(header.msg_namelen)))
}

/// Aborts an RPC of this socket as a client.
pub(super) fn abort(fd: BorrowedFd<'_>, args: &mut AbortArgs) -> io::Result<()> {
    // SAFETY: this request reads and writes one `AbortArgs`, whose size is part of its number.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), HOMAIOCABORT, ptr::from_mut(args)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn empty_header() -> libc::msghdr {
    // SAFETY: all fields are integers or pointers, for which zero is valid.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn a_region_is_read_within_its_bounds() {
        let region = Region::new(1 << 16).unwrap();
        let mut message = vec![1];
        assert!(region.copy(60_000, 5_536, &mut message));
        assert_eq!(message.len(), 5_537);
        assert!(!region.copy(60_000, 5_537, &mut message));
        assert!(!region.copy(u32::MAX, usize::MAX, &mut message));
        assert_eq!(message.len(), 5_537);
    }

    /// UDP takes the same calls, and does not look at control data without a length.
    #[test]
    fn the_calls_pass_contents_and_addresses() {
        let (near, far) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = RawAddr::encode(far.local_addr().unwrap(), false).unwrap();
        send(near.as_fd(), to, b"contents", &mut SendArgs { id: 7, ..SendArgs::default() }, 0).unwrap();
        let mut buffer = [0; 64];
        let (length, from) = far.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from), (&b"contents"[..], near.local_addr().unwrap()));

        far.send_to(b"answer", from).unwrap();
        let mut args = RecvArgs { num_pages: 3, ..RecvArgs::default() };
        let (length, from) = receive(near.as_fd(), &mut args).unwrap();
        assert_eq!((length, from), (0, far.local_addr().ok()), "there is no room for contents in a plain message");
        let nothing = receive(near.as_fd(), &mut args).unwrap_err();
        assert_eq!((nothing.kind(), args.num_pages), (io::ErrorKind::WouldBlock, 3));
    }

    #[test]
    fn a_socket_of_another_protocol_refuses_what_is_homas() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let region = Region::new(1 << 16).unwrap();
        assert_eq!(give_region(socket.as_fd(), &region).unwrap_err().raw_os_error(), Some(libc::ENOPROTOOPT));
        let error = abort(socket.as_fd(), &mut AbortArgs { id: 2, ..AbortArgs::default() }).unwrap_err();
        assert!(matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)), "{error}");
    }
}
