use crate::checksum::Sum;
use crate::socket::{Frame, Paths, RawAddr};
use std::net::{IpAddr, SocketAddr};

/// A Homa packet directly in an IP packet: whose header the kernel writes, and on IPv4 leaves on what it hands up.
pub(super) struct IpPacket {
    /// Whether the socket is of family IPv6.
    pub(super) v6: bool,
    /// This endpoint's Homa port.
    pub(super) port: u16,
}

/// Number of TCP, which the pseudo-header names: devices complete the sum as if it were.
const TCP: u8 = 6;
/// Where the checksum stands in a Homa header.
pub(crate) const CHECKSUM: std::ops::Range<usize> = 16..18;

impl Frame for IpPacket {
    /// Ports are none of the kernel's business; an IPv6 one would even be taken for a protocol.
    fn address(&self, to: SocketAddr) -> Option<(RawAddr, libc::socklen_t)> {
        let mut host = to;
        host.set_port(0);
        if to.is_ipv6() == self.v6 { RawAddr::encode(host, self.v6) } else { None }
    }

    /// Without a known source the field stays zero, which receivers accept.
    fn seal(&self, to: SocketAddr, paths: &Paths, header: &mut [u8], contents: &[u8]) {
        if let Some(source) = paths.get(to).source {
            let sum = checksum(source, to.ip(), header, contents);
            header[CHECKSUM].copy_from_slice(&sum);
        }
    }

    fn open<'a>(&self, from: SocketAddr, bytes: &'a [u8]) -> Option<(SocketAddr, &'a [u8])> {
        let packet = if self.v6 { bytes } else { strip_ipv4(bytes)? };
        let (source, dest) = ports(packet)?;
        if dest != self.port {
            return None;
        }
        let mut from = from;
        from.set_port(source);
        Some((from, packet))
    }

    /// Every raw socket of a host is told of the errors about all packets from it.
    fn blamed(&self, dest: SocketAddr, quoted: &[u8]) -> Option<SocketAddr> {
        let (source, port) = ports(quoted)?;
        let mut peer = dest;
        peer.set_port(port);
        (source == self.port).then_some(peer)
    }
}

/// Source and destination port.
fn ports(packet: &[u8]) -> Option<(u16, u16)> {
    let ports = packet.first_chunk::<4>()?;
    Some((u16::from_be_bytes([ports[0], ports[1]]), u16::from_be_bytes([ports[2], ports[3]])))
}

/// What an IPv4 packet holds, without what may follow it.
fn strip_ipv4(bytes: &[u8]) -> Option<&[u8]> {
    let start = bytes.first_chunk::<20>()?;
    let header = usize::from(start[0] & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([start[2], start[3]]));
    if start[0] >> 4 == 4 && header >= start.len() { bytes.get(header..total) } else { None }
}

