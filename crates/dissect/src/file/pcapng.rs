use super::source::Source;
use super::{MAX_RECORD, Order, ReadError, Record};
use crate::net::LinkType;
use std::io::Read;

/// First bytes of a section, the same in both byte orders.
pub(super) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;

/// Interfaces in one section; more count as damage.
const MAX_INTERFACES: usize = 65_536;
/// Least length of a block: type, and its length twice.
const FRAME: u32 = 12;

/// What the blocks read so far say about those that follow.
#[derive(Debug)]
pub(super) struct PcapNg {
    order: Order,
    interfaces: Vec<Interface>,
    blocks: u64,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: LinkType,
    /// 0: no limit.
    snaplen: u32,
    resolution: Resolution,
    /// Seconds that all times of this interface lack.
    offset: i64,
}

/// Ticks in a second: a power of ten or of two.
#[derive(Clone, Copy, Debug)]
struct Resolution(u8);

impl Resolution {
    const MICROSECONDS: Resolution = Resolution(6);

    fn exponent(self) -> u32 {
        u32::from(self.0 & 0x7f)
    }

    fn nanos(self, ticks: u64) -> u128 {
        let nanos = u128::from(ticks) * 1_000_000_000;
        if self.0 & 0x80 != 0 {
            nanos >> self.exponent()
        } else {
            10u128.checked_pow(self.exponent()).map_or(0, |per| nanos / per)
        }
    }

    fn digits(self) -> usize {
        if self.0 & 0x80 != 0 { 9 } else { self.exponent().clamp(1, 9) as usize }
    }
}

impl PcapNg {
    /// Reads the first section's header, after its type.
    pub(super) fn begin<R: Read>(source: &mut Source<R>) -> Result<PcapNg, ReadError> {
        let mut pcapng = PcapNg { order: Order::Little, interfaces: Vec::new(), blocks: 1 };
        pcapng.section(source)?;
        Ok(pcapng)
    }

    fn place(&self) -> String {
        format!("block {}", self.blocks)
    }

