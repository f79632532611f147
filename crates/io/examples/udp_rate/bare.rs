//! The same traffic by bare system calls, with everything prepared beforehand: what the kernel alone costs.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

const BUFFER: usize = 1 << 16;
const BATCH: usize = 64;
/// Memory that long messages are sent from, bytes.
const MESSAGE: usize = 1 << 20;

/// A pair of plain sockets with arguments for their system calls.
pub(crate) struct Bare {
    sender: UdpSocket,
    receiver: UdpSocket,
    to: libc::sockaddr_in,
    contents: Vec<u8>,
    buffers: Vec<u8>,
}

fn message(pieces: &mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: all fields are integers or pointers, for which zero is valid.
    let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
    message.msg_hdr.msg_iov = pieces;
    message.msg_hdr.msg_iovlen = 1;
    message
}

impl Bare {
    /// Sockets on loopback; with `gro` the receiver takes coalesced datagrams.
    pub(crate) fn new(gro: bool) -> io::Result<Bare> {
        let sender = UdpSocket::bind("127.0.0.1:0")?;
        let receiver = UdpSocket::bind("127.0.0.1:0")?;
        let set = |level, name, value: libc::c_int| {
            let len = size_of_val(&value) as libc::socklen_t;
            // SAFETY: `value` outlives the call.
            unsafe { libc::setsockopt(receiver.as_raw_fd(), level, name, (&raw const value).cast(), len) };
        };
        set(libc::SOL_SOCKET, libc::SO_RCVBUF, 8 << 20);
        set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, 8 << 20);
        if gro {
            set(libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        let SocketAddr::V4(addr) = receiver.local_addr()? else { unreachable!("bound to IPv4") };
        let to = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: addr.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(addr.ip().octets()) },
            sin_zero: [0; 8],
        };
        Ok(Bare { sender, receiver, to, contents: vec![1; MESSAGE], buffers: vec![0; BATCH * BUFFER] })
    }

    /// One packet by sendto, and back by recvfrom.
    pub(crate) fn one(&mut self, length: usize, to: SocketAddr) -> io::Result<usize> {
        self.sender.send_to(&self.contents[..length], to)?;
        Ok(self.receiver.recv_from(&mut self.buffers[..BUFFER])?.0)
    }

    /// Where packets go.
    pub(crate) fn receiver(&self) -> io::Result<SocketAddr> {
        self.receiver.local_addr()
    }

    /// `count` datagrams of `length` bytes by sendmmsg, 64 a call.
    pub(crate) fn send_many(&mut self, count: usize, length: usize) -> io::Result<()> {
        let base = self.contents.as_mut_ptr();
        let mut pieces: Vec<_> = (0..count)
            .map(|at| libc::iovec { iov_base: base.wrapping_add(at * length).cast(), iov_len: length })
            .collect();
        let mut messages: Vec<_> = pieces.iter_mut().map(message).collect();
        for message in &mut messages {
            message.msg_hdr.msg_name = (&raw mut self.to).cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        }
        let mut rest = messages.as_mut_slice();
        while !rest.is_empty() {
            let now = rest.len().min(BATCH) as libc::c_uint;
            // SAFETY: the headers point to `pieces`, `self.contents` and `self.to`, which outlive the call.
            let sent = unsafe { libc::sendmmsg(self.sender.as_raw_fd(), rest.as_mut_ptr(), now, 0) };
            let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
            rest = &mut rest[sent..];
        }
        Ok(())
    }

    /// `total` bytes in datagrams of `segment` bytes by sendmsg with UDP_SEGMENT, 64 KB a call.
    pub(crate) fn send_segmented(&mut self, total: usize, segment: usize) -> io::Result<()> {
        #[repr(C)]
        struct Control {
            header: libc::cmsghdr,
            segment: u16,
        }
        // SAFETY: all fields are integers, for which zero is valid.
        let mut control: Control = unsafe { std::mem::zeroed() };
        control.header.cmsg_level = libc::SOL_UDP;
        control.header.cmsg_type = libc::UDP_SEGMENT;
        control.header.cmsg_len = size_of::<libc::cmsghdr>() + size_of::<u16>();
        control.segment = segment as u16;
        let most = (65_507 / segment).min(64) * segment;
        for chunk in self.contents[..total].chunks_mut(most) {
            let mut piece = libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: chunk.len() };
            let mut message = message(&mut piece);
            message.msg_hdr.msg_name = (&raw mut self.to).cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
            message.msg_hdr.msg_control = (&raw mut control).cast();
            message.msg_hdr.msg_controllen = size_of::<Control>();
            // SAFETY: the header points to locals and `self`, which outlive the call.
            let sent = unsafe { libc::sendmsg(self.sender.as_raw_fd(), &message.msg_hdr, 0) };
            usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
        }
        Ok(())
    }

    /// Receives `total` bytes by recvmmsg.
    pub(crate) fn receive(&mut self, total: usize, batch: usize) -> io::Result<()> {
        let base = self.buffers.as_mut_ptr();
        let mut pieces: Vec<_> = (0..batch.min(BATCH))
            .map(|at| libc::iovec { iov_base: base.wrapping_add(at * BUFFER).cast(), iov_len: BUFFER })
            .collect();
        let mut messages: Vec<_> = pieces.iter_mut().map(message).collect();
        let mut received = 0;
        while received < total {
            let none = std::ptr::null_mut();
            let count = messages.len() as libc::c_uint;
            // SAFETY: the headers point to distinct parts of `self.buffers`, of the lengths given.
            let got = unsafe {
                let fd = self.receiver.as_raw_fd();
                libc::recvmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT as _, none)
            };
            let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
            received += messages[..got].iter().map(|m| m.msg_len as usize).sum::<usize>();
        }
        Ok(())
    }
}
