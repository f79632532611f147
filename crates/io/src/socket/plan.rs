use super::address::udp_overhead;
use homarus_proto::Transmit;
use homarus_proto::wire::{DATA_LEN, NO_SEGMENT_OFFSET, PacketType};

/// Packets that one pass through the kernel's stack carries: the first `packets` of those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// How many packets.
    pub(crate) packets: usize,
    /// Their bytes.
    pub(crate) bytes: usize,
    /// Bytes in each datagram if there are several (the last may be shorter); 0 if there is one.
    pub(crate) segment: usize,
}

/// What the plan may use: both only where packets travel in UDP.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Abilities {
    /// Several datagrams of equal length in one entry.
    pub(crate) gso: bool,
    /// Several packets in one datagram.
    pub(crate) coalesce: bool,
}

/// Most datagrams that every kernel with UDP_SEGMENT takes in one entry.
const MAX_SEGMENTS: usize = 64;
/// Most packets in one entry: two pieces each, and sendmsg takes 1024 (UIO_MAXIOV).
pub(crate) const MAX_ENTRY_PACKETS: usize = 512;
/// Most bytes in an IP packet.
const MAX_IP_PACKET: usize = 65_535;

impl Abilities {
    /// Whether packets can share an entry at all.
    pub(crate) fn any(self) -> bool {
        self.gso || self.coalesce
    }
}

/// Whether more packets go where the first goes, with the same priority.
pub(crate) fn has_company(batch: &[Transmit]) -> bool {
    is_joined(&batch[0], batch, 1)
}

/// The first packet alone.
pub(crate) fn alone(batch: &[Transmit]) -> Entry {
    Entry { packets: 1, bytes: batch[0].len(), segment: 0 }
}

