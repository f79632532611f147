use homarus_proto::Transmit;
use homarus_proto::wire::PacketType;

/// How many bytes Homa's packets take on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomaWire {
    /// What homarus and the Linux module send: Homa's header behind an IPv4 header, in Ethernet frames.
    Real,
    /// What the SIGCOMM'18 paper's simulation sends. Scheduled packets hold 1,442 bytes as unscheduled ones do, and their
    /// frames are shorter by what the paper's have less around the contents: the same share of contents.
    Paper,
}

/// Ethernet's header, checksum, preamble and gap.
const ETHERNET: u32 = 38;
const IPV4: u32 = 20;
/// The smallest frame, with preamble and gap.
const SMALLEST: u32 = 84;
const DATA: u32 = homarus_proto::wire::DATA_LEN as u32;

/// The SIGCOMM'18 paper's simulation: a full frame takes 1,538 bytes on the wire; of these an unscheduled packet has 1,442
/// for contents and a scheduled one 1,456.
pub(crate) mod paper {
    /// Contents of a full unscheduled packet.
    pub(crate) const UNSCHEDULED_PAYLOAD: u32 = 1_442;
    /// Contents of a full scheduled packet.
    pub(crate) const SCHEDULED_PAYLOAD: u32 = 1_456;
    /// What an unscheduled packet has around its contents, and a scheduled one.
    pub(crate) const UNSCHEDULED_OVERHEAD: u32 = 96;
    /// The same of a scheduled packet.
    pub(crate) const SCHEDULED_OVERHEAD: u32 = 82;
    /// A grant.
    pub(crate) const GRANT: u32 = 84;
    /// Bytes of a message that leave without grants.
    pub(crate) const UNSCHEDULED: u32 = 9_328;

    /// The frames of a message: bytes on the wire, and whether it takes a grant to send each.
    pub(crate) fn frames(length: u32) -> impl Iterator<Item = (u32, bool)> {
        let unscheduled = length.min(UNSCHEDULED);
        let pieces = |bytes: u32, most: u32| (0..bytes.div_ceil(most)).map(move |piece| most.min(bytes - piece * most));
        // Nothing takes a frame too.
        let empty = (length == 0).then_some((super::SMALLEST, false));
        let first = pieces(unscheduled, UNSCHEDULED_PAYLOAD).map(|piece| (frame(piece, UNSCHEDULED_OVERHEAD), false));
        let first = empty.into_iter().chain(first);
        let rest =
            pieces(length - unscheduled, SCHEDULED_PAYLOAD).map(|piece| (frame(piece, SCHEDULED_OVERHEAD), true));
        first.chain(rest)
    }

    pub(crate) fn frame(contents: u32, overhead: u32) -> u32 {
        (contents + overhead).max(super::SMALLEST)
    }
}

impl HomaWire {
    /// The MTU to set in an endpoint's configuration, so that its full packets are as long as they should be.
    pub fn mtu(self) -> usize {
        match self {
            HomaWire::Real => 1_500,
            HomaWire::Paper => (IPV4 + DATA + paper::UNSCHEDULED_PAYLOAD) as usize,
        }
    }

    /// Bytes on the wire of a packet.
    pub fn bytes(self, packet: &Transmit) -> u32 {
        let contents = packet.payload.len() as u32;
        match self {
            HomaWire::Real => (ETHERNET + IPV4 + packet.len() as u32).max(SMALLEST),
            HomaWire::Paper if contents == 0 => SMALLEST,
            HomaWire::Paper if is_scheduled(packet) => paper::frame(contents, paper::SCHEDULED_OVERHEAD),
            HomaWire::Paper => paper::frame(contents, paper::UNSCHEDULED_OVERHEAD),
        }
    }

    /// The frames of a message that is sent alone, bytes on the wire.
    pub fn frames(self, length: u32) -> Vec<u32> {
        match self {
            HomaWire::Real => {
                let payload = 1_500 - IPV4 - DATA;
                let pieces = (0..length.div_ceil(payload).max(1)).map(|piece| payload.min(length - piece * payload));
                pieces.map(|contents| (ETHERNET + IPV4 + DATA + contents).max(SMALLEST)).collect()
            }
            HomaWire::Paper => paper::frames(length).map(|(wire, _)| wire).collect(),
        }
    }
}

/// Whether a DATA packet begins beyond its message's unscheduled bytes.
fn is_scheduled(packet: &Transmit) -> bool {
    let header = packet.header();
    let field =
        |at: usize| header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes);
    field(4) >= field(32)
}

/// The id in a packet's header, and whether it serves only to end an RPC: a response or an ACK.
pub(super) fn look_at(packet: &Transmit) -> (u64, bool) {
    let header = packet.header();
    let id = header.get(20..28).and_then(|id| id.try_into().ok()).map_or(0, u64::from_be_bytes);
    let kind = header.get(11).copied().unwrap_or(0);
    let response = kind == PacketType::Data as u8 && id & 1 == 1;
    (id, response || kind == PacketType::Ack as u8 || kind == PacketType::NeedAck as u8)
}

#[cfg(test)]
mod tests {
    use super::paper;
    use homarus_workloads::Workload;

    #[test]
    fn an_empty_message_is_a_frame() {
        assert_eq!(paper::frames(0).collect::<Vec<_>>(), [(84, false)]);
        assert_eq!(super::HomaWire::Real.frames(0).len(), 1);
    }

    /// The paper says which part of its wire bytes is payload; grants are in it.
    #[test]
    fn the_papers_load_counts_grants() {
        for (name, published) in [("w1", 0.657), ("w2", 0.796), ("w3", 0.887), ("w4", 0.898), ("w5", 0.898)] {
            let workload = Workload::builtin(name).unwrap();
            let bytes = |(wire, granted)| f64::from(wire + if granted { paper::GRANT } else { 0 });
            let share = workload.mean() / workload.expect(|length| paper::frames(length).map(bytes).sum());
            assert!((share - published).abs() < 0.002, "{name}: {share:.4}, published {published}");
        }
    }
}