    /// A section's header: it sets the byte order and forgets the interfaces.
    fn section<R: Read>(&mut self, source: &mut Source<R>) -> Result<(), ReadError> {
        let place = self.place();
        let at = source.position();
        let raw = source.array::<12>("12 bytes of section header", &place)?;
        self.order = match [raw[4], raw[5], raw[6], raw[7]] {
            [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
            [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
            other => {
                let found = format!("{:08x}", u32::from_be_bytes(other));
                return Err(source.wrong(at + 4, &place, "the byte-order mark 1a2b3c4d or 4d3c2b1a", &found));
            }
        };
        self.interfaces.clear();
        let major = self.order.u16([raw[8], raw[9]]);
        if major != 1 {
            return Err(source.wrong(at + 8, &place, "version 1 of the format", &format!("version {major}")));
        }
        let length = self.order.word(&raw, 0);
        self.check_length(source, at, length, 28)?;
        source.skip(u64::from(length) - 20, &place)?;
        self.trailer(source, length)
    }

    fn check_length<R: Read>(&self, source: &Source<R>, at: u64, length: u32, least: u32) -> Result<(), ReadError> {
        if length < least || !length.is_multiple_of(4) {
            let expected = format!("a block length of at least {least}, a multiple of 4");
            return Err(source.wrong(at, &self.place(), &expected, &length.to_string()));
        }
        Ok(())
    }

    /// A block's length stands at its end once more.
    fn trailer<R: Read>(&self, source: &mut Source<R>, length: u32) -> Result<(), ReadError> {
        let at = source.position();
        let raw = source.array::<4>("the block's length once more", &self.place())?;
        match self.order.u32(raw) {
            again if again == length => Ok(()),
            again => {
                let expected = format!("the block's length {length} once more");
                Err(source.wrong(at, &self.place(), &expected, &again.to_string()))
            }
        }
    }

    /// Reads blocks up to the next packet, whose bytes go into `buffer`.
    pub(super) fn next<R: Read>(
        &mut self,
        source: &mut Source<R>,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Record>, ReadError> {
        loop {
            self.blocks += 1;
            let place = self.place();
            let Some(kind) = source.array_or_end::<4>("4 bytes of block type", &place)? else {
                return Ok(None);
            };
            if kind == SECTION {
                self.section(source)?;
                continue;
            }
            let at = source.position();
            let length = self.order.u32(source.array("4 bytes of block length", &place)?);
            self.check_length(source, at, length, FRAME)?;
            let body = length - FRAME;
            let record = match self.order.u32(kind) {
                INTERFACE => {
                    self.interface(source, buffer, body)?;
                    None
                }
                SIMPLE_PACKET => Some(self.simple_packet(source, buffer, body)?),
                kind @ (ENHANCED_PACKET | PACKET) => Some(self.packet(source, buffer, body, kind)?),
                _ => {
                    source.skip(u64::from(body), &place)?;
                    None
                }
            };
            self.trailer(source, length)?;
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    fn interface<R: Read>(&mut self, source: &mut Source<R>, buffer: &mut Vec<u8>, body: u32) -> Result<(), ReadError> {
        let (at, place) = (source.position(), self.place());
        if !(8..=MAX_RECORD).contains(&body) {
            let expected = format!("an interface's description of 8 to {MAX_RECORD} bytes");
            return Err(source.wrong(at, &place, &expected, &body.to_string()));
        }
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(source.wrong(at, &place, &format!("at most {MAX_INTERFACES} interfaces"), "one more"));
        }
        source.bytes(buffer, body as usize, &place)?;
        let mut interface = Interface {
            link: LinkType(self.order.u16([buffer[0], buffer[1]])),
            snaplen: self.order.word(buffer, 1),
            resolution: Resolution::MICROSECONDS,
            offset: 0,
        };
        let mut options = &buffer[8..];
        while options.len() >= 4 {
            let code = self.order.u16([options[0], options[1]]);
            let length = usize::from(self.order.u16([options[2], options[3]]));
            if code == 0 {
                break;
            }
            let Some(value) = options.get(4..4 + length) else {
                let at = at + u64::from(body) - options.len() as u64;
                let expected = format!("an option of at most {} bytes", options.len() - 4);
                return Err(source.wrong(at, &place, &expected, &length.to_string()));
            };
            match (code, value) {
                (OPTION_RESOLUTION, [resolution, ..]) => interface.resolution = Resolution(*resolution),
                (OPTION_OFFSET, [_, _, _, _, _, _, _, _, ..]) => {
                    let (low, high) = match self.order {
                        Order::Little => (self.order.word(value, 0), self.order.word(value, 1)),
                        Order::Big => (self.order.word(value, 1), self.order.word(value, 0)),
                    };
                    interface.offset = (u64::from(high) << 32 | u64::from(low)) as i64;
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or(&[]);
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// The interface that a packet names.
    fn named<R: Read>(&self, source: &Source<R>, at: u64, index: u32) -> Result<Interface, ReadError> {
        self.interfaces.get(index as usize).copied().ok_or_else(|| {
            let expected = match self.interfaces.len() {
                0 => "an interface's description before any packet".to_owned(),
                known => format!("an interface below {known}"),
            };
            source.wrong(at, &self.place(), &expected, &format!("interface {index}"))
        })
    }

    /// Reads a packet's bytes; `rest` is what the block has from here on, with padding and options.
    fn data<R: Read>(
        &self,
        source: &mut Source<R>,
        buffer: &mut Vec<u8>,
        (at, captured): (u64, u32),
        rest: u32,
    ) -> Result<(), ReadError> {
        let most = rest.min(MAX_RECORD);
        if captured > most {
            let expected = format!("a captured length of at most {most}");
            return Err(source.wrong(at, &self.place(), &expected, &captured.to_string()));
        }
        source.bytes(buffer, captured as usize, &self.place())?;
        source.skip(u64::from(rest - captured), &self.place())
    }

    /// A packet with its time: the usual block, or the obsolete one that it replaced.
    fn packet<R: Read>(
        &self,
        source: &mut Source<R>,
        buffer: &mut Vec<u8>,
        body: u32,
        kind: u32,
    ) -> Result<Record, ReadError> {
        let at = source.position();
        if body < 20 {
            return Err(source.wrong(at, &self.place(), "20 bytes of packet header", &format!("a body of {body}")));
        }
        let header = source.array::<20>("20 bytes of packet header", &self.place())?;
        let word = |index| self.order.word(&header, index);
        let index = if kind == PACKET { u32::from(self.order.u16([header[0], header[1]])) } else { word(0) };
        let interface = self.named(source, at, index)?;
        self.data(source, buffer, (at + 12, word(3)), body - 20)?;
        let ticks = u64::from(word(1)) << 32 | u64::from(word(2));
        let nanos = interface.resolution.nanos(ticks).min(i128::MAX as u128) as i128;
        let time = nanos.saturating_add(i128::from(interface.offset) * 1_000_000_000);
        Ok(Record {
            time: Some(time.clamp(0, i128::from(u64::MAX)) as u64),
            digits: interface.resolution.digits(),
            link: interface.link,
            wire_len: word(4),
        })
    }

    /// A packet without time, of the first interface.
    fn simple_packet<R: Read>(
        &self,
        source: &mut Source<R>,
        buffer: &mut Vec<u8>,
        body: u32,
    ) -> Result<Record, ReadError> {
        let at = source.position();
        if body < 4 {
            return Err(source.wrong(at, &self.place(), "4 bytes of packet length", &format!("a body of {body}")));
        }
        let interface = self.named(source, at, 0)?;
        let wire_len = self.order.u32(source.array("4 bytes of packet length", &self.place())?);
        let kept = if interface.snaplen == 0 { wire_len } else { wire_len.min(interface.snaplen) };
        self.data(source, buffer, (at, kept.min(body - 4)), body - 4)?;
        Ok(Record { time: None, digits: interface.resolution.digits(), link: interface.link, wire_len })
    }
}
