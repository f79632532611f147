use super::config::Dress;
use super::wire::Packet;
use std::net::IpAddr;

/// Gives a packet the fields that only look like TCP's, and its bytes.
pub(super) fn dressed(mut packet: Packet, dress: Dress, ends: [IpAddr; 2]) -> Vec<u8> {
    if dress == Dress::Zero {
        return packet.encode();
    }
    packet.flags = 0x06;
    packet.urgent = 0xb97d;
    let mut bytes = packet.encode();
    let sum = checksum(ends, &bytes);
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// TCP's checksum of a packet whose checksum field is zero, with a pseudo-header that says protocol 6.
fn checksum(ends: [IpAddr; 2], packet: &[u8]) -> u16 {
    let mut pseudo = Vec::new();
    for end in ends {
        match end {
            IpAddr::V4(address) => pseudo.extend(address.octets()),
            IpAddr::V6(address) => pseudo.extend(address.octets()),
        }
    }
    pseudo.extend([0, 6]);
    pseudo.extend((packet.len() as u16).to_be_bytes());
    let words = |bytes: &[u8]| -> u32 {
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
    };
    let mut sum = words(&pseudo) + words(packet);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
