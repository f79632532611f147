use crate::socket::{Frame, RawAddr};
use std::net::SocketAddr;

/// A UDP datagram, whose headers are the kernel's.
pub(super) struct Datagram {
    /// Whether the socket is of family IPv6.
    pub(super) v6: bool,
}

impl Frame for Datagram {
    fn address(&self, to: SocketAddr) -> Option<(RawAddr, libc::socklen_t)> {
        RawAddr::encode(to, self.v6)
    }

    fn open<'a>(&self, from: SocketAddr, bytes: &'a [u8]) -> Option<(SocketAddr, &'a [u8])> {
        Some((from, bytes))
    }

    fn blamed(&self, dest: SocketAddr, _quoted: &[u8]) -> Option<SocketAddr> {
        Some(dest)
    }
}
