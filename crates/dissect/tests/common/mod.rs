//! Frames and files made by hand, for tests.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};

/// The captures of the Linux module, and how many Homa packets each holds.
pub(crate) const CAPTURES: [(&str, usize); 17] = [
    ("00_cold_first_contact_100B", 19),
    ("01_single_100B", 4),
    ("02_100KB_echo_grants", 210),
    ("04_sequential_100B_x4_piggyback_ack", 12),
    ("05_loss5pct_100KB", 218),
    ("07_lose_all_first_response_copies_10KB", 20),
    ("08_lose_all_first_request_copies_10KB", 28),
    ("10_blackhole_server_to_client_timeout", 20),
    ("11_first_contact_new_peer", 10),
    ("13_ack_overflow_12x100B_parallel", 26),
    ("14_busy_slow_server_40ms", 16),
    ("15_port_unreachable", 2),
    ("17_gso20000_veth_100KB", 158),
    ("20_host_to_vm_100B", 8),
    ("21_host_to_vm_100KB", 153),
    ("22_vm_client_to_host_server", 158),
    ("23_host_no_raw_socket_icmp_proto_unreachable", 1),
];

pub(crate) fn capture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/pcaps").join(name).with_extension("pcap")
}

pub(crate) fn capture(name: &str) -> Vec<u8> {
    let path = capture_path(name);
    std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// A frame for a file: nanoseconds, bytes, length on the link.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) time: u64,
    pub(crate) data: Vec<u8>,
    pub(crate) wire_len: usize,
}

pub(crate) fn record(time: u64, data: Vec<u8>) -> Record {
    Record { time, wire_len: data.len(), data }
}

/// Numbers in the byte order of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order(pub(crate) bool);

impl Order {
    pub(crate) fn u16(self, value: u16) -> [u8; 2] {
        if self.0 { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(crate) fn u32(self, value: u32) -> [u8; 4] {
        if self.0 { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// A pcap file.
pub(crate) fn pcap(big_endian: bool, nanoseconds: bool, link: u16, records: &[Record]) -> Vec<u8> {
    let order = Order(big_endian);
    let magic = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = Vec::new();
    file.extend(order.u32(magic));
    file.extend(order.u16(2));
    file.extend(order.u16(4));
    for word in [0, 0, 65_535, u32::from(link)] {
        file.extend(order.u32(word));
    }
    for record in records {
        let (seconds, rest) = (record.time / 1_000_000_000, record.time % 1_000_000_000);
        let fraction = if nanoseconds { rest } else { rest / 1000 };
        for word in [seconds as u32, fraction as u32, record.data.len() as u32, record.wire_len as u32] {
            file.extend(order.u32(word));
        }
        file.extend(&record.data);
    }
    file
}

/// A block of pcapng.
pub(crate) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(12 + padded as u32);
    let mut block = [order.u32(kind), length].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

pub(crate) fn section(order: Order) -> Vec<u8> {
    let body = [&order.u32(0x1a2b_3c4d)[..], &order.u16(1), &order.u16(0), &[0xff; 8]].concat();
    block(order, 0x0a0d_0d0a, &body)
}

/// Options: code and value.
pub(crate) fn interface(order: Order, link: u16, snaplen: u32, options: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = [&order.u16(link)[..], &order.u16(0), &order.u32(snaplen)].concat();
    for (code, value) in options {
        body.extend(order.u16(*code));
        body.extend(order.u16(value.len() as u16));
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    if !options.is_empty() {
        body.extend([0; 4]);
    }
    block(order, 1, &body)
}

pub(crate) fn enhanced(order: Order, interface: u32, ticks: u64, record: &Record) -> Vec<u8> {
    let words = [interface, (ticks >> 32) as u32, ticks as u32, record.data.len() as u32, record.wire_len as u32];
    let mut body: Vec<u8> = words.iter().flat_map(|word| order.u32(*word)).collect();
    body.extend(&record.data);
    body.resize(body.len().next_multiple_of(4), 0);
    // A comment, which is to be passed over.
    body.extend([&order.u16(1)[..], &order.u16(2), b"hi\0\0", &[0; 4]].concat());
    block(order, 6, &body)
}

pub(crate) fn simple(order: Order, record: &Record) -> Vec<u8> {
    let mut body = order.u32(record.wire_len as u32).to_vec();
    body.extend(&record.data);
    block(order, 3, &body)
}

pub(crate) fn ethernet(ether_type: u16, tags: &[u16], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    for tag in tags {
        frame.extend(tag.to_be_bytes());
        frame.extend([0x60, 7]);
    }
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

fn sum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// An IPv4 packet of priority 5 from 10.0.0.1 to 10.0.0.2; `options` are whole words.
pub(crate) fn ipv4(protocol: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    ipv4_between([10, 0, 0, 1], [10, 0, 0, 2], protocol, options, payload)
}

pub(crate) fn ipv4_between(from: [u8; 4], to: [u8; 4], protocol: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let header_len = 20 + options.len();
    let total = ((header_len + payload.len()) as u16).to_be_bytes();
    let mut header = vec![0x40 | (header_len / 4) as u8, 5 << 5, total[0], total[1], 0, 0, 0x40, 0, 64, protocol, 0, 0];
    header.extend(from);
    header.extend(to);
    header.extend(options);
    let sum = sum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    header.extend(payload);
    header
}

/// An IPv6 packet of priority 5 from ::1 to ::2; `extensions` are whole headers of the given kinds.
pub(crate) fn ipv6(protocol: u8, extensions: &[(u8, Vec<u8>)], payload: &[u8]) -> Vec<u8> {
    let mut chain = Vec::new();
    for (index, (_, body)) in extensions.iter().enumerate() {
        let next = extensions.get(index + 1).map_or(protocol, |(kind, _)| *kind);
        chain.push(next);
        chain.extend(body);
    }
    let length = ((chain.len() + payload.len()) as u16).to_be_bytes();
    let first = extensions.first().map_or(protocol, |(kind, _)| *kind);
    let mut packet = vec![0x60 | (5 << 5) >> 4, 0, 0, 0, length[0], length[1], first, 64];
    for last in [1, 2] {
        packet.extend([0; 15]);
        packet.push(last);
    }
    packet.extend(chain);
    packet.extend(payload);
    packet
}

pub(crate) fn udp(source: u16, dest: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram =
        [source.to_be_bytes(), dest.to_be_bytes(), (8 + payload.len() as u16).to_be_bytes(), [0; 2]].concat();
    datagram.extend(payload);
    datagram
}
