use super::sum::{Checksum, judge};
use super::{Ip, UDP, u16_at};

/// A UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Udp<'a> {
    /// Sender's port.
    pub source: u16,
    /// Receiver's port.
    pub dest: u16,
    /// What was captured of the contents.
    pub payload: &'a [u8],
    /// Bytes that the contents had.
    pub wire_len: usize,
    /// Whether the checksum is right.
    pub checksum: Checksum,
}

impl<'a> Udp<'a> {
    const HEADER: usize = 8;

    /// Reads the datagram in an IP packet; `None` if not even its header was captured, or its length is impossible.
    pub fn parse(ip: &Ip<'a>) -> Option<Udp<'a>> {
        let header = ip.payload.get(..Udp::HEADER)?;
        let length = match u16_at(header, 4)? {
            // Datagrams that the device will cut can be longer than the field can say.
            0 => ip.wire_len,
            length => usize::from(length),
        };
        if length < Udp::HEADER || length > ip.wire_len {
            return None;
        }
        let captured = &ip.payload[..ip.payload.len().min(length)];
        let checksum = match captured.len() == length {
            true => judge(ip, UDP, captured, u16_at(header, 6)?),
            false => Checksum::Unchecked,
        };
        Some(Udp {
            source: u16_at(header, 0)?,
            dest: u16_at(header, 2)?,
            payload: &captured[Udp::HEADER..],
            wire_len: length - Udp::HEADER,
            checksum,
        })
    }

    /// Ports and captured contents of the first piece of a datagram.
    pub(crate) fn parse_first_fragment(ip: &Ip<'a>) -> Option<(u16, u16, &'a [u8])> {
        Some((u16_at(ip.payload, 0)?, u16_at(ip.payload, 2)?, ip.payload.get(Udp::HEADER..)?))
    }
}
