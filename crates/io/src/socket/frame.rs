use super::address::RawAddr;
use super::paths::Paths;
use std::net::SocketAddr;

/// What stands around Homa packets on one kind of socket, as far as its kernel leaves that to us.
pub(crate) trait Frame: Send {
    /// What a system call must be told to send to `to`, which has been normalised; `None` if the socket cannot send
    /// there.
    fn address(&self, to: SocketAddr) -> Option<(RawAddr, libc::socklen_t)>;

    /// Completes the header of a packet to `to`, in the copy that the kernel reads.
    fn seal(&self, _to: SocketAddr, _paths: &Paths, _header: &mut [u8], _contents: &[u8]) {}

    /// Who sent what a system call received, and the Homa packet in it; `None` if there is none for this endpoint.
    fn open<'a>(&self, from: SocketAddr, bytes: &'a [u8]) -> Option<(SocketAddr, &'a [u8])>;

    /// The peer of a packet to `dest` that caused an error and began with `quoted`; `None` if it was not this
    /// endpoint's.
    fn blamed(&self, dest: SocketAddr, quoted: &[u8]) -> Option<SocketAddr>;
}
