use super::{ACK_LEN, PacketType, u16_at, u32_at, u64_at};
use crate::Discard;

/// Segment offset of a DATA packet whose offset stands in `sequence`.
pub const NO_SEGMENT_OFFSET: u32 = u32::MAX;
/// Acks that one ACK packet can hold.
pub const MAX_ACKS: usize = 5;

/// The fields that only DATA has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Bytes in the whole message.
    pub message_length: u32,
    /// Bytes that the sender will send without further grants; in a retransmission the end of the resent range.
    pub incoming: u32,
    /// One ack that rides along; client id 0 means none.
    pub ack: Ack,
    /// Version of the receiver's cutoffs that chose the priority.
    pub cutoff_version: u16,
    /// 1 in a retransmission.
    pub retransmit: u8,
    /// Bytes that Linux ignores: homarus's extensions.
    pub pad: ExtensionBits,
    /// Offset of the payload, or [`NO_SEGMENT_OFFSET`].
    pub segment_offset: u32,
}

/// The three pad bytes of DATA, zero from Linux. The first holds flags. The second is the sender's shortest round trip
/// to the receiver, an eighth of an octave a step from 100 ns, or 0: servers rarely measure one themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtensionBits(pub [u8; 3]);

impl ExtensionBits {
    /// The sender's client has many requests outstanding: respond with few unscheduled bytes (SIGCOMM'18 §3.6).
    pub const INCAST: u8 = 0x01;
    /// The sender knows homarus's extensions.
    pub const HOMARUS: u8 = 0x80;

    /// Whether a flag is set.
    pub fn has(self, flag: u8) -> bool {
        self.0[0] & flag != 0
    }

    /// The sender's round trip, encoded.
    pub fn round_trip(self) -> u8 {
        self.0[1]
    }
}

/// Says that the client has the response of one RPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The RPC's id as the client knows it.
    pub client_id: u64,
    /// The server's port.
    pub server_port: u16,
}

/// The type of a packet and the fields of that type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// Part of a message; the payload follows.
    Data(Data),
    /// Permission to send.
    Grant {
        /// Bytes of the message that may now be sent (exclusive end).
        offset: u32,
        /// Priority for the granted bytes.
        priority: u8,
    },
    /// Request to send again.
    Resend {
        /// First byte wanted.
        offset: u32,
        /// Bytes wanted; −1: all that was sent.
        length: i32,
        /// Priority for the retransmission.
        priority: u8,
    },
    /// Nothing is known of the RPC.
    Unknown,
    /// Alive, nothing to send yet.
    Busy,
    /// Priorities for unscheduled bytes.
    Cutoffs {
        /// For each priority, the longest message whose unscheduled bytes use it.
        cutoffs: [u32; 8],
        /// Version of this assignment.
        version: u16,
    },
    /// Ignored.
    Freeze,
    /// May the response be forgotten?
    NeedAck,
    /// Responses that may be forgotten, besides that of the RPC in the header.
    Ack {
        /// How many of `acks` count.
        count: u16,
        /// The acks.
        acks: [Ack; MAX_ACKS],
    },
}

impl Packet {
    /// The type's code on the wire.
    pub fn packet_type(&self) -> PacketType {
        match self {
            Packet::Data(_) => PacketType::Data,
            Packet::Grant { .. } => PacketType::Grant,
            Packet::Resend { .. } => PacketType::Resend,
            Packet::Unknown => PacketType::Unknown,
            Packet::Busy => PacketType::Busy,
            Packet::Cutoffs { .. } => PacketType::Cutoffs,
            Packet::Freeze => PacketType::Freeze,
            Packet::NeedAck => PacketType::NeedAck,
            Packet::Ack { .. } => PacketType::Ack,
        }
    }

