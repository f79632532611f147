//! Packets as bytes, from the table of what the Linux module sends. Deliberately not `homarus-proto`'s code: a mistake
//! made in both directions there would not show.

/// Length of the header that all packets share.
const COMMON: usize = 28;

/// Types, their codes, and their lengths without contents.
const TYPES: [(Kind, u8, usize); 9] = [
    (Kind::Data, 0x10, 56),
    (Kind::Grant, 0x11, 33),
    (Kind::Resend, 0x12, 37),
    (Kind::Unknown, 0x13, 28),
    (Kind::Busy, 0x14, 28),
    (Kind::Cutoffs, 0x15, 62),
    (Kind::Freeze, 0x16, 28),
    (Kind::NeedAck, 0x17, 28),
    (Kind::Ack, 0x18, 80),
];

/// Type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Part of a message.
    Data,
    /// Permission to send.
    Grant,
    /// Request to send again.
    Resend,
    /// The RPC is not known.
    Unknown,
    /// Alive, nothing to send yet.
    Busy,
    /// Priorities for unscheduled bytes.
    Cutoffs,
    /// Debugging aid.
    Freeze,
    /// May the response be forgotten?
    NeedAck,
    /// Responses that may be forgotten.
    Ack,
}

impl Kind {
    /// Bytes of a packet of this type, without contents.
    pub fn header_len(self) -> usize {
        TYPES[self as usize].2
    }

    fn code(self) -> u8 {
        TYPES[self as usize].1
    }
}

/// One ack: the RPC's id as its client knows it, and the server's port.
pub type Ack = (u64, u16);

/// What packets of one type hold besides the common fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Part of a message.
    Data(Data),
    /// Permission to send.
    Grant {
        /// Bytes of the message that may be sent, exclusive end.
        offset: u32,
        /// Priority for them.
        priority: u8,
    },
    /// Request to send again.
    Resend {
        /// First byte.
        offset: u32,
        /// Bytes; −1: all that was sent.
        length: i32,
        /// Priority.
        priority: u8,
    },
    /// The RPC is not known.
    Unknown,
    /// Alive, nothing to send yet.
    Busy,
    /// Priorities for unscheduled bytes.
    Cutoffs {
        /// For each priority the longest message.
        cutoffs: [u32; 8],
        /// Version.
        version: u16,
    },
    /// Debugging aid.
    Freeze,
    /// May the response be forgotten?
    NeedAck,
    /// Responses that may be forgotten.
    Ack(Vec<Ack>),
}

/// The fields of DATA and its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Bytes in the message.
    pub message_length: u32,
    /// Bytes sent without further grants; in a retransmission the end of the range sent again.
    pub incoming: u32,
    /// An ack that rides along; id 0: none.
    pub ack: Ack,
    /// Version of the receiver's cutoffs.
    pub cutoff_version: u16,
    /// Whether it was sent before.
    pub retransmit: bool,
    /// Three bytes that are zero from Linux and ignored by it.
    pub pad: [u8; 3],
    /// Offset of the contents; `None`: it stands in `sequence`.
    pub segment_offset: Option<u32>,
    /// The contents.
    pub contents: Vec<u8>,
}

/// A Homa packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Sender's port.
    pub sport: u16,
    /// Receiver's port.
    pub dport: u16,
    /// Offset in the message, of DATA.
    pub sequence: u32,
    /// TCP's data offset.
    pub doff: u8,
    /// TCP's flags.
    pub flags: u8,
    /// Checksum as it stands in the packet.
    pub checksum: u16,
    /// TCP's urgent pointer.
    pub urgent: u16,
    /// The sender's id of the RPC.
    pub sender_id: u64,
    /// The rest.
    pub body: Body,
}

/// Why bytes are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAPacket {
    /// Shorter than the common header, or than its type.
    TooShort,
    /// No such type.
    UnknownType,
    /// More acks than there is room for.
    TooManyAcks,
}

impl Packet {
    /// The type.
    pub fn kind(&self) -> Kind {
        match &self.body {
            Body::Data(_) => Kind::Data,
            Body::Grant { .. } => Kind::Grant,
            Body::Resend { .. } => Kind::Resend,
            Body::Unknown => Kind::Unknown,
            Body::Busy => Kind::Busy,
            Body::Cutoffs { .. } => Kind::Cutoffs,
            Body::Freeze => Kind::Freeze,
            Body::NeedAck => Kind::NeedAck,
            Body::Ack(_) => Kind::Ack,
        }
    }

    /// Offset of DATA's contents.
    pub fn offset(&self, data: &Data) -> u32 {
        data.segment_offset.unwrap_or(self.sequence)
    }

