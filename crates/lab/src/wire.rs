//! What a message costs on an Ethernet link.

/// Bytes on the wire that no socket sees, a frame: preamble 8, Ethernet header 14, checksum 4, gap 12.
pub(crate) const ETHERNET: u64 = 38;

/// The part of [`ETHERNET`] that the kernel does not count in a packet's length.
pub(crate) const UNCOUNTED: u64 = 24;

/// Shortest frame on the wire, with preamble and gap.
pub(crate) const SHORTEST_FRAME: u64 = 84;

/// Frame of a full 1500-byte packet on the wire.
pub(crate) const FULL_FRAME: u64 = 1500 + ETHERNET;

/// IPv4 and TCP headers with timestamps: the framing by which load is defined for every transport.
const TCP_HEADERS: u64 = 52;

/// Bytes on the wire of a message of `len` bytes in full-size TCP segments, without acknowledgements.
///
/// The load of a run is defined by this number for every transport, so that all are offered the same messages at
/// the same times. Homa's own headers are larger by 32 bytes a packet, so that its links carry about 2 % more.
pub fn message_bytes(len: u32) -> u64 {
    let len = u64::from(len);
    let segment = 1500 - TCP_HEADERS;
    let segments = len.div_ceil(segment).max(1);
    (len + segments * (TCP_HEADERS + ETHERNET)).max(SHORTEST_FRAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_segments_are_full_frames() {
        assert_eq!(message_bytes(1448), FULL_FRAME);
        assert_eq!(message_bytes(14_480), 10 * FULL_FRAME);
        assert_eq!(message_bytes(1449), FULL_FRAME + 1 + 90);
        assert_eq!(message_bytes(0), 90);
    }
}
