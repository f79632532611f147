//! Packets arrive one by one, whole and in order.

use crate::common::namespace::enter;
use crate::common::*;
use crate::{between, bind_port, post};
use homarus_io::PacketIo;
use homarus_proto::{Payload, Transmit};

/// The bytes of a packet with the checksum field, which the driver fills in, cleared.
fn without_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[16..18].fill(0);
    bytes
}

fn round_trip(ip: &str) {
    let (mut io, mut peer) = (bind_port(ip, 0), bind_port(ip, 4000));
    let (from, to) = (io.local_addr(), peer.local_addr());
    assert_eq!(to.port(), 4000);
    let room = io.path_mtu(to) - if to.is_ipv4() { 20 } else { 40 } - 56;
    let mut batch: Vec<_> = (0..200).map(|id| short(to, (id * 7 % 300) as usize, id)).collect();
    batch.extend([33, 37, 28, 62, 80].map(|length| control(to, 0x11, length)));
    batch.extend((0..30).map(|part| data(to, 3, 2_000_000, part * room, room, 1)));
    for packets in batch.chunks(20) {
        let packets = post(&mut io, packets.iter().cloned());
        let items = recv_until(&mut peer, |items| items.len() >= packets.len());
        assert_eq!(items.len(), packets.len());
        for (item, packet) in items.into_iter().zip(&packets) {
            let Item::Datagram(sender, bytes) = item else { panic!("unexpected {item:?}") };
            assert_eq!(sender, from);
            assert_ne!(bytes[16..18], [0, 0], "no checksum");
            assert!(without_checksum(bytes) == without_checksum(image(std::slice::from_ref(packet))));
        }
    }
    assert_eq!(io.counters().packets_sent, batch.len() as u64);
    assert_eq!(peer.counters().packets_received, batch.len() as u64);
    assert_eq!(recv_now(&mut io), []);
    assert_eq!(io.device_queue(), Some(0));
}

#[test]
fn over_ipv4_and_ipv6() {
    if enter("packets::over_ipv4_and_ipv6", "") {
        round_trip("127.0.0.1");
        if have_ipv6() {
            round_trip("::1");
        }
    }
}

#[test]
fn a_full_receiver_does_not_stop_the_sender() {
    if !enter("packets::a_full_receiver_does_not_stop_the_sender", "") {
        return;
    }
    let (mut io, mut peer) = (bind_port("127.0.0.1", 0), bind_port("127.0.0.1", 4000));
    let to = peer.local_addr();
    let batch: Vec<_> = (0..30_000).map(|part| between(9, data(to, 3, 30_000_000, part * 1000, 1000, 1))).collect();
    assert_eq!(io.send(&batch).unwrap(), batch.len());
    let came = bytes_in(&recv_now(&mut peer));
    assert!(came < image(&batch).len() && came >= peer.receive_capacity() as usize, "{came} bytes fitted");
}

#[test]
fn oversized_packets_are_reported_and_dropped() {
    if !enter("packets::oversized_packets_are_reported_and_dropped", "") {
        return;
    }
    let (mut io, mut peer) = (bind_port("127.0.0.1", 0), bind_port("127.0.0.1", 4000));
    let to = peer.local_addr();
    let huge = |length| between(9, Transmit::new(to, 1, &[0; 56], Payload::Phantom(length)));
    let most = 65_515 - 56;
    send_all(&mut io, &[huge(most), huge(most + 1), between(9, short(to, 1, 1))]);
    let items = recv_until(&mut peer, |items| items.len() >= 2);
    assert_eq!(bytes_in(&items), 65_515 + 57);
    assert_eq!(io.counters().oversized, 1);
    assert_eq!(recv_until(&mut io, |items| !items.is_empty()), [Item::PathMtu(to, 65_535)]);
}
