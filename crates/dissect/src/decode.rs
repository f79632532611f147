//! From a frame to the Homa packets in it.

use crate::net::sum::{Checksum, judge};
use crate::net::{HOMA, ICMP, ICMPV6, Icmp, Ip, IpError, UDP, Udp};
use crate::split::{self, SEGMENT_AT, SUPER_LEN, is_plausible};
use crate::{Frame, table};
use homarus_proto::wire::{ACK_LEN, COMMON_LEN, DATA_LEN, Header, Packet, PacketType};
use std::fmt;
use std::net::IpAddr;

/// One end of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct End {
    /// IP address.
    pub address: IpAddr,
    /// UDP's port, where Homa is inside UDP.
    pub udp_port: Option<u16>,
    /// Homa's port.
    pub port: u16,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(address) => write!(f, "{address}")?,
            IpAddr::V6(address) => write!(f, "[{address}]")?,
        }
        match self.udp_port {
            Some(udp) if udp != self.port => write!(f, ":{udp}/{}", self.port),
            _ => write!(f, ":{}", self.port),
        }
    }
}

/// A Homa packet of a capture.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Where it came from.
    pub source: End,
    /// Where it went.
    pub dest: End,
    /// From the IP header: 0 to 7.
    pub priority: u8,
    /// The header as `homarus-proto` reads it.
    pub header: Header,
    /// The header's bytes; [`Seen::head`] is their right number.
    raw: [u8; ACK_LEN],
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// What the checksum field holds.
    pub checksum: Checksum,
    /// Whether it was captured as part of a longer send, which a device was still to cut.
    pub uncut: bool,
    /// What is odd about the packet, in words.
    pub notes: Vec<String>,
}

impl Seen {
    /// The packet's type.
    pub fn kind(&self) -> PacketType {
        self.header.packet.packet_type()
    }

    /// The header's bytes.
    pub fn head(&self) -> &[u8] {
        &self.raw[..self.kind().header_len()]
    }

    /// Bytes of the message that a DATA packet holds: the first and the end.
    pub fn range(&self) -> Option<(u32, u32)> {
        match &self.header.packet {
            Packet::Data(data) => {
                let start = self.header.data_offset(data);
                Some((start, start.saturating_add(self.payload)))
            }
            _ => None,
        }
    }

    /// Every field of the table with its value, overlays too.
    pub fn fields(&self) -> impl Iterator<Item = (&'static table::Field, u64)> + '_ {
        table::fields(self.kind()).map(|field| (field, field.value(&self.raw)))
    }
}

/// Something of Homa in a frame.
#[derive(Clone, Debug)]
pub enum Item {
    /// A packet.
    Packet(Box<Seen>),
    /// Homa's bytes that make no packet.
    Malformed {
        /// Addresses of sender and receiver.
        ends: [IpAddr; 2],
        /// Why.
        reason: String,
    },
    /// A piece of an IP packet of Homa; pieces are not put together.
    Fragment {
        /// Addresses of sender and receiver.
        ends: [IpAddr; 2],
        /// First byte in the whole.
        offset: u32,
        /// Bytes.
        length: usize,
        /// Whether it is not the last.
        more: bool,
    },
    /// A packet did not arrive, and a machine says so.
    Icmp {
        /// Who says so.
        from: IpAddr,
        /// What it says.
        icmp: Icmp,
    },
}

/// Why a frame has nothing to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// A link type that is not understood.
    Link,
    /// Not IP.
    NotIp,
    /// IP headers that are cut or impossible.
    BrokenIp(IpError),
    /// IP of another protocol, or UDP without Homa.
    NotHoma,
}

/// Which UDP datagrams are Homa.
#[derive(Clone, Debug, Default)]
pub struct UdpPorts {
    /// Ports whose datagrams all are; none: those whose first packet is plausible.
    pub ports: Vec<u16>,
}

impl UdpPorts {
    /// Whether a datagram is Homa's.
    pub fn is_homa(&self, source: u16, dest: u16, contents: &[u8]) -> bool {
        match self.ports.is_empty() {
            true => is_plausible(contents),
            false => self.ports.contains(&source) || self.ports.contains(&dest),
        }
    }
}

/// Finds what a frame holds of Homa.
pub fn decode(frame: &Frame<'_>, ports: &UdpPorts) -> Result<Vec<Item>, Other> {
    if !frame.link.is_known() {
        return Err(Other::Link);
    }
    let at = frame.link.ip_at(frame.data).ok_or(Other::NotIp)?;
    let bytes = frame.data.get(at..).ok_or(Other::NotIp)?;
    let ip = Ip::parse(bytes, frame.wire_len.saturating_sub(at)).map_err(Other::BrokenIp)?;
    let ends = [ip.source, ip.dest];
    if let Some((offset, more)) = ip.fragment {
        let is_ours = match ip.protocol {
            HOMA => true,
            UDP if offset == 0 => Udp::parse_first_fragment(&ip)
                .is_some_and(|(source, dest, contents)| ports.is_homa(source, dest, contents)),
            _ => false,
        };
        return match is_ours {
            true => Ok(vec![Item::Fragment { ends, offset, length: ip.wire_len, more }]),
            false => Err(Other::NotHoma),
        };
    }
    let items = match ip.protocol {
        HOMA => on_ip(&ip),
        UDP => match Udp::parse(&ip) {
            Some(udp) if ports.is_homa(udp.source, udp.dest, udp.payload) => in_udp(&ip, &udp),
            _ => return Err(Other::NotHoma),
        },
        ICMP | ICMPV6 => {
            let icmp = Icmp::parse(&ip, |source, dest, contents| ports.is_homa(source, dest, contents));
            vec![Item::Icmp { from: ip.source, icmp: icmp.ok_or(Other::NotHoma)? }]
        }
        _ => return Err(Other::NotHoma),
    };
    Ok(items)
}

