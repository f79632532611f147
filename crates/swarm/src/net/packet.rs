use homarus_proto::wire::{Header, PacketType};
use homarus_proto::{Payload, Transmit};
use std::net::SocketAddr;

/// Bytes that each packet occupies on a link besides Homa's own: Ethernet with its checksum, preamble and gap (38),
/// IPv4 (20) and UDP (8).
const OVERHEAD: usize = 66;

/// A Homa packet on its way.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Who sent it, or claims to have.
    pub from: SocketAddr,
    /// The rest.
    pub transmit: Transmit,
}

impl Packet {
    /// Any bytes at all.
    pub fn raw(from: SocketAddr, to: SocketAddr, bytes: Vec<u8>) -> Packet {
        Packet { from, transmit: Transmit::new(to, 0, &[], bytes.into()) }
    }

    /// Where it goes.
    pub fn to(&self) -> SocketAddr {
        self.transmit.to
    }

    /// Whether the contents are a length only.
    pub fn is_phantom(&self) -> bool {
        matches!(self.transmit.payload, Payload::Phantom(_))
    }

    /// Homa's bytes, in `buffer`; of a phantom, only the header.
    pub fn write_to(&self, buffer: &mut Vec<u8>) {
        buffer.clear();
        buffer.extend_from_slice(self.transmit.header());
        buffer.extend_from_slice(self.transmit.payload.as_slice());
    }

    /// Homa's bytes; of a phantom, only the header.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.transmit.len());
        self.write_to(&mut bytes);
        bytes
    }

    fn kind(&self) -> Option<PacketType> {
        // Packets of anybody's making are all payload.
        let header = self.transmit.header();
        let bytes = if header.is_empty() { self.transmit.payload.as_slice() } else { header };
        Header::parse(bytes).ok().map(|header| header.packet.packet_type())
    }

    /// Whether it is FREEZE, which is taken and has no effect.
    pub fn is_freeze(&self) -> bool {
        self.kind() == Some(PacketType::Freeze)
    }

    /// Whether it is of a kind that answers packets about RPCs which are not known.
    pub fn needs_no_rpc(&self) -> bool {
        matches!(self.kind(), Some(PacketType::Unknown | PacketType::Busy | PacketType::Ack | PacketType::Cutoffs))
    }

    /// Bytes that it occupies on a link.
    pub fn wire_len(&self) -> usize {
        self.transmit.len() + OVERHEAD
    }
}
