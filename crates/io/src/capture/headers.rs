use crate::checksum::Sum;
use crate::raw;
use homarus_proto::Framing;
use std::net::{IpAddr, SocketAddr};

/// What is known of a packet besides its contents.
pub(super) struct Around {
    pub(super) source: SocketAddr,
    pub(super) dest: SocketAddr,
    pub(super) framing: Framing,
    pub(super) priority: u8,
    /// Whether it was sent here, not received.
    pub(super) outbound: bool,
}

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const IPV4_HEADER: usize = 20;
const TTL: u8 = 64;
/// Most that the length in an IP header can say.
const LONGEST: usize = 65_535;

impl Around {
    /// Appends the IP packet whose Homa part is `parts`, one after the other; of what is too long for one, the
    /// beginning.
    pub(super) fn write(&self, parts: [&[u8]; 2], out: &mut Vec<u8>) {
        let [first, second] = parts;
        let second = &second[..second.len().min(self.room().saturating_sub(first.len()))];
        let homa = first.len() + second.len();
        match self.framing {
            Framing::Udp => {
                self.write_ip(UDP, UDP_HEADER + homa, out);
                let start = out.len();
                out.extend_from_slice(&self.source.port().to_be_bytes());
                out.extend_from_slice(&self.dest.port().to_be_bytes());
                out.extend_from_slice(&((UDP_HEADER + homa) as u16).to_be_bytes());
                out.extend_from_slice(&[0, 0]);
                out.extend_from_slice(first);
                out.extend_from_slice(second);
                let pseudo = Sum::pseudo_header(self.source.ip(), self.dest.ip(), UDP, UDP_HEADER + homa);
                let sum = match pseudo.add(&out[start..]).finish() {
                    // Zero means that there is none.
                    [0, 0] => [0xff, 0xff],
                    sum => sum,
                };
                out[start + 6..start + 8].copy_from_slice(&sum);
            }
            Framing::Ip => {
                self.write_ip(raw::HOMA as u8, homa, out);
                let start = out.len();
                out.extend_from_slice(first);
                // What is received has its checksum, and what is sent gets it from the driver.
                if self.outbound && first.len() >= raw::CHECKSUM.end {
                    let sum = raw::checksum(self.source.ip(), self.dest.ip(), first, second);
                    out[start..][raw::CHECKSUM].copy_from_slice(&sum);
                }
                out.extend_from_slice(second);
            }
        }
    }

    /// Most bytes of Homa packet that one IP packet holds. IPv6 does not count its own header.
    fn room(&self) -> usize {
        let ip = if self.dest.is_ipv4() { IPV4_HEADER } else { 0 };
        let udp = if self.framing == Framing::Udp { UDP_HEADER } else { 0 };
        LONGEST - ip - udp
    }

    fn write_ip(&self, protocol: u8, length: usize, out: &mut Vec<u8>) {
        let class = self.priority.min(7) << 5;
        let (source, dest) = (self.source.ip(), self.dest.ip());
        let (IpAddr::V4(source), IpAddr::V4(dest)) = (source, dest) else {
            out.extend_from_slice(&[0x60 | class >> 4, class << 4, 0, 0]);
            out.extend_from_slice(&(length as u16).to_be_bytes());
            out.extend_from_slice(&[protocol, TTL]);
            out.extend_from_slice(&octets_v6(source));
            out.extend_from_slice(&octets_v6(dest));
            return;
        };
        let start = out.len();
        let [high, low] = ((IPV4_HEADER + length) as u16).to_be_bytes();
        // DF, as Homa sets it.
        out.extend_from_slice(&[0x45, class, high, low, 0, 0, 0x40, 0, TTL, protocol, 0, 0]);
        out.extend_from_slice(&source.octets());
        out.extend_from_slice(&dest.octets());
        let sum = Sum::default().add(&out[start..]).finish();
        out[start + 10..start + 12].copy_from_slice(&sum);
    }
}

fn octets_v6(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(source: &str, dest: &str, framing: Framing, parts: [&[u8]; 2]) -> Vec<u8> {
        let [source, dest] = [source, dest].map(|addr| addr.parse().expect("address"));
        let mut out = Vec::new();
        Around { source, dest, framing, priority: 6, outbound: true }.write(parts, &mut out);
        out
    }

    #[test]
    fn udp_over_ipv4() {
        let bytes = packet("10.0.0.1:258", "10.0.0.2:4000", Framing::Udp, [b"abc", b"de"]);
        let ip = [0x45, 0xc0, 0, 33, 0, 0, 0x40, 0, 64, 17, 0x26, 0x0a, 10, 0, 0, 1, 10, 0, 0, 2];
        assert_eq!(bytes[..20], ip);
        assert_eq!(bytes[20..26], [1, 2, 0x0f, 0xa0, 0, 13]);
        assert_eq!(&bytes[28..], b"abcde");
        let pseudo = Sum::pseudo_header([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), UDP, 13);
        assert_eq!(pseudo.add(&bytes[20..]).finish(), [0, 0]);
    }

    #[test]
    fn homa_over_ipv6() {
        let header = [7; 28];
        let bytes = packet("[::1]:1", "[::2]:2", Framing::Ip, [&header, b"x"]);
        assert_eq!(bytes[..8], [0x6c, 0, 0, 0, 0, 29, 146, 64]);
        assert_eq!((bytes[23], bytes[39]), (1, 2));
        assert_eq!((&bytes[40..56], bytes[68]), (&header[..16], b'x'));
        let [source, dest] = ["::1", "::2"].map(|ip| ip.parse().expect("address"));
        assert_eq!(Sum::pseudo_header(source, dest, 6, 29).add(&bytes[40..]).finish(), [0, 0]);
    }

    #[test]
    fn what_no_ip_packet_holds_is_cut() {
        let bytes = packet("10.0.0.1:1", "10.0.0.2:2", Framing::Udp, [b"abc", &vec![0; 100_000]]);
        assert_eq!(bytes.len(), LONGEST);
        assert_eq!(usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), bytes.len());
    }
}
