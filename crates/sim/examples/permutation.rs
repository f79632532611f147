//! How fast the simulator is: 144 hosts, each with an endless flow to another, DCTCP or plain TCP.
//!
//! `cargo run --release -p homarus-sim --example permutation -- [dctcp|cubic|reno] [simulated ms] [runs]`
//!
//! 9 racks of 16 hosts, 4 spines, 10 and 40 Gbit/s, 250 ns a link, 1,500-byte packets, queues of 100 packets that mark beyond
//! 15, a path for each flow. It prints packet-hops a second: a packet, data or acknowledgement, that finishes one link.

use homarus_sim::net::{Delays, LeafSpine, Marking, Network, NetworkRules, Order, Paths, PortRules};
use homarus_sim::transport::tcp::{Congestion, Tcp, TcpSetup};
use homarus_sim::transport::{Message, dctcp};
use homarus_sim::{Application, Cluster, Rate, Time, Wishes};
use std::process::ExitCode;

/// Every host sends to another, and none receives from two.
struct Permutation {
    hosts: u32,
}

impl Application for Permutation {
    fn begin(&mut self, wishes: &mut Wishes) {
        // Shuffled, and then each sends to the next: a cycle, so that nobody sends to itself.
        let mut order: Vec<u32> = (0..self.hosts).collect();
        let mut state = 1u64;
        for place in (1..order.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(place, (state >> 33) as usize % (place + 1));
        }
        for (place, from) in order.iter().enumerate() {
            wishes.send(*from, order[(place + 1) % order.len()], u32::MAX, 0);
        }
    }

    fn alarm(&mut self, _now: Time, _token: u32, _wishes: &mut Wishes) {}

    fn done(&mut self, _now: Time, _message: &Message, _answered: bool, _wishes: &mut Wishes) {}

    fn is_over(&self) -> bool {
        false
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let setup = match arguments.next().as_deref() {
        None | Some("dctcp") => dctcp::SETUP,
        Some("cubic") => TcpSetup::LINUX,
        Some("reno") => TcpSetup { congestion: Congestion::Reno, ..TcpSetup::LINUX },
        Some(other) => {
            eprintln!("expected dctcp, cubic or reno, but got {other:?}");
            return ExitCode::from(2);
        }
    };
    let mut number = |name: &str, otherwise: u64| match arguments.next().map(|argument| argument.parse()) {
        None => Ok(otherwise),
        Some(Ok(number)) => Ok(number),
        Some(Err(error)) => Err(format!("{name} must be a whole number: {error}")),
    };
    let (millis, runs) = match (number("the simulated time in ms", 20), number("the number of runs", 5)) {
        (Ok(millis), Ok(runs)) => (millis, runs),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let mut speeds: Vec<f64> = (0..runs).map(|_| run(&setup, Time::from_micros(1_000 * millis))).collect();
    speeds.sort_by(f64::total_cmp);
    if let Some(best) = speeds.last() {
        println!("median {:.2} M, best {best:.2} M packet-hops/s", speeds[speeds.len() / 2]);
    }
    ExitCode::SUCCESS
}

/// One run: its packet-hops a second, in millions.
fn run(setup: &TcpSetup, time: Time) -> f64 {
    let shape = LeafSpine {
        racks: 9,
        hosts_per_rack: 16,
        spines: 4,
        host_rate: Rate::from_gbits(10),
        fabric_rate: Rate::from_gbits(40),
        delays: Delays { link: Time::from_nanos(250), switch: Time::ZERO, transmit: Time::ZERO, receive: Time::ZERO },
    };
    let frame = u64::from(setup.frames(setup.mss).sum::<u32>());
    let switch = PortRules { buffer: 100 * frame, order: Order::Priority, marking: Some(Marking::at(15 * frame)) };
    let network = Network::new(shape.topology(), NetworkRules { switch, paths: Paths::ByFlow }, 1);
    let hosts = (0..shape.hosts()).map(|host| Tcp::new(host, setup)).collect();
    let mut cluster = Cluster::new(network, hosts);
    let begun = std::time::Instant::now();
    cluster.run(&mut Permutation { hosts: shape.hosts() }, time);
    let elapsed = begun.elapsed().as_secs_f64();
    let counts = cluster.network().counts();
    let received: u64 = cluster.hosts().iter().map(|host| host.counts().bytes_received).sum();
    let speed = counts.hops as f64 / elapsed / 1e6;
    println!(
        "{time} in {elapsed:.2} s: {} packet-hops, {} dropped, {:.2} Gbit/s a host; {speed:.2} M packet-hops/s",
        counts.hops,
        counts.dropped,
        received as f64 * 8.0 / time.as_secs() / 1e9 / f64::from(shape.hosts()),
    );
    speed
}
