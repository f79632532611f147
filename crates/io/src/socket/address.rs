use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A socket address as the kernel reads and writes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union RawAddr {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl RawAddr {
    /// No address: room for the kernel to write one.
    pub(crate) const EMPTY: RawAddr = RawAddr {
        v6: libc::sockaddr_in6 {
            sin6_family: 0,
            sin6_port: 0,
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
            sin6_scope_id: 0,
        },
    };
    /// Bytes of room in it.
    pub(crate) const CAPACITY: libc::socklen_t = size_of::<RawAddr>() as libc::socklen_t;

    /// `addr`, which has been normalised, for a socket of family IPv4, or IPv6 if `v6`, and its length.
    /// `None` if such a socket cannot send there.
    pub(crate) fn encode(addr: SocketAddr, v6: bool) -> Option<(RawAddr, libc::socklen_t)> {
        let addr = match (addr, v6) {
            (SocketAddr::V4(addr), false) => {
                let raw = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: addr.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(addr.ip().octets()) },
                    sin_zero: [0; 8],
                };
                let len = size_of::<libc::sockaddr_in>();
                return Some((RawAddr { v4: raw }, len as libc::socklen_t));
            }
            (SocketAddr::V4(addr), true) => SocketAddrV6::new(addr.ip().to_ipv6_mapped(), addr.port(), 0, 0),
            (SocketAddr::V6(addr), true) => addr,
            (SocketAddr::V6(_), false) => return None,
        };
        let raw = libc::sockaddr_in6 {
            sin6_family: libc::AF_INET6 as libc::sa_family_t,
            sin6_port: addr.port().to_be(),
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: addr.ip().octets() },
            sin6_scope_id: addr.scope_id(),
        };
        Some((RawAddr { v6: raw }, size_of::<libc::sockaddr_in6>() as libc::socklen_t))
    }

    /// The address that the kernel wrote, normalised; `None` if it wrote none.
    pub(crate) fn decode(&self, len: libc::socklen_t) -> Option<SocketAddr> {
        if (len as usize) < size_of::<libc::sa_family_t>() {
            return None;
        }
        // SAFETY: both variants begin with the family and consist of integers, for which every bit pattern is
        // valid; all bytes were initialised in `EMPTY` or `encode`.
        let (family, v4, v6) = unsafe { (i32::from(self.v4.sin_family), self.v4, self.v6) };
        match family {
            libc::AF_INET if len as usize >= size_of::<libc::sockaddr_in>() => {
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(v4.sin_port))))
            }
            libc::AF_INET6 if len as usize >= size_of::<libc::sockaddr_in6>() => {
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let addr = SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), 0, v6.sin6_scope_id);
                Some(normalise(SocketAddr::V6(addr)))
            }
            _ => None,
        }
    }
}

/// One form for each peer: an IPv4 address mapped into IPv6 becomes IPv4, and the flow label, which does not
/// identify anybody, is cleared.
pub(crate) fn normalise(addr: SocketAddr) -> SocketAddr {
    let SocketAddr::V6(v6) = addr else {
        return addr;
    };
    match v6.ip().to_ipv4_mapped() {
        Some(ip) => SocketAddr::V4(SocketAddrV4::new(ip, v6.port())),
        None => SocketAddr::V6(SocketAddrV6::new(*v6.ip(), v6.port(), 0, v6.scope_id())),
    }
}

/// Bytes of IP and UDP header in a datagram to `ip`.
pub(crate) fn udp_overhead(ip: IpAddr) -> usize {
    if ip.is_ipv4() { 20 + 8 } else { 40 + 8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(addr: &str, v6: bool) -> Option<SocketAddr> {
        let (raw, len) = RawAddr::encode(addr.parse().unwrap(), v6)?;
        raw.decode(len)
    }

    #[test]
    fn addresses_survive_the_kernels_form() {
        assert_eq!(round_trip("10.1.2.3:4567", false), Some("10.1.2.3:4567".parse().unwrap()));
        assert_eq!(round_trip("10.1.2.3:4567", true), Some("10.1.2.3:4567".parse().unwrap()));
        assert_eq!(round_trip("[fe80::1%3]:80", true), Some("[fe80::1%3]:80".parse().unwrap()));
        assert_eq!(round_trip("[::1]:80", false), None);
        assert_eq!(RawAddr::EMPTY.decode(0), None);
        assert_eq!(RawAddr::EMPTY.decode(RawAddr::CAPACITY), None);
    }

    #[test]
    fn mapped_addresses_are_one_peer() {
        let mapped = "[::ffff:10.1.2.3]:9".parse().unwrap();
        assert_eq!(normalise(mapped), "10.1.2.3:9".parse().unwrap());
    }
}
