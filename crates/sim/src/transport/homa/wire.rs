use homarus_proto::Transmit;
use homarus_proto::wire::PacketType;

/// How many bytes Homa's packets take on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomaWire {
    /// What homarus and the Linux module send: Homa's header behind an IPv4 header, in Ethernet frames.
    Real,
    /// What the SIGCOMM'18 paper's simulation sends: 96 bytes around the contents of a packet, and minimum frames for all
    /// others. Its full packets hold 1,442 bytes.
    Paper,
}

/// Ethernet's header, checksum, preamble and gap.
const ETHERNET: u32 = 38;
const IPV4: u32 = 20;
/// The smallest frame, with preamble and gap.
const SMALLEST: u32 = 84;
/// What the paper's frames have around the contents: 1538 − 1442.
const PAPER_OVERHEAD: u32 = 96;

impl HomaWire {
    /// Contents of a full packet, bytes.
    pub const PAPER_PAYLOAD: u32 = 1_442;

    /// The MTU to set in an endpoint's configuration, so that its full packets are as long as they should be.
    pub fn mtu(self) -> usize {
        match self {
            HomaWire::Real => 1_500,
            HomaWire::Paper => (IPV4 + HomaWire::PAPER_PAYLOAD) as usize + homarus_proto::wire::DATA_LEN,
        }
    }

    /// Bytes on the wire of a packet.
    pub fn bytes(self, packet: &Transmit) -> u32 {
        match self {
            HomaWire::Real => (ETHERNET + IPV4 + packet.len() as u32).max(SMALLEST),
            HomaWire::Paper => paper_frame(packet.payload.len() as u32),
        }
    }

    /// The frames of a message that is sent alone, bytes on the wire.
    pub fn frames(self, length: u32) -> impl Iterator<Item = u32> {
        let payload = match self {
            HomaWire::Real => 1_500 - IPV4 - homarus_proto::wire::DATA_LEN as u32,
            HomaWire::Paper => HomaWire::PAPER_PAYLOAD,
        };
        (0..length.div_ceil(payload).max(1)).map(move |packet| {
            let contents = payload.min(length - packet * payload);
            match self {
                HomaWire::Real => (ETHERNET + IPV4 + homarus_proto::wire::DATA_LEN as u32 + contents).max(SMALLEST),
                HomaWire::Paper => paper_frame(contents),
            }
        })
    }
}

fn paper_frame(contents: u32) -> u32 {
    if contents == 0 { SMALLEST } else { contents + PAPER_OVERHEAD }
}

/// The id in a packet's header, and whether it serves only to end an RPC: a response or an ACK.
pub(super) fn look_at(packet: &Transmit) -> (u64, bool) {
    let header = packet.header();
    let id = header.get(20..28).and_then(|id| id.try_into().ok()).map_or(0, u64::from_be_bytes);
    let kind = header.get(11).copied().unwrap_or(0);
    let response = kind == PacketType::Data as u8 && id & 1 == 1;
    (id, response || kind == PacketType::Ack as u8 || kind == PacketType::NeedAck as u8)
}
