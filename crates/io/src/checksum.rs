//! The Internet's checksum (RFC 1071), over what TCP, UDP and IPv4 take it over.

use std::net::IpAddr;

/// A sum of 16-bit words in ones' complement, in this machine's byte order: the bytes of the result are the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// The pseudo-header of a transport packet of `length` bytes. Without both ends in one family, nothing.
    pub(crate) fn pseudo_header(source: IpAddr, dest: IpAddr, protocol: u8, length: usize) -> Sum {
        let length = (length as u32).to_be_bytes();
        let sum = match (source, dest) {
            (IpAddr::V4(source), IpAddr::V4(dest)) => Sum::default().add(&source.octets()).add(&dest.octets()),
            (IpAddr::V6(source), IpAddr::V6(dest)) => Sum::default().add(&source.octets()).add(&dest.octets()),
            _ => Sum::default(),
        };
        sum.add(&length).add(&[0, protocol])
    }

    /// Adds bytes. All but the last that are added must be even in number.
    pub(crate) fn add(self, bytes: &[u8]) -> Sum {
        let mut sum = self.0;
        let mut words = bytes.chunks_exact(4);
        for word in &mut words {
            sum += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        }
        let mut rest = [0; 4];
        rest[..words.remainder().len()].copy_from_slice(words.remainder());
        Sum(sum + u64::from(u32::from_ne_bytes(rest)))
    }

    /// The checksum as it stands in a packet.
    pub(crate) fn finish(self) -> [u8; 2] {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        (!(sum as u16)).to_ne_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_header_of_the_standard() {
        let header = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(Sum::default().add(&header).finish(), [0xb8, 0x61]);
    }

    #[test]
    fn a_packet_with_its_checksum_sums_to_nothing() {
        for length in [1, 2, 3, 4, 5, 99, 1424] {
            let mut packet = vec![0; length + 2];
            packet[2..].iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 37) as u8);
            let checksum = Sum::default().add(&packet).finish();
            packet[..2].copy_from_slice(&checksum);
            assert_eq!(Sum::default().add(&packet[..2]).add(&packet[2..]).finish(), [0, 0], "{length}");
        }
    }
}
