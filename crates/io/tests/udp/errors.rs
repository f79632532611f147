//! What the kernel refuses and what the network reports.

use crate::common::*;
use homarus_io::{PacketIo, UdpConfig, UdpIo};
use homarus_proto::{Payload, Transmit, Unreachable};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

/// An address where nothing listens.
fn dead_end(ip: &str) -> SocketAddr {
    bind(ip, UdpConfig::default()).local_addr()
}

fn port_unreachable(ip: &str) {
    let mut io = bind(ip, UdpConfig::default());
    let dead = dead_end(ip);
    send_all(&mut io, &[short(dead, 100, 1)]);
    let items = recv_until(&mut io, |items| !items.is_empty());
    assert_eq!(items, [Item::Unreachable(dead, Unreachable::Port)]);
    assert_eq!(recv_now(&mut io), []);
}

#[test]
fn closed_port_is_reported() {
    port_unreachable("127.0.0.1");
    if have_ipv6() {
        port_unreachable("::1");
    }
}

#[test]
fn closed_port_of_a_mapped_peer_is_reported() {
    if !have_ipv6() {
        return;
    }
    let mut io = bind("::", UdpConfig::default());
    let dead = dead_end("127.0.0.1");
    send_all(&mut io, &[short(dead, 100, 1)]);
    let items = recv_until(&mut io, |items| !items.is_empty());
    assert_eq!(items, [Item::Unreachable(dead, Unreachable::Port)]);
}

/// On loopback the ICMP error is there before the system call returns, so that each packet to the closed port
/// makes a later call fail.
#[test]
fn errors_about_one_peer_lose_no_packet_of_another() {
    for config in [UdpConfig::default(), UdpConfig { gso: false, coalesce: false, ..UdpConfig::default() }] {
        let mut io = bind("127.0.0.1", config.clone());
        let mut peer = bind("127.0.0.1", config);
        let (to, dead) = (peer.local_addr(), dead_end("127.0.0.1"));
        let mut batch = Vec::new();
        let mut expected = Vec::new();
        for id in 0..2000 {
            batch.push(short(dead, 10, id));
            for part in 0..id % 3 {
                let packet = short(to, 50, id * 3 + part);
                expected.extend(image(std::slice::from_ref(&packet)));
                batch.push(packet);
            }
        }
        let mut came = Vec::new();
        let mut reports = 0;
        for part in batch.chunks(64) {
            send_all(&mut io, part);
            send_all(&mut peer, &[short(io.local_addr(), 0, 1)]);
            let items = recv_until(&mut io, |items| items.iter().any(|item| matches!(item, Item::Datagram(..))));
            reports += items.iter().filter(|item| **item == Item::Unreachable(dead, Unreachable::Port)).count();
            came.extend(recv_now(&mut peer).into_iter().flat_map(|item| match item {
                Item::Datagram(_, bytes) => bytes,
                other => panic!("unexpected {other:?}"),
            }));
        }
        assert!(came == expected, "{} bytes came of {}", came.len(), expected.len());
        assert!(reports > 0);
        assert!(io.counters().deferred_errors > 0);
        assert_eq!(io.counters().unroutable, 0);
    }
}

#[test]
fn a_full_receiver_does_not_stop_the_sender() {
    let mut io = bind("127.0.0.1", UdpConfig { max_mtu: 1500, ..UdpConfig::default() });
    let small = UdpConfig { receive_buffer: 1 << 16, ..UdpConfig::default() };
    let mut peer = bind("127.0.0.1", small);
    let to = peer.local_addr();
    let batch: Vec<_> = (0..5000).map(|part| data(to, 3, 5_000_000, part * 1000, 1000, 1)).collect();
    assert_eq!(io.send(&batch).unwrap(), batch.len());
    let came = bytes_in(&recv_now(&mut peer));
    assert!(came > 0 && came < image(&batch).len(), "{came} bytes fitted");
    assert!(came >= peer.receive_capacity() as usize, "{came} bytes fitted");
}

