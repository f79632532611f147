use super::packet::{Data, Packet};
use super::{ACK_LEN, COMMON_LEN, CUTOFFS_LEN, DATA_LEN, GRANT_LEN, RESEND_LEN, u16_at, u32_at, u64_at};
use crate::Discard;

/// The `flags` byte that the Linux module sends; it accepts any.
pub const LINUX_FLAGS: u8 = 0x06;
/// The `urgent` field that the Linux module sends; it accepts any.
pub const LINUX_URGENT: u16 = 0xb97d;

const DOFF_DATA: u8 = 0xe0;
const DOFF_CONTROL: u8 = 0x50;

/// What kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum PacketType {
    /// Part of a message.
    Data = 0x10,
    /// Permission to send more of a message.
    Grant = 0x11,
    /// Request to send part of a message again.
    Resend = 0x12,
    /// Answer to a RESEND about an RPC that the sender does not know.
    Unknown = 0x13,
    /// Answer to a RESEND: still alive, nothing to send yet.
    Busy = 0x14,
    /// The receiver's assignment of unscheduled priorities to message lengths.
    Cutoffs = 0x15,
    /// Debugging aid of the Linux module; ignored.
    Freeze = 0x16,
    /// The server asks whether it may forget a response.
    NeedAck = 0x17,
    /// The client has its responses: the server may forget them.
    Ack = 0x18,
}

impl PacketType {
    /// The type with this code, if there is one.
    pub fn from_code(code: u8) -> Option<PacketType> {
        Some(match code {
            0x10 => PacketType::Data,
            0x11 => PacketType::Grant,
            0x12 => PacketType::Resend,
            0x13 => PacketType::Unknown,
            0x14 => PacketType::Busy,
            0x15 => PacketType::Cutoffs,
            0x16 => PacketType::Freeze,
            0x17 => PacketType::NeedAck,
            0x18 => PacketType::Ack,
            _ => return None,
        })
    }

    /// Bytes before the payload; shorter packets of this type are dropped.
    pub fn header_len(self) -> usize {
        match self {
            PacketType::Data => DATA_LEN,
            PacketType::Grant => GRANT_LEN,
            PacketType::Resend => RESEND_LEN,
            PacketType::Cutoffs => CUTOFFS_LEN,
            PacketType::Ack => ACK_LEN,
            PacketType::Unknown | PacketType::Busy | PacketType::Freeze | PacketType::NeedAck => COMMON_LEN,
        }
    }
}

/// A whole packet header: the fields that all packets share, and those of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Sender's port: below 32768 for servers, from there up for clients, as Linux assigns them.
    pub source_port: u16,
    /// Receiver's port.
    pub dest_port: u16,
    /// DATA: offset in the message (of the first segment where a NIC segmented it). Otherwise 0, but see
    /// [`Header::ENDED`],
    /// [`Header::TOO_LONG`] and [`Header::NO_ROOM`].
    pub sequence: u32,
    /// TCP's data offset, for the sake of NICs.
    pub doff: u8,
    /// TCP's flags, for the sake of NICs.
    pub flags: u8,
    /// TCP's window; 0.
    pub window: u16,
    /// TCP-style checksum; 0 is accepted.
    pub checksum: u16,
    /// TCP's urgent pointer.
    pub urgent: u16,
    /// RPC id as the sender sees it: even when the sender is the client, odd when it is the server.
    pub sender_id: u64,
    /// The type and its fields.
    pub packet: Packet,
}

impl Header {
    /// `sequence` of an UNKNOWN packet that says more: the server has ended the RPC, so that sending the request
    /// again cannot help. An extension of homarus, sent only to peers that know it.
    pub const ENDED: u32 = 1;
    /// `sequence` of an UNKNOWN packet that says more: the server does not accept requests of this length.
    /// An extension of homarus, sent only to peers that know it.
    pub const TOO_LONG: u32 = 2;
    /// `sequence` of a BUSY packet that says more: the server had no room for the request, and knows nothing of it.
    /// An extension of homarus, sent only to peers that know it.
    pub const NO_ROOM: u32 = 1;

    /// A header with the values that the Linux module puts into the TCP-like fields.
    pub fn new(source_port: u16, dest_port: u16, sender_id: u64, packet: Packet) -> Header {
        let data = packet.packet_type() == PacketType::Data;
        Header {
            source_port,
            dest_port,
            sequence: 0,
            doff: if data { DOFF_DATA } else { DOFF_CONTROL },
            flags: LINUX_FLAGS,
            window: 0,
            checksum: 0,
            urgent: LINUX_URGENT,
            sender_id,
            packet,
        }
    }

    /// Reads a header from the start of a packet. What follows its `header_len` bytes is payload.
    pub fn parse(bytes: &[u8]) -> Result<Header, Discard> {
        if bytes.len() < COMMON_LEN {
            return Err(Discard::TooShort);
        }
        let kind = PacketType::from_code(bytes[11]).ok_or(Discard::UnknownType)?;
        if bytes.len() < kind.header_len() {
            return Err(Discard::TooShort);
        }
        Ok(Header {
            source_port: u16_at(bytes, 0),
            dest_port: u16_at(bytes, 2),
            sequence: u32_at(bytes, 4),
            doff: bytes[12],
            flags: bytes[13],
            window: u16_at(bytes, 14),
            checksum: u16_at(bytes, 16),
            urgent: u16_at(bytes, 18),
            sender_id: u64_at(bytes, 20),
            packet: Packet::parse(kind, bytes)?,
        })
    }

    /// Writes the header and returns its length.
    pub fn emit(&self, out: &mut [u8; ACK_LEN]) -> usize {
        out[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        out[2..4].copy_from_slice(&self.dest_port.to_be_bytes());
        out[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        out[8..11].fill(0);
        out[11] = self.packet.packet_type() as u8;
        out[12] = self.doff;
        out[13] = self.flags;
        out[14..16].copy_from_slice(&self.window.to_be_bytes());
        out[16..18].copy_from_slice(&self.checksum.to_be_bytes());
        out[18..20].copy_from_slice(&self.urgent.to_be_bytes());
        out[20..28].copy_from_slice(&self.sender_id.to_be_bytes());
        self.packet.emit(out);
        self.packet.packet_type().header_len()
    }

    /// The RPC's id as its client knows it.
    pub fn client_id(&self) -> u64 {
        self.sender_id & !1
    }

    /// Whether the sender of the packet is the RPC's client.
    pub fn from_client(&self) -> bool {
        self.sender_id & 1 == 0
    }

    /// Offset of a DATA packet's payload in the message: the segment offset where it is explicit.
    pub fn data_offset(&self, data: &Data) -> u32 {
        if data.segment_offset == super::NO_SEGMENT_OFFSET { self.sequence } else { data.segment_offset }
    }
}
