//! Faults happen as often as asked, and the same seed gives the same.

use homarus_io::{FaultConfig, FaultCounters, FaultIo, MemConfig, MemHub, MemIo, PacketIo, Received, UdpConfig, UdpIo};
use homarus_proto::{Payload, Transmit};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const PACKETS: u32 = 20_000;

fn addr(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 7))
}

fn numbered(to: SocketAddr, number: u32) -> Transmit {
    Transmit::new(to, 0, &[0; 28], Payload::from(number.to_be_bytes().to_vec()))
}

fn collect(io: &mut impl PacketIo, into: &mut Vec<Vec<u8>>) {
    io.recv(&mut |received| {
        let Received::Datagram { bytes, .. } = received else { panic!("unexpected {received:?}") };
        into.push(bytes.to_vec());
    })
    .unwrap();
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[28..].try_into().unwrap())
}

/// Sends numbered packets through faults, and returns what arrived.
fn run(config: FaultConfig, seed: u64) -> (Vec<Vec<u8>>, FaultCounters) {
    let hub = MemHub::new(MemConfig::default());
    let mut sender: FaultIo<MemIo> = FaultIo::new(hub.attach(addr(1)).unwrap(), config, seed);
    let mut receiver = hub.attach(addr(2)).unwrap();
    let mut came = Vec::new();
    for part in 0..PACKETS / 10 {
        let batch: Vec<_> = (0..10).map(|at| numbered(addr(2), part * 10 + at)).collect();
        assert_eq!(sender.send(&batch).unwrap(), 10);
        collect(&mut receiver, &mut came);
    }
    for _ in 0..1000 {
        collect(&mut sender, &mut Vec::new());
        collect(&mut receiver, &mut came);
    }
    (came, sender.handle().counters())
}

fn about(count: u64, chance: f64) {
    let expected = f64::from(PACKETS) * chance;
    assert!((count as f64 - expected).abs() < expected * 0.1, "{count} instead of about {expected}");
}

#[test]
fn no_faults() {
    let (came, counters) = run(FaultConfig::default(), 1);
    assert!(came.iter().map(|bytes| number(bytes)).eq(0..PACKETS));
    assert_eq!(counters, FaultCounters::default());
}

#[test]
fn loss() {
    let (came, counters) = run(FaultConfig { loss: 0.1, ..FaultConfig::default() }, 2);
    about(counters.lost, 0.1);
    assert_eq!(came.len() as u64 + counters.lost, u64::from(PACKETS));
    assert!(came.is_sorted());
}

#[test]
fn duplication() {
    let (came, counters) = run(FaultConfig { duplication: 0.1, ..FaultConfig::default() }, 3);
    about(counters.duplicated, 0.1);
    assert_eq!(came.len() as u64, u64::from(PACKETS) + counters.duplicated);
}

#[test]
fn delay_reorders_within_bounds_and_loses_nothing() {
    let config = FaultConfig { delay: 0.1, max_delay: 50, ..FaultConfig::default() };
    let (came, counters) = run(config, 4);
    about(counters.delayed, 0.1);
    let mut numbers: Vec<u32> = came.iter().map(|bytes| number(bytes)).collect();
    assert!(!numbers.is_sorted());
    assert!(numbers.iter().zip(0..).all(|(number, place)| number.abs_diff(place) <= 50));
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..PACKETS));
}

#[test]
fn corruption_is_dropped_or_delivered() {
    let config = FaultConfig { corruption: 0.1, ..FaultConfig::default() };
    let (came, counters) = run(config.clone(), 5);
    about(counters.corrupted, 0.1);
    assert_eq!(came.len() as u64 + counters.corrupted, u64::from(PACKETS));

    let (came, counters) = run(FaultConfig { deliver_corrupted: true, ..config }, 5);
    assert_eq!(came.len() as u32, PACKETS);
    let expected = (0..PACKETS).map(|number| [&[0; 28][..], &number.to_be_bytes()].concat());
    let wrong = came.iter().zip(expected).filter(|(bytes, expected)| *bytes != expected).count();
    assert_eq!(wrong as u64, counters.corrupted);
}

#[test]
fn a_seed_repeats_everything() {
    let config = FaultConfig {
        loss: 0.1,
        duplication: 0.1,
        delay: 0.2,
        max_delay: 100,
        corruption: 0.1,
        deliver_corrupted: true,
    };
    let first = run(config.clone(), 6);
    assert!(first == run(config.clone(), 6));
    assert!(first != run(config, 7));
}

#[test]
fn faults_over_real_sockets_can_end() {
    let bind = || UdpIo::bind("127.0.0.1:0".parse().unwrap(), UdpConfig::default()).unwrap();
    let all = FaultConfig { loss: 1.0, ..FaultConfig::default() };
    let (mut sender, mut receiver) = (FaultIo::new(bind(), all, 8), bind());
    let handle = sender.handle();
    let to = receiver.local_addr();
    assert_eq!(sender.send(&[numbered(to, 1)]).unwrap(), 1);
    handle.set(FaultConfig::default());
    assert_eq!(sender.send(&[numbered(to, 2)]).unwrap(), 1);
    let (start, mut came) = (Instant::now(), Vec::new());
    while came.is_empty() && start.elapsed() < Duration::from_secs(30) {
        collect(&mut receiver, &mut came);
    }
    assert_eq!(came.iter().map(|bytes| number(bytes)).collect::<Vec<_>>(), [2]);
    assert_eq!(handle.counters().lost, 1);
}
