//! The network in memory.

use homarus_io::{MemConfig, MemHub, MemIo, PacketIo, Received};
use homarus_proto::{Payload, Transmit, Unreachable};
use std::io::ErrorKind;
use std::net::SocketAddr;

fn addr(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 7))
}

fn packet(to: SocketAddr, length: usize, mark: u8) -> Transmit {
    Transmit::new(to, 0, &[mark; 28], Payload::from(vec![mark; length]))
}

/// What waits, as text.
fn received(io: &mut MemIo) -> Vec<String> {
    let mut items = Vec::new();
    let count = io.recv(&mut |received| {
        items.push(match received {
            Received::Datagram { from, bytes } => {
                assert!(bytes.iter().all(|byte| *byte == bytes[0]));
                format!("{from} {} x {}", bytes.len(), bytes[0])
            }
            Received::Unreachable { peer, why } => format!("{peer} {why:?}"),
            Received::PathMtu { peer, mtu } => format!("{peer} mtu {mtu}"),
        });
    });
    assert_eq!(count.unwrap(), items.len());
    items
}

#[test]
fn packets_arrive_in_order() {
    let hub = MemHub::default();
    let [mut a, mut b, mut c] = [1, 2, 3].map(|host| hub.attach(addr(host)).unwrap());
    assert_eq!(a.send(&[packet(addr(2), 0, 1), packet(addr(2), 10, 2), packet(addr(3), 5, 3)]).unwrap(), 3);
    assert_eq!(c.send(&[packet(addr(2), 1, 4)]).unwrap(), 1);
    assert_eq!(received(&mut b), ["10.0.0.1:7 28 x 1", "10.0.0.1:7 38 x 2", "10.0.0.3:7 29 x 4"]);
    assert_eq!(received(&mut b), [""; 0]);
    assert_eq!(received(&mut c), ["10.0.0.1:7 33 x 3"]);
    assert_eq!(a.device_queue(), Some(0));
}

#[test]
fn queues_are_bounded() {
    let hub = MemHub::new(MemConfig { queue: 1000, mtu: 1500 });
    let (mut a, mut b) = (hub.attach(addr(1)).unwrap(), hub.attach(addr(2)).unwrap());
    assert_eq!(b.receive_capacity(), 1000);
    let batch: Vec<_> = (0..30).map(|mark| packet(addr(2), 72, mark)).collect();
    assert_eq!(a.send(&batch).unwrap(), 30);
    assert_eq!((received(&mut b).len(), a.dropped()), (10, 20));
    assert_eq!(a.send(&batch[..5]).unwrap(), 5);
    assert_eq!(received(&mut b).len(), 5);
}

#[test]
fn large_packets_and_absent_peers_are_reported() {
    let hub = MemHub::new(MemConfig { mtu: 1500, ..MemConfig::default() });
    let mut a = hub.attach(addr(1)).unwrap();
    let b = hub.attach(addr(2)).unwrap();
    assert_eq!(a.path_mtu(addr(2)), 1500);
    assert_eq!(a.send(&[packet(addr(2), 1444, 1), packet(addr(2), 1445, 1)]).unwrap(), 2);
    assert_eq!(received(&mut a), ["10.0.0.2:7 mtu 1500"]);
    drop(b);
    assert_eq!(a.send(&[packet(addr(2), 1, 1)]).unwrap(), 1);
    assert_eq!(received(&mut a), [format!("10.0.0.2:7 {:?}", Unreachable::Port)]);
    assert_eq!(hub.attach(addr(1)).unwrap_err().kind(), ErrorKind::AddrInUse);
    hub.attach(addr(2)).unwrap();
}

#[test]
fn phantoms_become_zeros() {
    let hub = MemHub::default();
    let (mut a, mut b) = (hub.attach(addr(1)).unwrap(), hub.attach(addr(2)).unwrap());
    a.send(&[Transmit::new(addr(2), 0, &[0; 28], Payload::Phantom(100))]).unwrap();
    assert_eq!(received(&mut b), ["10.0.0.1:7 128 x 0"]);
}
