//! Where Homa packets begin and end in what one IP packet carries.
//!
//! A capture taken before a network device has cut a long send shows one packet where many went out. Two kinds occur:
//!
//! - A UDP datagram longer than any MTU-sized one, of which the kernel cuts equal pieces: each piece is a datagram of
//!   homarus, which begins with a header for the same ports.
//! - A DATA packet of the Linux module with `doff` 0xd0: the first 52 bytes stand once, and each piece then has its
//!   segment offset and its bytes.

use crate::file::MAX_RECORD;
use homarus_proto::wire::{COMMON_LEN, DATA_LEN, NO_SEGMENT_OFFSET, PacketType, split_datagram};

/// Bytes of IP or UDP payload beyond which something may be cut by a device.
pub(crate) const SUPER_LEN: usize = 1480;
/// Header bytes that stand once before the pieces of the Linux module's long packets.
pub(crate) const SEGMENT_AT: usize = 52;
const SEGMENTED_DOFF: u8 = 0xd0;
const SEGMENT_HEADER: usize = 4;
/// Least payload of a piece: less than the smallest MTU of IPv4 leaves.
const MIN_SEGMENT: usize = 256;

/// One packet's place among the captured bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    /// From its header on.
    pub(crate) bytes: &'a [u8],
    /// Bytes that it had; more than were captured if the frame was cut.
    pub(crate) wire_len: usize,
    /// Whether a device was still to cut it off.
    pub(crate) cut_later: bool,
}

/// The packets in a UDP datagram of `wire_len` bytes, of which `captured` are there.
pub(crate) fn in_datagram(captured: &[u8], wire_len: usize) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut rest, mut left, mut cut_later) = (captured, wire_len, false);
    while !rest.is_empty() {
        let (mut first, _) = split_datagram(rest);
        let next = if wire_len > SUPER_LEN { next_header(first) } else { None };
        let mut length = match next {
            Some(at) => at,
            None if first.len() == rest.len() && left > rest.len() => said_length(first, left),
            None => first.len(),
        };
        length = length.max(1);
        first = &rest[..length.min(rest.len())];
        pieces.push(Piece { bytes: first, wire_len: length, cut_later: cut_later || next.is_some() });
        cut_later |= next.is_some();
        rest = &rest[first.len()..];
        left = left.saturating_sub(length);
    }
    pieces
}

/// The length of a packet whose end was not captured: what it says, and no more than `left`.
fn said_length(packet: &[u8], left: usize) -> usize {
    let Some(kind) = packet.get(11).and_then(|code| PacketType::from_code(*code)) else {
        return left;
    };
    if kind != PacketType::Data {
        return left.min(kind.header_len());
    }
    let begins = match (word(packet, 52), word(packet, 4)) {
        (Some(NO_SEGMENT_OFFSET), Some(sequence)) => sequence == 0,
        (Some(offset), _) => offset == 0,
        _ => false,
    };
    match word(packet, 28) {
        Some(message) if begins => left.min(DATA_LEN.saturating_add(message as usize)),
        _ => left,
    }
}

/// Where the next header for the same ports stands in a DATA packet's payload.
fn next_header(packet: &[u8]) -> Option<usize> {
    if packet.get(11) != Some(&(PacketType::Data as u8)) {
        return None;
    }
    let ports = packet.get(..4)?;
    (DATA_LEN + 1..packet.len().saturating_sub(COMMON_LEN - 1))
        .find(|at| packet[*at..].starts_with(ports) && is_plausible(&packet[*at..]))
}

/// Whether bytes look like a Homa packet: everything that no sender fills otherwise is checked.
pub fn is_plausible(bytes: &[u8]) -> bool {
    if bytes.len() < COMMON_LEN {
        return false;
    }
    let Some(kind) = PacketType::from_code(bytes[11]) else {
        return false;
    };
    let doff_fits = match kind {
        PacketType::Data => matches!(bytes[12], 0xe0 | SEGMENTED_DOFF),
        _ => bytes[12] == 0x50,
    };
    let ports = bytes[..2] != [0, 0] && bytes[2..4] != [0, 0];
    let urgent = matches!(bytes[18..20], [0, 0] | [0xb9, 0x7d]);
    ports && doff_fits && urgent && bytes[8..11] == [0; 3] && matches!(bytes[13], 0 | 6) && bytes[14..16] == [0; 2]
}

/// A piece of a long packet of the Linux module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Where the segment offset stands; the payload follows it.
    pub(crate) at: usize,
    /// Bytes of payload.
    pub(crate) payload: usize,
}

/// The pieces of a packet of the Linux module of `wire_len` bytes that a device was still to cut: at least two.
///
/// The length of a piece stands nowhere. It is the first at which the next offset is where it must be, and so all
/// through the packet, as far as captured.
pub(crate) fn segments(packet: &[u8], wire_len: usize) -> Option<Vec<Segment>> {
    let is_long = packet.get(11) == Some(&(PacketType::Data as u8)) && packet.get(12) == Some(&SEGMENTED_DOFF);
    if !is_long || wire_len <= SUPER_LEN || wire_len > MAX_RECORD as usize {
        return None;
    }
    let first = word(packet, SEGMENT_AT)?;
    let agrees = |at: usize, payload: usize| match word(packet, at) {
        Some(offset) => u64::from(offset) == u64::from(first) + payload as u64,
        None => packet.len() < wire_len,
    };
    let longest = packet.len().checked_sub(SEGMENT_AT + 2 * SEGMENT_HEADER)?;
    let size = (MIN_SEGMENT..=longest).find(|size| {
        let step = size + SEGMENT_HEADER;
        let count = (wire_len - SEGMENT_AT).div_ceil(step);
        let last = wire_len - SEGMENT_AT - (count - 1) * step;
        last > SEGMENT_HEADER && (1..count).all(|index| agrees(SEGMENT_AT + index * step, index * size))
    })?;
    let step = size + SEGMENT_HEADER;
    let places = (SEGMENT_AT..wire_len).step_by(step);
    Some(places.map(|at| Segment { at, payload: size.min(wire_len - at - SEGMENT_HEADER) }).collect())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|raw| raw.try_into().ok()).map(u32::from_be_bytes)
}
