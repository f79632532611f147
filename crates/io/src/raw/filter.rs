//! The program by which the kernel gives a socket the packets of one Homa port only.

use socket2::SockFilter;

/// A program of Linux's classic packet filter. It sees IPv4 packets from the IP header on, and IPv6 packets from the
/// Homa header on, as raw sockets hand them up.
pub(super) fn for_port(port: u16, v6: bool) -> Vec<SockFilter> {
    const DEST_PORT: u32 = 2;
    let mut program = if v6 {
        vec![statement(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, DEST_PORT)]
    } else {
        let header_length = statement(libc::BPF_LDX | libc::BPF_B | libc::BPF_MSH, 0);
        vec![header_length, statement(libc::BPF_LD | libc::BPF_H | libc::BPF_IND, DEST_PORT)]
    };
    let equal = SockFilter::new((libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, 0, 1, u32::from(port));
    let (take, drop) = (statement(libc::BPF_RET, u32::MAX), statement(libc::BPF_RET, 0));
    program.extend([equal, take, drop]);
    program
}

fn statement(code: u32, value: u32) -> SockFilter {
    SockFilter::new(code as u16, 0, 0, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};

    /// What comes through the program. Any socket may have one, and this one needs no privilege.
    fn passed(port: u16, v6: bool, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (near, far) = Socket::pair(Domain::UNIX, Type::DGRAM, None).unwrap();
        far.attach_filter(&for_port(port, v6)).unwrap();
        far.set_nonblocking(true).unwrap();
        let far = std::os::unix::net::UnixDatagram::from(std::os::fd::OwnedFd::from(far));
        let mut passed = Vec::new();
        for packet in packets {
            near.send(packet).unwrap();
            let mut buffer = [0; 2048];
            if let Ok(length) = far.recv(&mut buffer) {
                passed.push(buffer[..length].to_vec());
            }
        }
        passed
    }

    fn homa(dest_port: u16) -> Vec<u8> {
        let mut packet = vec![0x80, 1, 0, 0, 9, 9, 9, 9];
        packet[2..4].copy_from_slice(&dest_port.to_be_bytes());
        packet.resize(1428, 7);
        packet
    }

    fn ipv4(words: u8, homa: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; usize::from(words) * 4];
        packet[0] = 0x40 | words;
        packet.extend_from_slice(homa);
        packet
    }

    #[test]
    fn ipv6_packets_for_the_port_pass_whole() {
        let packets = [homa(4000), homa(4001), homa(40_000), homa(0xa0f), vec![0, 1], vec![], homa(4000)];
        assert_eq!(passed(4000, true, &packets), [homa(4000), homa(4000)]);
        assert_eq!(passed(65_535, true, &[homa(65_535), homa(32_767)]), [homa(65_535)]);
    }

    #[test]
    fn ipv4_packets_for_the_port_pass_whatever_their_options() {
        let wanted = [ipv4(5, &homa(7)), ipv4(6, &homa(7)), ipv4(15, &homa(7))];
        let others = [ipv4(5, &homa(8)), ipv4(15, &homa(9)), ipv4(5, &[0, 7]), ipv4(5, &[]), vec![0x4f]];
        assert_eq!(passed(7, false, &[wanted.as_slice(), &others].concat()), wanted);
    }
}
