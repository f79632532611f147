//! Every way of grouping packets gives back the same bytes in the same order.

use crate::common::*;
use homarus_io::{PacketIo, UdpConfig};
use homarus_proto::Transmit;
use homarus_proto::wire::split_datagram;
use std::net::SocketAddr;

fn long(to: SocketAddr, total: usize, packet: usize, id: u64) -> Vec<Transmit> {
    (0..total).step_by(packet).map(|offset| data(to, 4, total, offset, packet.min(total - offset), id)).collect()
}

/// Splits datagrams into packets as receivers do, and checks them against what was sent.
fn check_packets(items: &[Item], from: SocketAddr, sent: &[Transmit]) {
    let mut packets = Vec::new();
    for item in items {
        let Item::Datagram(sender, bytes) = item else { panic!("unexpected {item:?}") };
        assert_eq!(*sender, from);
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let (packet, after) = split_datagram(rest);
            packets.push(packet.to_vec());
            rest = after;
        }
    }
    assert_eq!(packets.len(), sent.len(), "packets");
    for (at, (came, went)) in packets.iter().zip(sent).enumerate() {
        assert_eq!(*came, image(std::slice::from_ref(went)), "packet {at}");
    }
}

fn configs() -> Vec<UdpConfig> {
    let mut configs = Vec::new();
    for max_mtu in [1460, 1500, 9000, 65_535] {
        for (gso, gro, coalesce) in
            [(true, true, true), (false, true, true), (true, false, true), (true, true, false), (false, false, false)]
        {
            configs.push(UdpConfig { gso, gro, coalesce, max_mtu, ..UdpConfig::default() });
        }
    }
    configs
}

fn round_trip(ip: &str, config: &UdpConfig, make: &dyn Fn(SocketAddr, usize) -> Vec<Transmit>) {
    let mut sender = bind(ip, config.clone());
    let mut receiver = bind(ip, config.clone());
    let to = receiver.local_addr();
    let overhead = if to.is_ipv4() { 28 } else { 48 };
    let batch = make(to, sender.path_mtu(to) - overhead - 56);
    // As much at a time as the receive buffer holds on any machine, even of the shortest packets.
    let most = receiver.receive_capacity() as usize / 4;
    let (mut waiting, mut items) = (batch.as_slice(), Vec::new());
    while !waiting.is_empty() {
        let mut bytes = 0;
        let fits = waiting.iter().take_while(|packet| {
            bytes += packet.len();
            bytes <= most
        });
        let (now, later) = waiting.split_at(fits.count().max(1));
        send_all(&mut sender, now);
        let total = image(now).len();
        items.extend(recv_until(&mut receiver, |items| bytes_in(items) >= total));
        waiting = later;
    }
    check_packets(&items, sender.local_addr(), &batch);
    assert_eq!(sender.counters().packets_sent, batch.len() as u64);
    assert_eq!(sender.uses_gso(), config.gso);
}

fn everywhere(make: &dyn Fn(SocketAddr, usize) -> Vec<Transmit>) {
    for config in configs() {
        round_trip("127.0.0.1", &config, make);
        if have_ipv6() {
            round_trip("::1", &config, make);
        }
    }
}

#[test]
fn one_packet() {
    everywhere(&|to, _| vec![short(to, 100, 1)]);
}

#[test]
fn empty_and_one_byte_payloads() {
    everywhere(&|to, _| (0..100).map(|id| short(to, (id % 2) as usize, id)).collect());
}

#[test]
fn equal_short_messages() {
    everywhere(&|to, _| (0..1500).map(|id| short(to, 100, id)).collect());
}

#[test]
fn unequal_short_messages() {
    everywhere(&|to, _| (0..500).map(|id| short(to, (id * 37 % 400) as usize, id)).collect());
}

#[test]
fn long_message() {
    everywhere(&|to, room| long(to, 300_000, room, 1));
}

#[test]
fn long_messages_among_short_and_control() {
    everywhere(&|to, room| {
        let mut batch = Vec::new();
        for id in 0..5 {
            batch.extend([short(to, 10, id), short(to, 333, id), control(to, 0x11, 33)]);
            batch.extend([control(to, 0x12, 37), control(to, 0x18, 80), control(to, 0x14, 28)]);
            batch.extend([control(to, 0x15, 62), control(to, 0x13, 28), control(to, 0x17, 28)]);
            batch.extend(long(to, 3 * room + 1, room, id));
            batch.extend(long(to, 100_000, 700.min(room), id));
            batch.push(data(to, 4, 5000, 4000, 200.min(room), id));
            batch.push(short(to, 0, id));
        }
        batch
    });
}

#[test]
fn full_packets_that_hold_whole_messages() {
    everywhere(&|to, room| (0..10).map(|id| short(to, room - (id % 3) as usize, id)).collect());
}