#[test]
fn refused_segmentation_is_given_up_for_good() {
    let mut io = bind("127.0.0.1", UdpConfig { max_mtu: 1500, ..UdpConfig::default() });
    if !io.uses_gso() {
        println!("SKIPPED: this kernel has no UDP_SEGMENT");
        return;
    }
    // The kernel segments no datagrams without checksums.
    let one: libc::c_int = 1;
    // SAFETY: `one` outlives the call.
    let result = unsafe {
        let len = size_of_val(&one) as libc::socklen_t;
        libc::setsockopt(io.as_raw_fd(), libc::SOL_SOCKET, libc::SO_NO_CHECK, (&raw const one).cast(), len)
    };
    assert_eq!(result, 0);
    let mut peer = bind("127.0.0.1", UdpConfig::default());
    let to = peer.local_addr();
    for round in 1..=2 {
        let batch: Vec<_> = (0..100).map(|part| data(to, 3, 100_000, part * 1000, 1000, round)).collect();
        send_all(&mut io, &batch);
        let items = recv_until(&mut peer, |items| items.len() >= 100);
        assert_eq!(items.len(), 100);
        for (item, packet) in items.iter().zip(&batch) {
            assert_eq!(*item, Item::Datagram(io.local_addr(), image(std::slice::from_ref(packet))));
        }
        assert!(!io.uses_gso());
        assert_eq!(io.counters().gso_refused, 1);
        assert_eq!(io.counters().packets_sent, 100 * round);
        assert_eq!(recv_now(&mut io), []);
    }
}

#[test]
fn oversized_packets_are_reported_and_dropped() {
    let mut io = bind("127.0.0.1", UdpConfig::default());
    let mut peer = bind("127.0.0.1", UdpConfig::default());
    let to = peer.local_addr();
    let huge = |length| Transmit::new(to, 1, &[0; 56], Payload::Phantom(length));
    let most = 65_507 - 56;
    send_all(&mut io, &[huge(most), huge(most + 1), huge(1_000_000), short(to, 1, 1)]);
    let items = recv_until(&mut peer, |items| items.len() >= 2);
    assert_eq!(items[0], Item::Datagram(io.local_addr(), vec![0; 65_507]));
    assert_eq!(items[1], Item::Datagram(io.local_addr(), image(&[short(to, 1, 1)])));
    assert_eq!(items.len(), 2);
    assert_eq!(io.counters().oversized, 2);
    let reports = recv_until(&mut io, |items| !items.is_empty());
    assert_eq!(reports, [Item::PathMtu(to, 65_535)]);
}

#[test]
fn a_taken_address_is_an_error() {
    let io = bind("127.0.0.1", UdpConfig::default());
    let error = UdpIo::bind(io.local_addr(), UdpConfig::default()).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}

#[test]
fn an_mtu_out_of_range_is_an_error() {
    for max_mtu in [0, 199, 65_536] {
        let config = UdpConfig { max_mtu, ..UdpConfig::default() };
        let error = UdpIo::bind("127.0.0.1:0".parse().unwrap(), config).err().unwrap();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
}

#[test]
fn datagrams_of_every_length_are_handed_up() {
    let mut io = bind("127.0.0.1", UdpConfig::default());
    let plain = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [0, 1, 1500, 65_507, 0] {
        plain.send_to(&vec![9; length], io.local_addr()).unwrap();
        let items = recv_until(&mut io, |items| !items.is_empty());
        assert_eq!(items, [Item::Datagram(plain.local_addr().unwrap(), vec![9; length])]);
    }
}

#[test]
fn what_a_peer_has_sent_counts_before_that_it_is_gone() {
    let mut io = bind("127.0.0.1", UdpConfig::default());
    let mut peer = bind("127.0.0.1", UdpConfig::default());
    let gone = peer.local_addr();
    let last: Vec<_> = (0..100).map(|id| short(io.local_addr(), 500 + id as usize, id)).collect();
    send_all(&mut peer, &last);
    drop(peer);
    send_all(&mut io, &[short(gone, 1, 7)]);
    let items = recv_until(&mut io, |items| items.contains(&Item::Unreachable(gone, Unreachable::Port)));
    assert_eq!(bytes_in(&items), image(&last).len());
    assert_eq!(items.last(), Some(&Item::Unreachable(gone, Unreachable::Port)));
}