    /// Reads the fields of a type; `bytes` is at least as long as the type's header.
    pub(super) fn parse(kind: PacketType, bytes: &[u8]) -> Result<Packet, Discard> {
        Ok(match kind {
            PacketType::Data => Packet::Data(Data {
                message_length: u32_at(bytes, 28),
                incoming: u32_at(bytes, 32),
                ack: Ack::parse(bytes, 36),
                cutoff_version: u16_at(bytes, 46),
                retransmit: bytes[48],
                pad: ExtensionBits([bytes[49], bytes[50], bytes[51]]),
                segment_offset: u32_at(bytes, 52),
            }),
            PacketType::Grant => Packet::Grant { offset: u32_at(bytes, 28), priority: bytes[32] },
            PacketType::Resend => {
                Packet::Resend { offset: u32_at(bytes, 28), length: u32_at(bytes, 32) as i32, priority: bytes[36] }
            }
            PacketType::Unknown => Packet::Unknown,
            PacketType::Busy => Packet::Busy,
            PacketType::Cutoffs => {
                let mut cutoffs = [0; 8];
                for (priority, cutoff) in cutoffs.iter_mut().enumerate() {
                    *cutoff = u32_at(bytes, 28 + 4 * priority);
                }
                Packet::Cutoffs { cutoffs, version: u16_at(bytes, 60) }
            }
            PacketType::Freeze => Packet::Freeze,
            PacketType::NeedAck => Packet::NeedAck,
            PacketType::Ack => {
                let count = u16_at(bytes, 28);
                if usize::from(count) > MAX_ACKS {
                    return Err(Discard::Malformed);
                }
                let mut acks = [Ack::default(); MAX_ACKS];
                for (index, ack) in acks.iter_mut().enumerate() {
                    *ack = Ack::parse(bytes, 30 + Ack::LEN * index);
                }
                Packet::Ack { count, acks }
            }
        })
    }

    pub(super) fn emit(&self, out: &mut [u8; ACK_LEN]) {
        match self {
            Packet::Data(data) => {
                out[28..32].copy_from_slice(&data.message_length.to_be_bytes());
                out[32..36].copy_from_slice(&data.incoming.to_be_bytes());
                data.ack.emit(out, 36);
                out[46..48].copy_from_slice(&data.cutoff_version.to_be_bytes());
                out[48] = data.retransmit;
                out[49..52].copy_from_slice(&data.pad.0);
                out[52..56].copy_from_slice(&data.segment_offset.to_be_bytes());
            }
            Packet::Grant { offset, priority } => {
                out[28..32].copy_from_slice(&offset.to_be_bytes());
                out[32] = *priority;
            }
            Packet::Resend { offset, length, priority } => {
                out[28..32].copy_from_slice(&offset.to_be_bytes());
                out[32..36].copy_from_slice(&length.to_be_bytes());
                out[36] = *priority;
            }
            Packet::Cutoffs { cutoffs, version } => {
                for (priority, cutoff) in cutoffs.iter().enumerate() {
                    out[28 + 4 * priority..32 + 4 * priority].copy_from_slice(&cutoff.to_be_bytes());
                }
                out[60..62].copy_from_slice(&version.to_be_bytes());
            }
            Packet::Ack { count, acks } => {
                out[28..30].copy_from_slice(&count.to_be_bytes());
                for (index, ack) in acks.iter().enumerate() {
                    ack.emit(out, 30 + Ack::LEN * index);
                }
            }
            Packet::Unknown | Packet::Busy | Packet::Freeze | Packet::NeedAck => {}
        }
    }
}

impl Ack {
    const LEN: usize = 10;

    fn parse(bytes: &[u8], at: usize) -> Ack {
        Ack { client_id: u64_at(bytes, at), server_port: u16_at(bytes, at + 8) }
    }

    fn emit(self, out: &mut [u8; ACK_LEN], at: usize) {
        out[at..at + 8].copy_from_slice(&self.client_id.to_be_bytes());
        out[at + 8..at + 10].copy_from_slice(&self.server_port.to_be_bytes());
    }
}
