//! The Internet checksum, of Homa's TCP-like header and of IP and UDP.

use super::Ip;

/// What a checksum field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// Nothing, which receivers accept.
    Zero,
    /// The right sum.
    Complete,
    /// The sum over the pseudo-header alone: the device completes it after the point of capture.
    Partial,
    /// Something else.
    Wrong,
    /// The packet was cut, or its sum does not count: a segment that a device cut, or a packet inside UDP.
    Unchecked,
}

impl Checksum {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Checksum::Zero => "zero",
            Checksum::Complete => "complete",
            Checksum::Partial => "partial",
            Checksum::Wrong => "wrong",
            Checksum::Unchecked => "unchecked",
        }
    }
}

/// The ones' complement sum of bytes, as one word.
pub(crate) fn fold(bytes: &[u8], start: u64) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let sum: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    let mut sum = start + sum + rest.first().map_or(0, |last| u64::from(*last) << 8);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// Judges the field of a whole segment: `bytes` are all its bytes, `field` is what its checksum field holds.
pub(crate) fn judge(ip: &Ip<'_>, protocol: u8, bytes: &[u8], field: u16) -> Checksum {
    let pseudo = ip.pseudo_sum(protocol, bytes.len());
    if field == 0 {
        Checksum::Zero
    } else if fold(bytes, pseudo) == 0xffff {
        Checksum::Complete
    } else if pseudo == u64::from(field) {
        Checksum::Partial
    } else {
        Checksum::Wrong
    }
}
