use super::{sum, u16_at};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use thiserror::Error;

/// An IP packet, headers taken off.
#[derive(Clone, Copy, Debug)]
pub struct Ip<'a> {
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub dest: IpAddr,
    /// TOS or traffic class; Homa's priority stands in its upper three bits.
    pub class: u8,
    /// What the payload is.
    pub protocol: u8,
    /// What was captured of the payload.
    pub payload: &'a [u8],
    /// Bytes that the payload had.
    pub wire_len: usize,
    /// The offset in the whole payload if this is a piece of it, and whether more pieces follow.
    pub fragment: Option<(u32, bool)>,
    /// Whether IPv4's own checksum is right; devices that complete it later leave zero.
    pub checksum_ok: bool,
    /// Whether the packet says that it is longer than the frame was.
    pub exceeds_frame: bool,
}

/// Why bytes are no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IpError {
    /// Neither version 4 nor 6.
    #[error("IP version {0}")]
    Version(u8),
    /// Fewer bytes than headers take: the frame was cut, or its lengths are wrong.
    #[error("IP headers end after {0} bytes")]
    Short(usize),
    /// IPv4's header or total length is impossible.
    #[error("impossible length in an IP header")]
    Length,
    /// More extension headers than any sender has reason for.
    #[error("more than 16 IPv6 extension headers")]
    Extensions,
}

const MAX_EXTENSIONS: usize = 16;

impl<'a> Ip<'a> {
    /// Reads a packet of which `bytes` were captured and which took `room` bytes of the frame on the link.
    pub fn parse(bytes: &'a [u8], room: usize) -> Result<Ip<'a>, IpError> {
        match bytes.first().map(|first| first >> 4) {
            Some(4) => Ip::version_4(bytes, room),
            Some(6) => Ip::version_6(bytes, room),
            Some(other) => Err(IpError::Version(other)),
            None => Err(IpError::Short(0)),
        }
    }

    /// Reads the packet that an ICMP message quotes, which may lack its end.
    pub(super) fn parse_quoted(bytes: &'a [u8]) -> Option<Ip<'a>> {
        Ip::parse(bytes, usize::MAX).ok().filter(|ip| ip.fragment.is_none_or(|(offset, _)| offset == 0))
    }

    fn version_4(bytes: &'a [u8], room: usize) -> Result<Ip<'a>, IpError> {
        let header = bytes.get(..20).ok_or(IpError::Short(bytes.len()))?;
        let header_len = usize::from(header[0] & 0xf) * 4;
        let total = match u16::from_be_bytes([header[2], header[3]]) {
            // Left to a device that cuts the packet.
            0 => room,
            total => usize::from(total),
        };
        if header_len < 20 || total < header_len {
            return Err(IpError::Length);
        }
        let whole = bytes.get(..header_len).ok_or(IpError::Short(bytes.len()))?;
        let pieces = u16::from_be_bytes([header[6], header[7]]);
        let (offset, more) = (u32::from(pieces & 0x1fff) * 8, pieces & 0x2000 != 0);
        Ok(Ip {
            source: Ipv4Addr::new(header[12], header[13], header[14], header[15]).into(),
            dest: Ipv4Addr::new(header[16], header[17], header[18], header[19]).into(),
            class: header[1],
            protocol: header[9],
            payload: &bytes[header_len..bytes.len().min(total)],
            wire_len: total - header_len,
            fragment: (offset > 0 || more).then_some((offset, more)),
            checksum_ok: header[10..12] == [0, 0] || sum::fold(whole, 0) == 0xffff,
            exceeds_frame: total > room,
        })
    }

    fn version_6(bytes: &'a [u8], room: usize) -> Result<Ip<'a>, IpError> {
        let header = bytes.get(..40).ok_or(IpError::Short(bytes.len()))?;
        let address = |at: usize| {
            let mut raw = [0; 16];
            raw.copy_from_slice(&header[at..at + 16]);
            IpAddr::from(Ipv6Addr::from(raw))
        };
        let end = match u16::from_be_bytes([header[4], header[5]]) {
            // A jumbo payload, or left to a device that cuts the packet.
            0 => room,
            length => 40 + usize::from(length),
        };
        let (mut at, mut next, mut fragment) = (40, header[6], None);
        for step in 0.. {
            // Behind a later fragment's header stands the middle of something.
            if fragment.is_some_and(|(offset, _)| offset > 0) {
                break;
            }
            let short = IpError::Short(bytes.len());
            let length = match next {
                // Hop-by-hop, routing, destination options, mobility, host identity, shim6.
                0 | 43 | 60 | 135 | 139 | 140 => 8 * (1 + usize::from(*bytes.get(at + 1).ok_or(short)?)),
                // Authentication counts words of four bytes.
                51 => 4 * (2 + usize::from(*bytes.get(at + 1).ok_or(short)?)),
                44 => {
                    let pieces = u16_at(bytes, at + 2).ok_or(short)?;
                    let piece = (u32::from(pieces & 0xfff8), pieces & 1 != 0);
                    fragment = (piece != (0, false)).then_some(piece);
                    8
                }
                _ => break,
            };
            if step == MAX_EXTENSIONS {
                return Err(IpError::Extensions);
            }
            next = *bytes.get(at).ok_or(short)?;
            at += length;
        }
        Ok(Ip {
            source: address(8),
            dest: address(24),
            class: header[0] << 4 | header[1] >> 4,
            protocol: next,
            payload: bytes.get(at..bytes.len().min(end)).unwrap_or(&[]),
            wire_len: end.checked_sub(at).ok_or(IpError::Length)?,
            fragment,
            checksum_ok: true,
            exceeds_frame: end > room,
        })
    }

    /// Homa's priority, 0 to 7.
    pub fn priority(&self) -> u8 {
        self.class >> 5
    }

    /// The sum of the pseudo-header that checksums of transport protocols include.
    pub(crate) fn pseudo_sum(&self, protocol: u8, length: usize) -> u64 {
        let start = u64::from(protocol) + (length as u64 & 0xffff) + (length as u64 >> 16);
        [self.source, self.dest].iter().fold(start, |sum, address| match address {
            IpAddr::V4(address) => sum::fold(&address.octets(), sum),
            IpAddr::V6(address) => sum::fold(&address.octets(), sum),
        })
    }
}
