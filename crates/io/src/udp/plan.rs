use super::address::overhead;
use homarus_proto::Transmit;

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
    is_joined(&batch[0], batch, 1)
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
    let batch = &batch[..batch.len().min(MAX_ENTRY_PACKETS)];
    let first = &batch[0];

    let (mut packets, segment) = next_datagram(batch, room, can.coalesce);
    let mut bytes = segment;
    let mut segments = 1;
    while can.gso && segment <= room && segments < MAX_SEGMENTS && is_joined(first, batch, packets)
    {
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

/// Packets and bytes of the datagram that begins with the first of `batch`, which may exceed `room` alone.
fn next_datagram(batch: &[Transmit], room: usize, coalesce: bool) -> (usize, usize) {
    let mut packets = 1;
    let mut bytes = batch[0].len();
    while coalesce
        && is_self_delimiting(&batch[packets - 1])
        && is_joined(&batch[0], batch, packets)
    {
        let longer = bytes + batch[packets].len();
        if longer > room {
            break;
        }
        bytes = longer;
        packets += 1;
    }
    (packets, bytes)
}

/// Whether there is a packet at that place, and it goes where the first goes.
fn is_joined(first: &Transmit, batch: &[Transmit], at: usize) -> bool {
    batch.get(at).is_some_and(|packet| same_flow(first, packet))
}

fn same_flow(a: &Transmit, b: &Transmit) -> bool {
    a.to == b.to && a.priority == b.priority
}

/// Whether a receiver can tell from the header where the packet ends: control packets have one length for each
/// type, and a DATA packet at offset 0 that holds the whole message says how long that is.
fn is_self_delimiting(packet: &Transmit) -> bool {
    let header = packet.header();
    match (header.get(11), &packet.payload) {
        (Some(0x10), payload) if header.len() == 56 => {
            let word = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|i| header[at + i]));
            word(4) == 0 && matches!(word(52), 0 | u32::MAX) && word(28) as usize == payload.len()
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
