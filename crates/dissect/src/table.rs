//! The one table of Homa's fields: what the text, the JSON and the dissector for Wireshark are made of.

use homarus_proto::wire::{ExtensionBits, Header, PacketType};

/// What a field's bytes mean, and so how they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An unsigned number.
    Number,
    /// A signed number (two's complement).
    Signed,
    /// An unsigned number that reads best in hexadecimal.
    Hex,
    /// Bytes without a meaning of their own.
    Bytes,
    /// An unsigned number whose values have names.
    Named(&'static [(u64, &'static str)]),
    /// Bits with names: mask, name, meaning.
    Flags(&'static [(u64, &'static str, &'static str)]),
    /// A duration as one byte: an eighth of an octave a step from 100 ns; 0 says nothing.
    RoundTrip,
}

/// Whether the line about a packet mentions a field, and by what words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brief {
    /// Never.
    No,
    /// Always: these words, then the value.
    Always(&'static str),
    /// Unless the value is 0.
    NotZero(&'static str),
}

/// A field of a packet; integers are big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name in JSON, and with `homa.` before it in Wireshark. A field that comes several times in a packet has the
    /// same name each time.
    pub name: &'static str,
    /// First byte, counted from the first of Homa.
    pub offset: usize,
    /// Bytes: 1 to 8.
    pub width: usize,
    /// What the bytes mean.
    pub kind: Kind,
    /// What the field is for.
    pub meaning: &'static str,
    /// Whether a packet's line mentions it.
    pub brief: Brief,
    /// Whether it reads bytes in another way that another field has already: UNKNOWN's reason is its `sequence`.
    pub overlay: bool,
}

impl Field {
    /// The field's value in a packet that is long enough; a shorter one counts as followed by zeros.
    pub fn value(&self, packet: &[u8]) -> u64 {
        (self.offset..self.offset + self.width)
            .fold(0, |value, at| value << 8 | u64::from(packet.get(at).copied().unwrap_or(0)))
    }

    /// Puts a value into a packet that is long enough.
    pub fn put(&self, packet: &mut [u8], value: u64) {
        let bytes = value.to_be_bytes();
        packet[self.offset..self.offset + self.width].copy_from_slice(&bytes[8 - self.width..]);
    }

    /// The value as text.
    pub fn show(&self, value: u64) -> String {
        match self.kind {
            Kind::Number => value.to_string(),
            Kind::Signed => self.signed(value).to_string(),
            Kind::Hex | Kind::Bytes => format!("0x{value:0width$x}", width = 2 * self.width),
            Kind::Named(names) => {
                named(names, value).map_or_else(|| value.to_string(), |name| format!("{name} ({value})"))
            }
            Kind::Flags(flags) => {
                let names: Vec<&str> = set_flags(flags, value).collect();
                if names.is_empty() {
                    format!("0x{value:02x}")
                } else {
                    format!("0x{value:02x} ({})", names.join(", "))
                }
            }
            Kind::RoundTrip => match round_trip_ns(value) {
                None => "0".to_owned(),
                Some(ns) => format!("{value} ({})", crate::units::nanos(ns)),
            },
        }
    }

    /// What the line about a packet says of the field, if anything.
    pub(crate) fn in_brief(&self, value: u64) -> Option<String> {
        let words = match self.brief {
            Brief::Always(words) => words,
            Brief::NotZero(words) if value != 0 => words,
            Brief::NotZero(_) | Brief::No => return None,
        };
        let text = match self.kind {
            Kind::Named(names) => named(names, value).map_or_else(|| value.to_string(), str::to_owned),
            Kind::Flags(flags) => set_flags(flags, value).collect::<Vec<_>>().join(" "),
            Kind::RoundTrip => crate::units::nanos(round_trip_ns(value)?),
            _ => self.show(value),
        };
        Some(if words.is_empty() { text } else { format!("{words} {text}") })
    }

    /// The value of a signed field.
    pub fn signed(&self, value: u64) -> i64 {
        let unused = 64 - 8 * self.width as u32;
        (value << unused) as i64 >> unused
    }
}

