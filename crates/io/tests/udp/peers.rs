//! Many peers, and peers under several names.

use crate::common::*;
use homarus_io::{PacketIo, UdpConfig};
use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

const PEERS: u32 = 5000;

fn loopback(peer: u32, port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from(0x7f01_0000 + peer), port))
}

#[test]
fn sends_to_thousands_of_peers() {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let port = socket.local_addr().unwrap().port();
    let mut io = bind("127.0.0.1", UdpConfig::default());
    let mut buffer = vec![0; 1 << 16];
    for chunk in 0..PEERS / 50 {
        let peers = chunk * 50..(chunk + 1) * 50;
        let batch: Vec<_> = peers
            .flat_map(|peer| (0..2).map(move |part| short(loopback(peer, port), 20, u64::from(peer * 2 + part))))
            .collect();
        send_all(&mut io, &batch);
        for packets in batch.chunks(2) {
            let length = socket.recv(&mut buffer).unwrap();
            assert_eq!(buffer[..length], image(packets));
        }
    }
    assert_eq!(io.counters().entries_sent, u64::from(PEERS));
}

#[test]
fn receives_from_thousands_of_peers() {
    let mut io = bind("127.0.0.1", UdpConfig::default());
    let mut expected = HashSet::new();
    let mut came = HashSet::new();
    for peer in 0..PEERS / 2 {
        let socket = UdpSocket::bind(loopback(peer, 0)).unwrap();
        socket.send_to(&peer.to_be_bytes(), io.local_addr()).unwrap();
        expected.insert((socket.local_addr().unwrap(), peer.to_be_bytes().to_vec()));
        if peer % 100 == 99 {
            let missing = expected.len() - came.len();
            for item in recv_until(&mut io, |items| items.len() >= missing) {
                let Item::Datagram(from, bytes) = item else { panic!("unexpected {item:?}") };
                came.insert((from, bytes));
            }
        }
    }
    assert_eq!(came, expected);
}

#[test]
fn an_ipv6_socket_has_ipv4_peers() {
    if !have_ipv6() {
        return;
    }
    let mut both = bind("::", UdpConfig::default());
    let mut peer = bind("127.0.0.1", UdpConfig::default());
    let at = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), both.local_addr().port());
    send_all(&mut peer, &[short(at, 10, 1)]);
    let items = recv_until(&mut both, |items| !items.is_empty());
    assert_eq!(items, [Item::Datagram(peer.local_addr(), image(&[short(at, 10, 1)]))]);

    let Item::Datagram(from, _) = items[0] else { unreachable!() };
    let mapped = SocketAddr::new(Ipv4Addr::LOCALHOST.to_ipv6_mapped().into(), from.port());
    let back = [short(from, 10, 2), short(mapped, 10, 3)];
    send_all(&mut both, &back);
    let items = recv_until(&mut peer, |items| bytes_in(items) == image(&back).len());
    assert!(items.iter().all(|item| matches!(item, Item::Datagram(from, _) if *from == at)));
}

#[test]
fn an_ipv4_socket_says_that_it_cannot_reach_ipv6() {
    let mut io = bind("127.0.0.1", UdpConfig::default());
    let mut peer = bind("127.0.0.1", UdpConfig::default());
    let elsewhere = "[2001:db8::1]:7".parse().unwrap();
    let batch = [short(peer.local_addr(), 5, 1), short(elsewhere, 5, 2), short(peer.local_addr(), 5, 3)];
    send_all(&mut io, &batch);
    assert_eq!(recv_until(&mut peer, |items| items.len() == 2).len(), 2);
    let why = homarus_proto::Unreachable::Host;
    assert_eq!(recv_now(&mut io), [Item::Unreachable(elsewhere, why)]);
    assert_eq!(io.counters().unroutable, 1);
}
