//! What the driver's tests share.

use homarus_io::{PacketIo, Received, UdpConfig, UdpIo};
use homarus_proto::{Transmit, Unreachable};
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
        let count = io
            .recv(&mut |received| items.push(Item::from(&received)))
            .unwrap();
        assert_eq!(
            count,
            items.len() - before,
            "recv must count what it hands up"
        );
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
pub(crate) fn send_all(io: &mut UdpIo, mut batch: &[Transmit]) {
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
