//! What the tests of the drivers share.
#![allow(dead_code)]

#[path = "namespace.rs"]
pub(crate) mod namespace;
#[path = "router.rs"]
pub(crate) mod router;

use homarus_io::{PacketIo, Received, UdpConfig, UdpIo};
use homarus_proto::{Payload, Transmit, Unreachable};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Longest that a test waits for something that must come.
pub(crate) const HANG: Duration = Duration::from_secs(30);

/// An item as owned data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Datagram(SocketAddr, Vec<u8>),
    Unreachable(SocketAddr, Unreachable),
    PathMtu(SocketAddr, usize),
}

impl Item {
    pub(crate) fn from(received: &Received<'_>) -> Item {
        match received {
            Received::Datagram { from, bytes } => Item::Datagram(*from, bytes.to_vec()),
            Received::Unreachable { peer, why } => Item::Unreachable(*peer, *why),
            Received::PathMtu { peer, mtu } => Item::PathMtu(*peer, *mtu),
        }
    }
}

/// What waits now.
pub(crate) fn recv_now(io: &mut impl PacketIo) -> Vec<Item> {
    let mut items = Vec::new();
    loop {
        let before = items.len();
        let count = io.recv(&mut |received| items.push(Item::from(&received))).unwrap();
        assert_eq!(count, items.len() - before, "recv must count what it hands up");
        if count == 0 {
            return items;
        }
    }
}

/// Waits until items for which `enough` holds have come.
pub(crate) fn recv_until(io: &mut impl PacketIo, enough: impl Fn(&[Item]) -> bool) -> Vec<Item> {
    let start = Instant::now();
    let mut items = Vec::new();
    while !enough(&items) {
        items.extend(recv_now(io));
        assert!(start.elapsed() < HANG, "hung with {} items", items.len());
        std::thread::sleep(Duration::from_micros(50));
    }
    items
}

/// Sends everything, waiting where the socket is full.
pub(crate) fn send_all(io: &mut impl PacketIo, mut batch: &[Transmit]) {
    let start = Instant::now();
    while !batch.is_empty() {
        let taken = io.send(batch).unwrap();
        batch = &batch[taken..];
        assert!(start.elapsed() < HANG, "hung in send");
    }
}

/// A driver on a loopback address, port chosen by the kernel.
pub(crate) fn bind(ip: &str, config: UdpConfig) -> UdpIo {
    UdpIo::bind(SocketAddr::new(ip.parse().unwrap(), 0), config).unwrap()
}

/// Whether IPv6 loopback works; says so if not.
pub(crate) fn have_ipv6() -> bool {
    let have = std::net::UdpSocket::bind("[::1]:0").is_ok();
    if !have {
        println!("SKIPPED: no IPv6 loopback on this machine");
    }
    have
}

/// The total of bytes in datagrams.
pub(crate) fn bytes_in(items: &[Item]) -> usize {
    let lengths = items.iter().map(|item| match item {
        Item::Datagram(_, bytes) => bytes.len(),
        _ => 0,
    });
    lengths.sum()
}

/// A DATA packet of `length` bytes at `offset` of a message of `total`, with recognisable contents.
pub(crate) fn data(to: SocketAddr, priority: u8, total: usize, offset: usize, length: usize, id: u64) -> Transmit {
    let mut header = [0; 56];
    header[4..8].copy_from_slice(&(offset as u32).to_be_bytes());
    header[11] = 0x10;
    header[20..28].copy_from_slice(&id.to_be_bytes());
    header[28..32].copy_from_slice(&(total as u32).to_be_bytes());
    header[52..56].copy_from_slice(&(offset as u32).to_be_bytes());
    let contents: Vec<u8> = (0..length).map(|at| (at as u64 * 7 + id * 31 + offset as u64) as u8).collect();
    Transmit::new(to, priority, &header, Payload::from(contents))
}

/// A whole message in one packet.
pub(crate) fn short(to: SocketAddr, length: usize, id: u64) -> Transmit {
    data(to, 6, length, 0, length, id)
}

/// A control packet.
pub(crate) fn control(to: SocketAddr, kind: u8, length: usize) -> Transmit {
    let mut header = vec![kind; length];
    header[11] = kind;
    Transmit::new(to, 7, &header, Payload::EMPTY)
}

/// The bytes of packets, one after the other.
pub(crate) fn image(batch: &[Transmit]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for packet in batch {
        bytes.extend_from_slice(packet.header());
        bytes.extend_from_slice(packet.payload.as_slice());
    }
    bytes
}
