use std::path::Path;

const ETHERNET: u32 = 1;
const HOMA: u8 = 146;

/// A Homa packet and what its IP header said.
pub(crate) struct Captured {
    /// Addresses of source and destination.
    pub(crate) ends: [u32; 2],
    /// From the first Homa byte on, without Ethernet's padding.
    pub(crate) homa: Vec<u8>,
}

/// All Homa packets in one of the captures of `data/pcaps`.
pub(crate) fn homa_packets(name: &str) -> Vec<Captured> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/pcaps").join(name).with_extension("pcap");
    let file = std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    frames(&file).filter_map(homa_in_frame).collect()
}

/// The Ethernet frames of a little-endian pcap file.
fn frames(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    assert_eq!(u32_le(file, 0), 0xa1b2_c3d4, "magic number");
    assert_eq!(u32_le(file, 20), ETHERNET, "link type");
    let mut rest = &file[24..];
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (captured, original) = (u32_le(rest, 8), u32_le(rest, 12));
        assert_eq!(captured, original, "a frame was cut");
        let (frame, others) = rest[16..].split_at(captured as usize);
        rest = others;
        Some(frame)
    })
}

fn homa_in_frame(frame: &[u8]) -> Option<Captured> {
    let ip = &frame[14..];
    if frame[12..14] != [0x08, 0x00] || ip[9] != HOMA {
        return None;
    }
    let header_len = usize::from(ip[0] & 0xf) * 4;
    let total_len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    Some(Captured { ends: [u32_be(ip, 12), u32_be(ip, 16)], homa: ip[header_len..total_len].to_vec() })
}

fn u32_le(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u32_be(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
