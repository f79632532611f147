use super::source::Source;
use super::{MAX_RECORD, Order, ReadError, Record};
use crate::net::LinkType;
use std::io::Read;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// What the header of a pcap file says.
#[derive(Debug)]
pub(super) struct Pcap {
    order: Order,
    nanoseconds: bool,
    link: LinkType,
}

impl Pcap {
    /// Reads the rest of the header, after its magic number.
    pub(super) fn begin<R: Read>(magic: [u8; 4], source: &mut Source<R>) -> Result<Pcap, ReadError> {
        let place = "file header";
        let (order, nanoseconds) = match (u32::from_be_bytes(magic), u32::from_le_bytes(magic)) {
            (MICROSECONDS, _) => (Order::Big, false),
            (NANOSECONDS, _) => (Order::Big, true),
            (_, MICROSECONDS) => (Order::Little, false),
            (_, NANOSECONDS) => (Order::Little, true),
            (number, _) => {
                let what = match magic {
                    [0x1f, 0x8b, ..] => " (gzip: unpack the file first)",
                    [0x28, 0xb5, 0x2f, 0xfd] => " (zstd: unpack the file first)",
                    [0x04, 0x22, 0x4d, 0x18] => " (lz4: unpack the file first)",
                    _ => "",
                };
                let found = format!("{number:08x}{what}");
                return Err(source.wrong(0, place, "the magic number of pcap or pcapng", &found));
            }
        };
        let header = source.array::<20>("20 more bytes of header", place)?;
        let major = order.u16([header[0], header[1]]);
        if major != 2 {
            return Err(source.wrong(4, place, "version 2 of the format", &format!("version {major}")));
        }
        // The upper bits say how long Ethernet's own checksums are.
        let link = LinkType((order.word(&header, 4) & 0xffff) as u16);
        Ok(Pcap { order, nanoseconds, link })
    }

    /// Reads one record's bytes into `buffer`.
    pub(super) fn next<R: Read>(
        &self,
        source: &mut Source<R>,
        number: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Record>, ReadError> {
        let at = source.position();
        let place = format!("record {number}");
        let Some(header) = source.array_or_end::<16>("16 bytes of record header", &place)? else {
            return Ok(None);
        };
        let word = |index| self.order.word(&header, index);
        let (seconds, fraction, captured, wire_len) = (word(0), word(1), word(2), word(3));
        if captured > MAX_RECORD {
            let expected = format!("a captured length of at most {MAX_RECORD}");
            return Err(source.wrong(at + 8, &place, &expected, &captured.to_string()));
        }
        source.bytes(buffer, captured as usize, &place)?;
        let scale = if self.nanoseconds { 1 } else { 1000 };
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * scale;
        let digits = if self.nanoseconds { 9 } else { 6 };
        Ok(Some(Record { time: Some(time), digits, link: self.link, wire_len }))
    }
}