/// The checksum of a packet whose `header` may hold an old one.
pub(crate) fn checksum(source: IpAddr, dest: IpAddr, header: &[u8], contents: &[u8]) -> [u8; 2] {
    let pseudo = Sum::pseudo_header(source, dest, TCP, header.len() + contents.len());
    let (before, after) = (&header[..CHECKSUM.start], &header[CHECKSUM.end..]);
    if after.len().is_multiple_of(2) {
        return pseudo.add(before).add(after).add(contents).finish();
    }
    // Control packets of odd length, which have no contents.
    pseudo.add(before).add(contents).add(after).finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::path::Path;

    const FRAME: IpPacket = IpPacket { v6: false, port: 4000 };

    fn ipv4(words: u8, homa: &[u8], padding: usize) -> Vec<u8> {
        let header = usize::from(words) * 4;
        let mut packet = vec![0; header];
        packet[0] = 0x40 | words;
        packet[2..4].copy_from_slice(&((header + homa.len()) as u16).to_be_bytes());
        packet.extend_from_slice(homa);
        packet.resize(packet.len() + padding, 0xee);
        packet
    }

    #[test]
    fn the_ip_header_and_what_follows_the_packet_are_stripped() {
        let homa = [0x80, 1, 0x0f, 0xa0, 5, 6, 7];
        let from = "10.0.0.1:0".parse().unwrap();
        let peer = "10.0.0.1:32769".parse().unwrap();
        for (words, padding) in [(5, 0), (5, 9), (15, 0), (6, 3)] {
            assert_eq!(FRAME.open(from, &ipv4(words, &homa, padding)), Some((peer, &homa[..])));
        }
    }

    #[test]
    fn what_is_no_packet_for_the_port_is_none() {
        let from = "10.0.0.1:0".parse().unwrap();
        let good = ipv4(5, &[0x80, 1, 0x0f, 0xa0, 5], 0);
        for length in 0..good.len() {
            assert_eq!(FRAME.open(from, &good[..length]), None, "cut to {length}");
        }
        let mut short_header = good.clone();
        short_header[0] = 0x44;
        let mut long_header = good.clone();
        long_header[0] = 0x4f;
        let mut version = good.clone();
        version[0] = 0x65;
        let mut total = good.clone();
        total[2..4].copy_from_slice(&19_u16.to_be_bytes());
        let mut port = good;
        port[23] += 1;
        for bad in [short_header, long_header, version, total, port] {
            assert_eq!(FRAME.open(from, &bad), None, "{bad:x?}");
        }
    }

    #[test]
    fn ipv6_packets_come_without_header() {
        let frame = IpPacket { v6: true, port: 4000 };
        let peer = "[fe80::1%2]:7".parse().unwrap();
        let packet = [0, 7, 0x0f, 0xa0, 1];
        assert_eq!(frame.open("[fe80::1%2]:0".parse().unwrap(), &packet), Some((peer, &packet[..])));
    }

    #[test]
    fn errors_about_others_packets_are_none_of_ours() {
        let dest = "10.0.0.9:0".parse().unwrap();
        assert_eq!(FRAME.blamed(dest, &[0x0f, 0xa0, 0, 9]), Some("10.0.0.9:9".parse().unwrap()));
        assert_eq!(FRAME.blamed(dest, &[0x0f, 0xa1, 0, 9]), None);
        assert_eq!(FRAME.blamed(dest, &[0x0f, 0xa0, 0]), None);
    }

    #[test]
    fn a_socket_sends_within_its_family_only() {
        assert!(FRAME.address("10.0.0.1:4000".parse().unwrap()).is_some());
        assert!(FRAME.address("[::1]:4000".parse().unwrap()).is_none());
        let v6 = IpPacket { v6: true, port: 1 };
        assert!(v6.address("10.0.0.1:4000".parse().unwrap()).is_none());
        let (address, length) = v6.address("[::1]:4000".parse().unwrap()).unwrap();
        assert_eq!(address.decode(length), Some("[::1]:0".parse().unwrap()));
    }

    /// What a field of a captured packet holds.
    #[derive(Debug, PartialEq, Eq)]
    enum Found {
        /// What we would have sent.
        Ours,
        /// The sum of the pseudo-header alone, which a device was to complete.
        Partial,
        Zero,
        Stale,
    }

    fn judge(packet: &[u8]) -> Found {
        let address =
            |at: usize| IpAddr::from(Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]));
        let (source, dest) = (address(12), address(16));
        let homa = strip_ipv4(packet).expect("a whole packet");
        let header = homarus_proto::wire::Header::parse(homa).expect("a Homa packet");
        let (header, contents) = homa.split_at(header.packet.packet_type().header_len());
        let [high, low] = Sum::pseudo_header(source, dest, TCP, homa.len()).finish();
        match [homa[16], homa[17]] {
            [0, 0] => Found::Zero,
            field if field == checksum(source, dest, header, contents) => Found::Ours,
            field if field == [!high, !low] => Found::Partial,
            _ => Found::Stale,
        }
    }

    /// The IP packets of protocol 146 in a capture of Ethernet frames.
    fn packets(name: &str) -> Vec<Vec<u8>> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/pcaps").join(name).with_extension("pcap");
        let file = std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let mut packets = Vec::new();
        let mut rest = &file[24..];
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            let (frame, after) = rest[16..].split_at(length);
            rest = after;
            if frame[12..14] == [8, 0] && frame[14 + 9] == 146 {
                packets.push(frame[14..].to_vec());
            }
        }
        packets
    }

    #[test]
    fn checksums_are_those_of_the_linux_module() {
        let complete = [
            "00_cold_first_contact_100B",
            "01_single_100B",
            "02_100KB_echo_grants",
            "04_sequential_100B_x4_piggyback_ack",
            "05_loss5pct_100KB",
            "07_lose_all_first_response_copies_10KB",
            "08_lose_all_first_request_copies_10KB",
            "10_blackhole_server_to_client_timeout",
            "11_first_contact_new_peer",
            "13_ack_overflow_12x100B_parallel",
            "14_busy_slow_server_40ms",
            "15_port_unreachable",
        ];
        for name in complete {
            let packets = packets(name);
            assert!(!packets.is_empty());
            for (at, packet) in packets.iter().enumerate() {
                assert_eq!(judge(packet), Found::Ours, "{name}, packet {at}");
            }
        }
        for (at, packet) in packets("17_gso20000_veth_100KB").iter().enumerate() {
            let data = packet[20 + 11] == 0x10;
            assert_eq!(judge(packet), if data { Found::Stale } else { Found::Ours }, "segments, packet {at}");
        }
        let partial = [
            "20_host_to_vm_100B",
            "21_host_to_vm_100KB",
            "22_vm_client_to_host_server",
            "23_host_no_raw_socket_icmp_proto_unreachable",
        ];
        for name in partial {
            for (at, packet) in packets(name).iter().enumerate() {
                let by_a_program = packet[12..16] == [10, 77, 0, 1];
                let expected = if by_a_program { Found::Zero } else { Found::Partial };
                assert_eq!(judge(packet), expected, "{name}, packet {at}");
            }
        }
    }

    #[test]
    fn packets_of_odd_length_are_summed_as_one_row_of_bytes() {
        let [source, dest] = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().unwrap());
        let header: Vec<u8> = (0..33).collect();
        let mut zeroed = header.clone();
        zeroed[CHECKSUM].fill(0);
        let expected = Sum::pseudo_header(source, dest, TCP, 33).add(&zeroed).finish();
        assert_eq!(checksum(source, dest, &header, &[]), expected);
    }
}
