use crate::pcap::Captured;

/// What a packet's checksum field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// Nothing, which receivers accept.
    Zero,
    /// The sum over pseudo-header and packet.
    Complete,
    /// The sum over the pseudo-header alone, for a device to complete.
    Partial,
    /// Something else.
    Stale,
}

impl Captured {
    /// Whether a program with a raw socket made it, not the kernel module.
    pub(crate) fn is_from_raw_peer(&self) -> bool {
        self.ends[0] == u32::from_be_bytes([10, 77, 0, 1])
    }

    /// Compares the checksum field with what it should be.
    pub(crate) fn checksum(&self) -> Checksum {
        let mut pseudo: Vec<u8> = self.ends.iter().flat_map(|end| end.to_be_bytes()).collect();
        pseudo.extend([0, 6]);
        pseudo.extend((self.homa.len() as u16).to_be_bytes());
        let field = u16::from_be_bytes([self.homa[16], self.homa[17]]);
        let all = [&pseudo[..], &self.homa[..]].concat();
        if field == 0 {
            Checksum::Zero
        } else if ones_complement_sum(&all) == 0xffff {
            Checksum::Complete
        } else if ones_complement_sum(&pseudo) == field {
            Checksum::Partial
        } else {
            Checksum::Stale
        }
    }
}

fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let mut sum: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
