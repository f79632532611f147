use super::address::overhead;
use homarus_proto::{Payload, Transmit};

/// Packets that one pass through the kernel's stack carries: the first `packets` of those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// How many packets.
    pub(super) packets: usize,
    /// Their bytes.
    pub(super) bytes: usize,
    /// Bytes in each datagram if there are several (the last may be shorter); 0 if there is one.
    pub(super) segment: usize,
}

/// What the plan may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abilities {
    /// Several datagrams of equal length in one entry.
    pub(super) gso: bool,
    /// Several packets in one datagram.
    pub(super) coalesce: bool,
}

/// Most datagrams that every kernel with UDP_SEGMENT takes in one entry.
const MAX_SEGMENTS: usize = 64;
/// Most packets in one entry: two pieces each, and sendmsg takes 1024 (UIO_MAXIOV).
pub(super) const MAX_ENTRY_PACKETS: usize = 512;
/// Most bytes in an IP packet.
const MAX_IP_PACKET: usize = 65_535;

/// Whether more packets go where the first goes, with the same priority.
pub(super) fn has_company(batch: &[Transmit]) -> bool {
    batch.len() > 1 && same_flow(&batch[0], &batch[1])
}

/// The first packet alone.
pub(super) fn alone(batch: &[Transmit]) -> Entry {
    Entry {
        packets: 1,
        bytes: batch[0].len(),
        segment: 0,
    }
}

/// The first entry of `batch`, where an IP packet to the first one's peer may have `mtu` bytes.
///
/// Two levels: consecutive packets for one peer are put into datagrams as long as they fit the MTU and the
/// receiver can tell where each ends; then consecutive datagrams of one length make one entry.
pub(super) fn next_entry(batch: &[Transmit], mtu: usize, can: Abilities) -> Entry {
    let overhead = overhead(batch[0].to.ip());
    let room = mtu.saturating_sub(overhead);
    let limit = batch.len().min(MAX_ENTRY_PACKETS);
    let run = batch[..limit]
        .iter()
        .take_while(|next| same_flow(&batch[0], next))
        .count();
    let batch = &batch[..run];

    let (mut packets, segment) = next_datagram(batch, room, can.coalesce);
    let mut bytes = segment;
    let mut segments = 1;
    while can.gso && segment <= room && packets < run && segments < MAX_SEGMENTS {
        let (more, length) = next_datagram(&batch[packets..], segment, can.coalesce);
        if length > segment || bytes + length > MAX_IP_PACKET - overhead {
            break;
        }
        packets += more;
        bytes += length;
        segments += 1;
        if length < segment {
            break;
        }
    }
    Entry {
        packets,
        bytes,
        segment: if segments > 1 { segment } else { 0 },
    }
}

/// Packets and bytes of the datagram that begins with the first of `run`, which may exceed `room` alone.
fn next_datagram(run: &[Transmit], room: usize, coalesce: bool) -> (usize, usize) {
    let mut packets = 1;
    let mut bytes = run[0].len();
    while coalesce && packets < run.len() && is_self_delimiting(&run[packets - 1]) {
        let longer = bytes + run[packets].len();
        if longer > room {
            break;
        }
        bytes = longer;
        packets += 1;
    }
    (packets, bytes)
}

fn same_flow(a: &Transmit, b: &Transmit) -> bool {
    a.to == b.to && a.priority == b.priority
}

/// Whether a receiver can tell from the header where the packet ends: control packets have one length for each
/// type, and a DATA packet at offset 0 that holds the whole message says how long that is.
fn is_self_delimiting(packet: &Transmit) -> bool {
    let header = packet.header();
    match (header.get(11), &packet.payload) {
        (Some(0x10), Payload::Bytes(_) | Payload::Phantom(_)) if header.len() == 56 => {
            let word = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|i| header[at + i]));
            word(4) == 0
                && matches!(word(52), 0 | u32::MAX)
                && word(28) as usize == packet.payload.len()
        }
        (Some(kind), payload) => control_length(*kind) == Some(header.len()) && payload.is_empty(),
        (None, _) => false,
    }
}

/// Length of a control packet of that type, bytes (WIRE: packets).
fn control_length(kind: u8) -> Option<usize> {
    match kind {
        0x11 => Some(33),
        0x12 => Some(37),
        0x13 | 0x14 | 0x16 | 0x17 => Some(28),
        0x15 => Some(62),
        0x18 => Some(80),
        _ => None,
    }
}
