//! What the UDP driver costs beside bare system calls, on loopback, both ends on one thread, in one interleaved run.
//!
//! `cargo run --release -p homarus-io --example udp_rate`

mod bare;

use bare::Bare;
use homarus_io::{PacketIo, Received, UdpConfig, UdpIo};
use homarus_proto::{Payload, Transmit};
use std::io;
use std::net::SocketAddr;
use std::time::Instant;

/// Rounds of each contestant; the median counts.
const ROUNDS: usize = 41;
/// Contents of a short message, bytes.
const SHORT: usize = 100;
/// Contents of a long message, bytes.
const LONG: usize = 1_000_000;
/// Length of a Homa DATA header.
const HEADER: usize = 56;

struct Driver {
    sender: UdpIo,
    receiver: UdpIo,
}

impl Driver {
    fn new(config: &UdpConfig) -> io::Result<Driver> {
        let bind = || UdpIo::bind("127.0.0.1:0".parse().expect("an address"), config.clone());
        Ok(Driver { sender: bind()?, receiver: bind()? })
    }

    fn to(&self) -> SocketAddr {
        self.receiver.local_addr()
    }

    fn carry(&mut self, mut batch: &[Transmit]) -> io::Result<()> {
        let mut missing: usize = batch.iter().map(Transmit::len).sum();
        while !batch.is_empty() {
            let taken = self.sender.send(batch)?;
            batch = &batch[taken..];
        }
        while missing > 0 {
            self.receiver.recv(&mut |received| {
                if let Received::Datagram { bytes, .. } = received {
                    missing -= bytes.len();
                }
            })?;
        }
        Ok(())
    }
}

fn packets(to: SocketAddr, total: usize, room: usize, count: usize) -> Vec<Transmit> {
    let mut batch = Vec::new();
    let priority = if total <= 200 { 7 } else { 4 };
    for _ in 0..count {
        for offset in (0..total).step_by(room) {
            let mut header = [0; HEADER];
            header[4..8].copy_from_slice(&(offset as u32).to_be_bytes());
            header[11] = 0x10;
            header[28..32].copy_from_slice(&(total as u32).to_be_bytes());
            header[52..56].copy_from_slice(&(offset as u32).to_be_bytes());
            let contents = vec![7; room.min(total - offset)];
            batch.push(Transmit::new(to, priority, &header, Payload::from(contents)));
        }
    }
    batch
}

type Contestant<'a> = (&'a str, Box<dyn FnMut() -> io::Result<()> + 'a>);

/// Runs the contestants in turn and prints the median time of each for one of `units`, and its ratio to the first.
fn race(title: &str, units: usize, repeat: usize, contestants: &mut [Contestant<'_>]) -> io::Result<()> {
    let mut times = vec![Vec::new(); contestants.len()];
    for round in 0..ROUNDS + 3 {
        for ((_, run), times) in contestants.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..repeat {
                run()?;
            }
            let nanos = start.elapsed().as_nanos() as f64 / (repeat * units) as f64;
            if round >= 3 {
                times.push(nanos);
            }
        }
    }
    println!("{title}");
    let medians: Vec<f64> = times
        .iter_mut()
        .map(|times| {
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 2]
        })
        .collect();
    for ((name, _), median) in contestants.iter().zip(&medians) {
        println!("  {name:<44}{median:>10.1} ns   rate x{:.2}", medians[0] / median);
    }
    Ok(())
}

fn latency() -> io::Result<()> {
    let mut bare = Bare::new(false)?;
    let mut driver = Driver::new(&UdpConfig::default())?;
    let to = bare.receiver()?;
    let batch = packets(driver.to(), SHORT, SHORT, 1);
    race(
        "one packet of 156 B, sent and received, ns each",
        1,
        2000,
        &mut [
            ("bare sendto + recvfrom", Box::new(|| bare.one(HEADER + SHORT, to).map(drop))),
            ("driver", Box::new(|| driver.carry(&batch))),
        ],
    )
}

fn small() -> io::Result<()> {
    const COUNT: usize = 64;
    let size = HEADER + SHORT;
    let mut many = Bare::new(false)?;
    let mut segmented = Bare::new(true)?;
    let at_1500 = UdpConfig { max_mtu: 1500, ..UdpConfig::default() };
    let mut driver = Driver::new(&at_1500)?;
    let mut wide = Driver::new(&UdpConfig::default())?;
    let mut by_segment = Driver::new(&UdpConfig { coalesce: false, ..at_1500.clone() })?;
    let mut by_coalescing = Driver::new(&UdpConfig { gso: false, ..at_1500.clone() })?;
    let plain_config = UdpConfig { gso: false, gro: false, coalesce: false, ..at_1500 };
    let mut plain = Driver::new(&plain_config)?;
    let batches =
        [&driver, &wide, &by_segment, &by_coalescing, &plain].map(|driver| packets(driver.to(), SHORT, SHORT, COUNT));
    race(
        "64 messages of 100 B, ns each",
        COUNT,
        50,
        &mut [
            (
                "bare sendmmsg + recvmmsg",
                Box::new(|| {
                    many.send_many(COUNT, size)?;
                    many.receive(COUNT * size, COUNT)
                }),
            ),
            (
                "bare UDP_SEGMENT + UDP_GRO",
                Box::new(|| {
                    segmented.send_segmented(COUNT * size, size)?;
                    segmented.receive(COUNT * size, 1)
                }),
            ),
            ("driver, MTU 1500", Box::new(|| driver.carry(&batches[0]))),
            ("driver, loopback's MTU", Box::new(|| wide.carry(&batches[1]))),
            ("driver, segmentation only", Box::new(|| by_segment.carry(&batches[2]))),
            ("driver, coalescing only", Box::new(|| by_coalescing.carry(&batches[3]))),
            ("driver, neither", Box::new(|| plain.carry(&batches[4]))),
        ],
    )
}

fn bulk() -> io::Result<()> {
    let segment = 1472;
    let packets_per_message = LONG.div_ceil(segment - HEADER);
    let total = packets_per_message * segment;
    let mut many = Bare::new(false)?;
    let mut segmented = Bare::new(true)?;
    let at_1500 = UdpConfig { max_mtu: 1500, ..UdpConfig::default() };
    let mut driver = Driver::new(&at_1500)?;
    let mut wide = Driver::new(&UdpConfig::default())?;
    let mut plain = Driver::new(&UdpConfig { gso: false, gro: false, coalesce: false, ..at_1500 })?;
    let narrow_room = segment - HEADER;
    let batches = [
        packets(driver.to(), LONG, narrow_room, 1),
        packets(wide.to(), LONG, 65_507 - HEADER, 1),
        packets(plain.to(), LONG, narrow_room, 1),
    ];
    race(
        "1 MB messages, ns each",
        1,
        5,
        &mut [
            (
                "bare sendmmsg + recvmmsg, MTU 1500",
                Box::new(|| {
                    many.send_many(packets_per_message, segment)?;
                    many.receive(total, 32)
                }),
            ),
            (
                "bare UDP_SEGMENT + UDP_GRO, MTU 1500",
                Box::new(|| {
                    segmented.send_segmented(total, segment)?;
                    segmented.receive(total, 8)
                }),
            ),
            ("driver, MTU 1500", Box::new(|| driver.carry(&batches[0]))),
            ("driver, offloads off, MTU 1500", Box::new(|| plain.carry(&batches[2]))),
            ("driver, loopback's MTU", Box::new(|| wide.carry(&batches[1]))),
        ],
    )
}

fn main() -> io::Result<()> {
    latency()?;
    small()?;
    bulk()
}