fn named(names: &[(u64, &'static str)], value: u64) -> Option<&'static str> {
    names.iter().find(|(number, _)| *number == value).map(|(_, name)| *name)
}

fn set_flags(
    flags: &'static [(u64, &'static str, &'static str)],
    value: u64,
) -> impl Iterator<Item = &'static str> + 'static {
    flags.iter().filter(move |(mask, ..)| value & mask != 0).map(|(_, name, _)| *name)
}

/// Nanoseconds that the round trip's byte stands for.
pub fn round_trip_ns(value: u64) -> Option<u64> {
    (value > 0).then(|| (100.0 * (value.min(255) as f64 / 8.0).exp2()) as u64)
}

/// Names of the packet types on the wire.
pub const TYPES: [(u64, &str); 9] = [
    (PacketType::Data as u64, "DATA"),
    (PacketType::Grant as u64, "GRANT"),
    (PacketType::Resend as u64, "RESEND"),
    (PacketType::Unknown as u64, "UNKNOWN"),
    (PacketType::Busy as u64, "BUSY"),
    (PacketType::Cutoffs as u64, "CUTOFFS"),
    (PacketType::Freeze as u64, "FREEZE"),
    (PacketType::NeedAck as u64, "NEED_ACK"),
    (PacketType::Ack as u64, "ACK"),
];

/// The name of a packet type.
pub fn type_name(kind: PacketType) -> &'static str {
    named(&TYPES, kind as u64).unwrap_or("?")
}

/// All types, in the order of their codes.
pub fn types() -> impl Iterator<Item = PacketType> {
    TYPES.iter().filter_map(|(code, _)| PacketType::from_code(*code as u8))
}

const fn field(name: &'static str, offset: usize, width: usize, kind: Kind, meaning: &'static str) -> Field {
    Field { name, offset, width, kind, meaning, brief: Brief::No, overlay: false }
}

impl Field {
    const fn always(mut self, words: &'static str) -> Field {
        self.brief = Brief::Always(words);
        self
    }

    const fn not_zero(mut self, words: &'static str) -> Field {
        self.brief = Brief::NotZero(words);
        self
    }

    const fn over(mut self) -> Field {
        self.overlay = true;
        self
    }
}

/// The fields that all packets share.
pub const COMMON: [Field; 11] = [
    field("source_port", 0, 2, Kind::Number, "Sender's port: servers below 32768, clients from there up"),
    field("dest_port", 2, 2, Kind::Number, "Receiver's port"),
    field("sequence", 4, 4, Kind::Number, "DATA: offset in the message (of the first segment); otherwise 0 from Linux"),
    field("reserved", 8, 3, Kind::Bytes, "0"),
    field("type", 11, 1, Kind::Named(&TYPES), "Type of the packet"),
    field(
        "doff",
        12,
        1,
        Kind::Hex,
        "TCP's data offset, for the sake of NICs: 0xe0 DATA, 0xd0 segmented DATA, 0x50 others",
    ),
    field("flags", 13, 1, Kind::Hex, "TCP's flags, for the sake of NICs"),
    field("window", 14, 2, Kind::Number, "TCP's window; 0"),
    field("checksum", 16, 2, Kind::Hex, "TCP-style sum with a pseudo-header of protocol 6; 0 is accepted"),
    field("urgent", 18, 2, Kind::Hex, "TCP's urgent pointer; Linux sends 0xb97d"),
    field("sender_id", 20, 8, Kind::Number, "RPC id as the sender sees it: even from the client, odd from the server"),
];

const DATA: [Field; 10] = [
    field("message_length", 28, 4, Kind::Number, "Bytes in the whole message").always("of"),
    field("incoming", 32, 4, Kind::Number, "Bytes sent without further grants; end of the range in a retransmission")
        .always("incoming"),
    field("ack.client_id", 36, 8, Kind::Number, "An RPC whose response the client has; 0: none").not_zero("acks rpc"),
    field("ack.server_port", 44, 2, Kind::Number, "Server's port of the acknowledged RPC").not_zero("at port"),
    field("cutoff_version", 46, 2, Kind::Number, "Version of the receiver's cutoffs that chose the priority")
        .always("cutoffs version"),
    field("retransmit", 48, 1, Kind::Named(&[(0, "first"), (1, "retransmission")]), "1 in a retransmission")
        .not_zero(""),
    field(
        "extensions",
        49,
        1,
        Kind::Flags(&[
            (
                ExtensionBits::INCAST as u64,
                "incast",
                "The client has many requests outstanding: respond with few bytes",
            ),
            (ExtensionBits::HOMARUS as u64, "homarus", "The sender knows the extensions of homarus"),
        ]),
        "Extensions of homarus; 0 from Linux",
    )
    .not_zero("ext"),
    field(
        "round_trip",
        50,
        1,
        Kind::RoundTrip,
        "homarus: sender's shortest round trip, 100 ns x 2^(n/8); 0: not measured",
    )
    .not_zero("rtt"),
    field("pad", 51, 1, Kind::Hex, "0"),
    field("segment_offset", 52, 4, Kind::Signed, "Offset of the payload in the message; -1: it stands in sequence"),
];

const GRANT: [Field; 2] = [
    field("grant.offset", 28, 4, Kind::Number, "Bytes of the message that may be sent (exclusive end)").always("up to"),
    field("grant.priority", 32, 1, Kind::Number, "Priority for the granted bytes").always("at priority"),
];

const RESEND: [Field; 3] = [
    field("resend.offset", 28, 4, Kind::Number, "First byte wanted").always("from"),
    field("resend.length", 32, 4, Kind::Signed, "Bytes wanted; -1: all that was sent").always("length"),
    field("resend.priority", 36, 1, Kind::Number, "Priority for the retransmission").always("at priority"),
];

const UNKNOWN: [Field; 1] = [field(
    "unknown.reason",
    4,
    4,
    Kind::Named(&[(0, "not known"), (Header::ENDED as u64, "ended"), (Header::TOO_LONG as u64, "too long")]),
    "homarus: why the RPC is not known; 0 from Linux",
)
.not_zero("")
.over()];

const BUSY: [Field; 1] = [field(
    "busy.reason",
    4,
    4,
    Kind::Named(&[(0, "not ready"), (Header::NO_ROOM as u64, "no room")]),
    "homarus: why the request is not answered yet; 0 from Linux",
)
.not_zero("")
.over()];

const fn cutoff(name: &'static str, priority: usize) -> Field {
    field(name, 28 + 4 * priority, 4, Kind::Number, "Longest message whose unscheduled bytes use this priority")
        .always("")
}

const CUTOFFS: [Field; 9] = [
    cutoff("cutoffs.0", 0),
    cutoff("cutoffs.1", 1),
    cutoff("cutoffs.2", 2),
    cutoff("cutoffs.3", 3),
    cutoff("cutoffs.4", 4),
    cutoff("cutoffs.5", 5),
    cutoff("cutoffs.6", 6),
    cutoff("cutoffs.7", 7),
    field("cutoffs.version", 60, 2, Kind::Number, "Version of this assignment").always("version"),
];

const fn ack_id(at: usize) -> Field {
    field("acks.client_id", at, 8, Kind::Number, "An RPC whose response the client has").not_zero("rpc")
}

const fn ack_port(at: usize) -> Field {
    field("acks.server_port", at, 2, Kind::Number, "Server's port of the acknowledged RPC").not_zero("at port")
}

const ACK: [Field; 11] = [
    field("acks.count", 28, 2, Kind::Number, "How many of the acks count, besides the RPC in the header")
        .always("lists"),
    ack_id(30),
    ack_port(38),
    ack_id(40),
    ack_port(48),
    ack_id(50),
    ack_port(58),
    ack_id(60),
    ack_port(68),
    ack_id(70),
    ack_port(78),
];

/// The fields that packets of a type have besides [`COMMON`], in the order of their bytes (overlays first).
pub fn own_fields(kind: PacketType) -> &'static [Field] {
    match kind {
        PacketType::Data => &DATA,
        PacketType::Grant => &GRANT,
        PacketType::Resend => &RESEND,
        PacketType::Unknown => &UNKNOWN,
        PacketType::Busy => &BUSY,
        PacketType::Cutoffs => &CUTOFFS,
        PacketType::Ack => &ACK,
        PacketType::Freeze | PacketType::NeedAck => &[],
    }
}

/// All fields of a type of packet.
pub fn fields(kind: PacketType) -> impl Iterator<Item = &'static Field> {
    COMMON.iter().chain(own_fields(kind))
}