fn on_ip(ip: &Ip<'_>) -> Vec<Item> {
    let packet = ip.payload;
    let Some(segments) = split::segments(packet, ip.wire_len) else {
        let checksum = |header: &Header| {
            let segmented = header.packet.packet_type() == PacketType::Data && header.doff == 0xd0;
            match judge_captured(ip, header.checksum) {
                Checksum::Wrong if segmented => Checksum::Unchecked,
                found => found,
            }
        };
        return vec![one(ip, None, packet, ip.wire_len, checksum, Vec::new())];
    };
    let piece = |segment: &split::Segment| {
        let mut bytes = packet[..SEGMENT_AT].to_vec();
        let rest = packet.get(segment.at..).unwrap_or(&[]);
        bytes.extend_from_slice(&rest[..rest.len().min(4 + segment.payload)]);
        let item = one(ip, None, &bytes, DATA_LEN + segment.payload, |_| Checksum::Unchecked, Vec::new());
        uncut(item, true)
    };
    segments.iter().map(piece).collect()
}

/// Marks a packet as part of a longer send.
fn uncut(item: Item, is_part: bool) -> Item {
    match item {
        Item::Packet(seen) => Item::Packet(Box::new(Seen { uncut: is_part, ..*seen })),
        other => other,
    }
}

fn judge_captured(ip: &Ip<'_>, field: u16) -> Checksum {
    match ip.payload.len() == ip.wire_len {
        // Linux's module computes TCP's sum, for the sake of NICs.
        true => judge(ip, TCP, ip.payload, field),
        false if field == 0 => Checksum::Zero,
        false => Checksum::Unchecked,
    }
}

const TCP: u8 = 6;

fn in_udp(ip: &Ip<'_>, udp: &Udp<'_>) -> Vec<Item> {
    let pieces = split::in_datagram(udp.payload, udp.wire_len);
    if pieces.is_empty() {
        return vec![Item::Malformed {
            ends: [ip.source, ip.dest],
            reason: "an empty datagram, or nothing of it captured".into(),
        }];
    }
    let checksum = |header: &Header| if header.checksum == 0 { Checksum::Zero } else { Checksum::Unchecked };
    pieces
        .iter()
        .map(|piece| {
            let mut notes = Vec::new();
            if udp.checksum == Checksum::Wrong && !piece.cut_later {
                notes.push("UDP checksum wrong".to_owned());
            }
            if piece.bytes.len() < piece.wire_len && piece.wire_len > SUPER_LEN {
                notes.push("may be several packets, whose headers were not captured".to_owned());
            }
            let ports = Some([udp.source, udp.dest]);
            uncut(one(ip, ports, piece.bytes, piece.wire_len, checksum, notes), piece.cut_later)
        })
        .collect()
}

/// Reads one packet, of which `bytes` were captured.
fn one(
    ip: &Ip<'_>,
    udp_ports: Option<[u16; 2]>,
    bytes: &[u8],
    wire_len: usize,
    checksum: impl Fn(&Header) -> Checksum,
    mut notes: Vec<String>,
) -> Item {
    let cut = bytes.len() < wire_len;
    let malformed = |reason: String| Item::Malformed { ends: [ip.source, ip.dest], reason };
    if bytes.len() < COMMON_LEN {
        return malformed(match cut {
            true => format!("only {} of {wire_len} bytes captured", bytes.len()),
            false => format!("{wire_len} bytes, where a header has at least {COMMON_LEN}"),
        });
    }
    let Some(kind) = PacketType::from_code(bytes[11]) else {
        return malformed(format!("unknown packet type 0x{:02x}", bytes[11]));
    };
    let name = table::type_name(kind);
    let least = kind.header_len();
    if bytes.len() < least {
        return malformed(match cut {
            true => format!("{name}: only {} of {wire_len} bytes captured", bytes.len()),
            false => format!("{name} of {wire_len} bytes, where it has at least {least}"),
        });
    }
    let header = match Header::parse(bytes) {
        Ok(header) => header,
        Err(reason) => return malformed(format!("{name}: {reason}")),
    };
    let payload = u32::try_from(wire_len - least).unwrap_or(u32::MAX);
    let mut raw = [0; ACK_LEN];
    raw[..least].copy_from_slice(&bytes[..least]);
    let (source, dest) = (udp_ports.map(|ports| ports[0]), udp_ports.map(|ports| ports[1]));
    let seen = Seen {
        source: End { address: ip.source, udp_port: source, port: header.source_port },
        dest: End { address: ip.dest, udp_port: dest, port: header.dest_port },
        priority: ip.priority(),
        checksum: checksum(&header),
        header,
        raw,
        payload: if kind == PacketType::Data { payload } else { 0 },
        uncut: false,
        notes: Vec::new(),
    };
    if cut {
        notes.push(format!("{} bytes of payload not captured", wire_len - bytes.len()));
    }
    if kind != PacketType::Data && payload > 0 {
        notes.push(format!("{payload} bytes too many"));
    }
    if let (Packet::Data(data), Some((_, end))) = (&seen.header.packet, seen.range())
        && end > data.message_length
    {
        notes.push(format!("{} bytes beyond the message's end", end - data.message_length));
    }
    if seen.checksum == Checksum::Wrong {
        notes.push("checksum wrong".to_owned());
    }
    if raw[8..11] != [0; 3] {
        notes.push("reserved bytes are not 0".to_owned());
    }
    if !ip.checksum_ok {
        notes.push("IP checksum wrong".to_owned());
    }
    if ip.exceeds_frame {
        notes.push("IP length exceeds the frame".to_owned());
    }
    Item::Packet(Box::new(Seen { notes, ..seen }))
}