/// The first entry of `batch`, where an IP packet to the first one's peer may have `mtu` bytes.
///
/// Two levels: consecutive packets for one peer are put into datagrams as long as they fit the MTU and the
/// receiver can tell where each ends; then consecutive datagrams of one length make one entry.
pub(crate) fn next_entry(batch: &[Transmit], mtu: usize, can: Abilities) -> Entry {
    let overhead = udp_overhead(batch[0].to.ip());
    let room = mtu.saturating_sub(overhead);
    let batch = &batch[..batch.len().min(MAX_ENTRY_PACKETS)];
    let first = &batch[0];

    let (mut packets, segment) = next_datagram(batch, room, can.coalesce);
    let mut bytes = segment;
    let mut segments = 1;
    while can.gso && segment <= room && segments < MAX_SEGMENTS && is_joined(first, batch, packets) {
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
    Entry { packets, bytes, segment: if segments > 1 { segment } else { 0 } }
}

/// Packets and bytes of the datagram that begins with the first of `batch`, which may exceed `room` alone.
fn next_datagram(batch: &[Transmit], room: usize, coalesce: bool) -> (usize, usize) {
    let mut packets = 1;
    let mut bytes = batch[0].len();
    while coalesce && is_self_delimiting(&batch[packets - 1]) && is_joined(&batch[0], batch, packets) {
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

/// Whether receivers can tell from the header where the packet ends, by the rule of
/// [`split_datagram`](homarus_proto::wire::split_datagram): a control packet, or a message whole in one packet.
fn is_self_delimiting(packet: &Transmit) -> bool {
    let header = packet.header();
    let Some(kind) = header.get(11).and_then(|code| PacketType::from_code(*code)) else {
        return false;
    };
    if header.len() != kind.header_len() {
        return false;
    }
    if kind != PacketType::Data {
        return packet.payload.is_empty();
    }
    let Some(header) = header.first_chunk::<DATA_LEN>() else {
        return false;
    };
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let offset = match word(52) {
        NO_SEGMENT_OFFSET => word(4),
        offset => offset,
    };
    offset == 0 && word(28) as usize == packet.payload.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use homarus_proto::Payload;

    const BOTH: Abilities = Abilities { gso: true, coalesce: true };
    const SEGMENT: Abilities = Abilities { gso: true, coalesce: false };
    const COALESCE: Abilities = Abilities { gso: false, coalesce: true };
    const NEITHER: Abilities = Abilities { gso: false, coalesce: false };

    fn data(total: usize, offset: u32, length: usize) -> Transmit {
        let mut header = [0; 56];
        header[4..8].copy_from_slice(&offset.to_be_bytes());
        header[11] = 0x10;
        header[28..32].copy_from_slice(&(total as u32).to_be_bytes());
        header[52..56].copy_from_slice(&NO_SEGMENT_OFFSET.to_be_bytes());
        Transmit::new(([10, 0, 0, 1], 7).into(), 5, &header, Payload::Phantom(length))
    }

    fn short(length: usize) -> Transmit {
        data(length, 0, length)
    }

    fn control(kind: u8, length: usize) -> Transmit {
        let mut header = vec![0; length];
        header[11] = kind;
        Transmit::new(([10, 0, 0, 1], 7).into(), 5, &header, Payload::EMPTY)
    }

    /// Packets and segment size of every entry.
    fn entries(mut batch: &[Transmit], mtu: usize, can: Abilities) -> Vec<(usize, usize)> {
        let mut entries = Vec::new();
        while !batch.is_empty() {
            let entry = next_entry(batch, mtu, can);
            let (packets, rest) = batch.split_at(entry.packets);
            assert_eq!(entry.bytes, packets.iter().map(Transmit::len).sum::<usize>());
            entries.push((entry.packets, entry.segment));
            batch = rest;
        }
        entries
    }

    #[test]
    fn equal_short_messages_share_datagrams_and_entries() {
        let batch = vec![short(100); 64];
        assert_eq!(entries(&batch, 1500, BOTH), [(64, 9 * 156)]);
        assert_eq!(entries(&batch, 1500, SEGMENT), [(64, 156)]);
        assert_eq!(entries(&batch, 1500, COALESCE), [[(9, 0); 7].as_slice(), &[(1, 0)]].concat());
        assert_eq!(entries(&batch, 1500, NEITHER), [(1, 0); 64]);
        assert_eq!(entries(&batch, 65_535, BOTH), [(64, 0)]);
    }

    #[test]
    fn long_messages_are_segmented() {
        let mut batch: Vec<_> = (0..100).map(|at| data(142_000, at * 1416, 1416)).collect();
        batch.push(data(142_000, 141_600, 400));
        batch.push(short(100));
        let expected = [(44, 1472), (44, 1472), (13, 1472), (1, 0)];
        assert_eq!(entries(&batch, 1500, BOTH), expected);
        assert_eq!(entries(&batch, 1500, SEGMENT), expected);
        assert_eq!(entries(&batch, 1500, COALESCE), [(1, 0); 102]);
    }

    #[test]
    fn what_does_not_end_by_itself_comes_last() {
        let tail = data(10_000, 9_000, 50);
        let batch = [control(0x11, 33), short(7), tail.clone(), short(7), tail, control(0x18, 80)];
        assert_eq!(entries(&batch, 1500, COALESCE), [(3, 0), (2, 0), (1, 0)]);
        let first = data(10_000, 0, 50);
        assert_eq!(entries(&[first, short(7)], 1500, COALESCE), [(1, 0), (1, 0)]);
        let odd = control(0x11, 40);
        assert_eq!(entries(&[odd, short(7)], 1500, COALESCE), [(1, 0), (1, 0)]);
    }

    #[test]
    fn other_peers_and_priorities_travel_apart() {
        let (mut priority, mut peer) = (short(1), short(1));
        priority.priority = 6;
        peer.to = ([10, 0, 0, 2], 7).into();
        let batch = [short(1), short(1), priority.clone(), priority, peer.clone(), short(1), peer];
        assert_eq!(entries(&batch, 1500, BOTH), [(2, 0), (2, 0), (1, 0), (1, 0), (1, 0)]);
    }

    #[test]
    fn limits_hold() {
        let tiny = vec![data(9, 1, 0); 200];
        assert_eq!(entries(&tiny, 1500, BOTH), [(64, 56), (64, 56), (64, 56), (8, 56)]);
        let large = vec![data(1_000_000, 1, 8916); 10];
        assert_eq!(entries(&large, 9000, BOTH), [(7, 8972), (3, 8972)]);
        let too_large = vec![data(1_000_000, 1, 1417); 3];
        assert_eq!(entries(&too_large, 1500, BOTH), [(1, 0); 3]);
        let many = vec![control(0x14, 28); 1200];
        assert_eq!(entries(&many, 65_535, COALESCE), [(512, 0), (512, 0), (176, 0)]);
    }
}