    /// Reads a packet, from the first Homa byte to the end of the IP packet.
    pub fn decode(bytes: &[u8]) -> Result<Packet, NotAPacket> {
        if bytes.len() < COMMON {
            return Err(NotAPacket::TooShort);
        }
        let (kind, _, len) = *TYPES.iter().find(|entry| entry.1 == bytes[11]).ok_or(NotAPacket::UnknownType)?;
        if bytes.len() < len {
            return Err(NotAPacket::TooShort);
        }
        let body = match kind {
            Kind::Data => {
                let segment = number::<4>(bytes, 52) as u32;
                Body::Data(Data {
                    message_length: number::<4>(bytes, 28) as u32,
                    incoming: number::<4>(bytes, 32) as u32,
                    ack: ack_at(bytes, 36),
                    cutoff_version: number::<2>(bytes, 46) as u16,
                    retransmit: bytes[48] != 0,
                    pad: [bytes[49], bytes[50], bytes[51]],
                    segment_offset: (segment != u32::MAX).then_some(segment),
                    contents: bytes[56..].to_vec(),
                })
            }
            Kind::Grant => Body::Grant { offset: number::<4>(bytes, 28) as u32, priority: bytes[32] },
            Kind::Resend => Body::Resend {
                offset: number::<4>(bytes, 28) as u32,
                length: number::<4>(bytes, 32) as u32 as i32,
                priority: bytes[36],
            },
            Kind::Cutoffs => Body::Cutoffs {
                cutoffs: std::array::from_fn(|index| number::<4>(bytes, 28 + 4 * index) as u32),
                version: number::<2>(bytes, 60) as u16,
            },
            Kind::Ack => {
                let count = number::<2>(bytes, 28) as usize;
                if count > 5 {
                    return Err(NotAPacket::TooManyAcks);
                }
                Body::Ack((0..count).map(|index| ack_at(bytes, 30 + 10 * index)).collect())
            }
            Kind::Unknown => Body::Unknown,
            Kind::Busy => Body::Busy,
            Kind::Freeze => Body::Freeze,
            Kind::NeedAck => Body::NeedAck,
        };
        Ok(Packet {
            sport: number::<2>(bytes, 0) as u16,
            dport: number::<2>(bytes, 2) as u16,
            sequence: number::<4>(bytes, 4) as u32,
            doff: bytes[12],
            flags: bytes[13],
            checksum: number::<2>(bytes, 16) as u16,
            urgent: number::<2>(bytes, 18) as u16,
            sender_id: number::<8>(bytes, 20),
            body,
        })
    }

    /// The packet's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.kind().header_len()];
        put::<2>(&mut bytes, 0, u64::from(self.sport));
        put::<2>(&mut bytes, 2, u64::from(self.dport));
        put::<4>(&mut bytes, 4, u64::from(self.sequence));
        bytes[11] = self.kind().code();
        bytes[12] = self.doff;
        bytes[13] = self.flags;
        put::<2>(&mut bytes, 16, u64::from(self.checksum));
        put::<2>(&mut bytes, 18, u64::from(self.urgent));
        put::<8>(&mut bytes, 20, self.sender_id);
        match &self.body {
            Body::Data(data) => {
                put::<4>(&mut bytes, 28, u64::from(data.message_length));
                put::<4>(&mut bytes, 32, u64::from(data.incoming));
                put_ack(&mut bytes, 36, data.ack);
                put::<2>(&mut bytes, 46, u64::from(data.cutoff_version));
                bytes[48] = u8::from(data.retransmit);
                bytes[49..52].copy_from_slice(&data.pad);
                put::<4>(&mut bytes, 52, u64::from(data.segment_offset.unwrap_or(u32::MAX)));
                bytes.extend_from_slice(&data.contents);
            }
            Body::Grant { offset, priority } => {
                put::<4>(&mut bytes, 28, u64::from(*offset));
                bytes[32] = *priority;
            }
            Body::Resend { offset, length, priority } => {
                put::<4>(&mut bytes, 28, u64::from(*offset));
                put::<4>(&mut bytes, 32, u64::from(*length as u32));
                bytes[36] = *priority;
            }
            Body::Cutoffs { cutoffs, version } => {
                for (index, cutoff) in cutoffs.iter().enumerate() {
                    put::<4>(&mut bytes, 28 + 4 * index, u64::from(*cutoff));
                }
                put::<2>(&mut bytes, 60, u64::from(*version));
            }
            Body::Ack(acks) => {
                put::<2>(&mut bytes, 28, acks.len() as u64);
                for (index, ack) in acks.iter().enumerate() {
                    put_ack(&mut bytes, 30 + 10 * index, *ack);
                }
            }
            Body::Unknown | Body::Busy | Body::Freeze | Body::NeedAck => {}
        }
        bytes
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + N].copy_from_slice(&value.to_be_bytes()[8 - N..]);
}

fn ack_at(bytes: &[u8], at: usize) -> Ack {
    (number::<8>(bytes, at), number::<2>(bytes, at + 8) as u16)
}

fn put_ack(bytes: &mut [u8], at: usize, ack: Ack) {
    put::<8>(bytes, at, ack.0);
    put::<2>(bytes, at + 8, u64::from(ack.1));
}
