//! What is on the wire, seen by a plain raw socket.

use crate::common::namespace::enter;
use crate::common::*;
use crate::{bind_port, post};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::Read;
use std::time::Duration;

/// A plain raw socket of protocol 146, which gets a copy of everything.
fn observer(domain: Domain) -> Socket {
    let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(146))).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

#[test]
fn ip_headers_are_those_of_the_linux_module() {
    if !enter("wire::ip_headers_are_those_of_the_linux_module", "") {
        return;
    }
    let mut observer = observer(Domain::IPV4);
    // Bound to no address: the checksum needs the one that the route gives.
    let mut io = bind_port("0.0.0.0", 0);
    for priority in (0..8).chain([7, 6, 0]) {
        let to = "127.0.0.1:4000".parse().unwrap();
        post(&mut io, [data(to, priority, 1000, 0, 101, 5)]);
        let mut packet = [0; 2048];
        let length = observer.read(&mut packet).unwrap();
        assert_eq!(length, 20 + 56 + 101);
        let expected = [0x45, priority << 5, 0, length as u8, 0, 0, 0x40, 0, 64, 146];
        assert_eq!(packet[..10], expected, "version, TOS, length, id 0, DF, TTL, protocol");
        assert_eq!(packet[12..20], [127, 0, 0, 1, 127, 0, 0, 1]);
        let pseudo = [0, 6, 0, (length - 20) as u8];
        assert_eq!(sum(&[&packet[12..20], &pseudo, &packet[20..length]].concat()), 0xffff);
    }
}

#[test]
fn ipv6_checksums_are_right_too() {
    if !enter("wire::ipv6_checksums_are_right_too", "") || !have_ipv6() {
        return;
    }
    let mut observer = observer(Domain::IPV6);
    let mut io = bind_port("::", 0);
    post(&mut io, [short("[::1]:4000".parse().unwrap(), 77, 5)]);
    let mut packet = [0; 2048];
    let length = observer.read(&mut packet).unwrap();
    let mut pseudo = vec![0; 36];
    (pseudo[15], pseudo[31], pseudo[35]) = (1, 1, 0);
    pseudo.extend([0, 0, 0, 6]);
    pseudo[34..36].copy_from_slice(&(length as u16).to_be_bytes());
    assert_eq!(sum(&[&pseudo[..], &packet[..length]].concat()), 0xffff);
}

fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
