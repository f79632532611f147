use crate::Payload;
use std::net::SocketAddr;

/// One packet to send.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// Switch priority, 0 (lowest) to 7; goes into the packet as TOS = priority << 5.
    pub priority: u8,
    pub(crate) header: [u8; Transmit::MAX_HEADER],
    pub(crate) header_len: u8,
    /// Part of the message, not copied; empty in control packets.
    pub payload: Payload,
}

impl Transmit {
    /// Longest Homa header, bytes (an ACK).
    pub const MAX_HEADER: usize = 80;

    /// A packet of `header` and `payload`. Panics if the header is longer than [`MAX_HEADER`](Self::MAX_HEADER).
    pub fn new(to: SocketAddr, priority: u8, header: &[u8], payload: Payload) -> Transmit {
        let mut buffer = [0; Transmit::MAX_HEADER];
        buffer[..header.len()].copy_from_slice(header);
        Transmit { to, priority, header: buffer, header_len: header.len() as u8, payload }
    }

    /// The Homa header.
    pub fn header(&self) -> &[u8] {
        &self.header[..usize::from(self.header_len)]
    }

    /// Bytes of Homa packet: header and payload.
    pub fn len(&self) -> usize {
        usize::from(self.header_len) + self.payload.len()
    }

    /// Never: every packet has a header.
    pub fn is_empty(&self) -> bool {
        false
    }
}
