//! Capture files, read as a stream: memory is bounded by the longest record that is accepted.

mod pcap;
mod pcapng;
mod source;

use crate::FileError;
use crate::net::LinkType;
use pcap::Pcap;
use pcapng::PcapNg;
use source::Source;
use std::io::{self, Read};
use thiserror::Error;

/// Most bytes that one packet, or one block that has to be understood, may have; longer ones count as damage. Captures
/// hold at most 262,144 bytes a packet (libpcap's limit).
pub const MAX_RECORD: u32 = 1 << 20;

/// Why there is no next frame.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file is not what it should be.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system failed to read.
    #[error("reading failed after byte {at}: {source}")]
    Io {
        /// Bytes that were read.
        at: u64,
        /// The reason.
        source: io::Error,
    },
}

/// The kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// libpcap's, times in microseconds or nanoseconds.
    Pcap,
    /// Sections of blocks.
    PcapNg,
}

impl Format {
    /// `pcap` or `pcapng`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Pcap => "pcap",
            Format::PcapNg => "pcapng",
        }
    }
}

/// A frame of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// From 1, as Wireshark counts.
    pub number: u64,
    /// Nanoseconds since 1970, if the file says.
    pub time: Option<u64>,
    /// Digits after the point of the seconds that the file knows.
    pub digits: usize,
    /// How to read the first bytes.
    pub link: LinkType,
    /// The bytes that were captured.
    pub data: &'a [u8],
    /// Bytes that the frame had on the link; at least those captured.
    pub wire_len: usize,
}

/// A capture being read.
#[derive(Debug)]
pub struct Capture<R> {
    source: Source<R>,
    kind: Kind,
    frames: u64,
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum Kind {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

/// What a record was, apart from its bytes.
struct Record {
    time: Option<u64>,
    digits: usize,
    link: LinkType,
    wire_len: u32,
}

impl<R: Read> Capture<R> {
    /// Reads the first header; `reader` needs no buffer of its own.
    pub fn new(reader: R) -> Result<Capture<R>, ReadError> {
        let mut source = Source::new(reader);
        let magic = source.array::<4>("the file's first 4 bytes", "file header")?;
        let kind = match magic {
            pcapng::SECTION => Kind::PcapNg(PcapNg::begin(&mut source)?),
            magic => Kind::Pcap(Pcap::begin(magic, &mut source)?),
        };
        Ok(Capture { source, kind, frames: 0, buffer: Vec::new() })
    }

    /// The kind of file.
    pub fn format(&self) -> Format {
        match self.kind {
            Kind::Pcap(_) => Format::Pcap,
            Kind::PcapNg(_) => Format::PcapNg,
        }
    }

    /// Bytes read so far.
    pub fn position(&self) -> u64 {
        self.source.position()
    }

    /// The next frame, or `None` at the end. After an error the file cannot be read further.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        let record = match &mut self.kind {
            Kind::Pcap(pcap) => pcap.next(&mut self.source, self.frames + 1, &mut self.buffer)?,
            Kind::PcapNg(pcapng) => pcapng.next(&mut self.source, &mut self.buffer)?,
        };
        let Some(record) = record else {
            return Ok(None);
        };
        self.frames += 1;
        Ok(Some(Frame {
            number: self.frames,
            time: record.time,
            digits: record.digits,
            link: record.link,
            data: &self.buffer,
            wire_len: self.buffer.len().max(record.wire_len as usize),
        }))
    }
}

/// Integers in the byte order of the machine that wrote the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Big,
    Little,
}

impl Order {
    fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Order::Big => u16::from_be_bytes(bytes),
            Order::Little => u16::from_le_bytes(bytes),
        }
    }

    fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Order::Big => u32::from_be_bytes(bytes),
            Order::Little => u32::from_le_bytes(bytes),
        }
    }

    /// The `index`th 32-bit word of a header.
    fn word(self, header: &[u8], index: usize) -> u32 {
        let at = 4 * index;
        self.u32([header[at], header[at + 1], header[at + 2], header[at + 3]])
    }
}
