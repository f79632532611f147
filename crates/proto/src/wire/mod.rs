//! Packets as bytes: exactly what the Linux Homa module sends and accepts.
//!
//! All integers are big-endian. [`Header::parse`] takes any bytes; [`Header::emit`] gives back the same bytes for
//! every packet that the Linux module sends.

mod datagram;
mod header;
mod packet;

pub use datagram::split_datagram;
pub use header::{Header, LINUX_FLAGS, LINUX_URGENT, PacketType};
pub use packet::{Ack, Data, ExtensionBits, MAX_ACKS, NO_SEGMENT_OFFSET, Packet};

/// Bytes of the header that all packets share; the first 20 look like TCP's, so that NICs can segment them.
pub const COMMON_LEN: usize = 28;
/// Bytes of header in a DATA packet.
pub const DATA_LEN: usize = 56;
/// Bytes of a GRANT packet.
pub const GRANT_LEN: usize = 33;
/// Bytes of a RESEND packet.
pub const RESEND_LEN: usize = 37;
/// Bytes of a CUTOFFS packet.
pub const CUTOFFS_LEN: usize = 62;
/// Bytes of an ACK packet, however many acks it holds.
pub const ACK_LEN: usize = 80;

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut raw = [0; 4];
    raw.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(raw)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut raw = [0; 8];
    raw.copy_from_slice(&bytes[at..at + 8]);
    u64::from_be_bytes(raw)
}
