use crate::kernel::wire::Packet;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

/// A captured conversation.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The file's name without its ending.
    pub name: String,
    /// What was captured, in order.
    pub frames: Vec<Frame>,
}

/// One frame of a capture.
#[derive(Clone, Debug)]
pub struct Frame {
    /// When, after the first.
    pub at: Duration,
    /// Source.
    pub from: Ipv4Addr,
    /// Destination.
    pub to: Ipv4Addr,
    /// What it carries.
    pub content: Content,
}

/// What a frame carries.
#[derive(Clone, Debug)]
pub enum Content {
    /// A Homa packet: its bytes, and what they say.
    Homa(Vec<u8>, Packet),
    /// ICMP: destination unreachable, with its code.
    Unreachable(u8),
}

impl Frame {
    /// The Homa packet, if it is one.
    pub fn homa(&self) -> Option<&Packet> {
        match &self.content {
            Content::Homa(_, packet) => Some(packet),
            Content::Unreachable(_) => None,
        }
    }
}

impl Capture {
    /// Reads one of the repository's captures: pcap with microseconds, Ethernet, IPv4. Panics with a reason if it is
    /// something else.
    pub fn read(name: &str) -> Capture {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/pcaps").join(name).with_extension("pcap");
        let file = std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        assert_eq!(little(&file, 0), 0xa1b2_c3d4, "{name}: expected a pcap file with microseconds, little-endian");
        assert_eq!(little(&file, 20), 1, "{name}: expected Ethernet");
        let (mut at, mut frames, mut first) = (24, Vec::new(), None);
        while at < file.len() {
            let time = Duration::new(u64::from(little(&file, at)), little(&file, at + 4) * 1_000);
            let length = little(&file, at + 8) as usize;
            let frame = &file[at + 16..at + 16 + length];
            at += 16 + length;
            let began = *first.get_or_insert(time);
            frames.extend(read_frame(time - began, frame));
        }
        Capture { name: name.to_owned(), frames }
    }
}

fn read_frame(at: Duration, frame: &[u8]) -> Option<Frame> {
    let ip = frame.get(14..).filter(|_| frame[12..14] == [0x08, 0x00])?;
    let header = usize::from(ip[0] & 0xf) * 4;
    // Ethernet pads short frames; only the IP header knows where the packet ends.
    let body = &ip[header..usize::from(u16::from_be_bytes([ip[2], ip[3]]))];
    let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
    let content = match (ip[9], body) {
        (146, _) => {
            let packet = Packet::decode(body).unwrap_or_else(|why| panic!("at {at:?}: {why:?}"));
            Content::Homa(body.to_vec(), packet)
        }
        (1, [3, code, ..]) => Content::Unreachable(*code),
        _ => return None,
    };
    Some(Frame { at, from: address(12), to: address(16), content })
}

fn little(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
