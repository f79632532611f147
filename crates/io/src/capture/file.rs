use super::headers::Around;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant, SystemTime};

/// A pcapng file with one section and one interface, in little-endian order.
pub(super) struct Writer<W: Write> {
    output: BufWriter<W>,
    /// The block being written; kept for its memory.
    block: Vec<u8>,
    flushed: Instant,
}

/// Bytes buffered at most.
const BUFFER: usize = 1 << 18;
/// What was written longer ago is flushed with the next packet.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Packets begin with their IP header.
const LINK_RAW: u16 = 101;
/// Times count nanoseconds: ten to the power of minus so much.
const RESOLUTION: u8 = 9;

const END_OF_OPTIONS: u16 = 0;
const APPLICATION: u16 = 4;
const TIME_RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

impl<W: Write> Writer<W> {
    /// Begins the file, so that an empty capture is one too.
    pub(super) fn begin(output: W, application: &str) -> io::Result<Writer<W>> {
        let output = BufWriter::with_capacity(BUFFER, output);
        let mut writer = Writer { output, block: Vec::new(), flushed: Instant::now() };
        writer.block(SECTION, |block| {
            block.extend(BYTE_ORDER.to_le_bytes());
            block.extend([1, 0, 0, 0]);
            // The section's length is not known beforehand.
            block.extend([0xff; 8]);
            option(block, APPLICATION, &application.as_bytes()[..application.len().min(1000)]);
            option(block, END_OF_OPTIONS, &[]);
        })?;
        writer.block(INTERFACE, |block| {
            block.extend(LINK_RAW.to_le_bytes());
            // Reserved, and no limit on a packet's length.
            block.extend([0; 6]);
            option(block, TIME_RESOLUTION, &[RESOLUTION]);
            option(block, END_OF_OPTIONS, &[]);
        })?;
        writer.flush()?;
        Ok(writer)
    }

    pub(super) fn packet(&mut self, around: &Around, parts: [&[u8]; 2]) -> io::Result<()> {
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        self.block(PACKET, |block| {
            block.extend(0_u32.to_le_bytes());
            block.extend(((time >> 32) as u32).to_le_bytes());
            block.extend((time as u32).to_le_bytes());
            let lengths = block.len();
            block.extend([0; 8]);
            let start = block.len();
            around.write(parts, block);
            let length = ((block.len() - start) as u32).to_le_bytes();
            block[lengths..lengths + 4].copy_from_slice(&length);
            block[lengths + 4..start].copy_from_slice(&length);
            pad(block);
            let direction = if around.outbound { OUTBOUND } else { INBOUND };
            option(block, FLAGS, &direction.to_le_bytes());
            option(block, END_OF_OPTIONS, &[]);
        })?;
        if self.flushed.elapsed() > FLUSH_AFTER { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.flushed = Instant::now();
        self.output.flush()
    }

    /// Writes a block: its type and its length stand before its body, and the length once more behind.
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let block = &mut self.block;
        block.clear();
        block.extend(kind.to_le_bytes());
        block.extend([0; 4]);
        body(block);
        let length = (block.len() as u32 + 4).to_le_bytes();
        block.extend(length);
        block[4..8].copy_from_slice(&length);
        self.output.write_all(block)
    }
}

fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    block.extend(code.to_le_bytes());
    block.extend((value.len() as u16).to_le_bytes());
    block.extend(value);
    pad(block);
}

/// Fills up to a multiple of four bytes, at which blocks begin.
fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}
