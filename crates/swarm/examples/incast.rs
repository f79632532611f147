//! The incast of `homarus compare --incast` in virtual time: one client calls many servers, all answer at once.
//!
//! `cargo run --release -p homarus-swarm --example incast -- [MBIT] [PORT_BUFFER] [SERVERS] [BYTES] [ROUNDS]`

use homarus_proto::{CallOptions, Config, Payload};
use homarus_swarm::net::{HostSpec, LinkSpec, Occurrence, World};
use std::time::Duration;

/// Of the probe's request and response, and how often it is sent.
const PROBE: usize = 2_048;
const PROBE_PERIOD: Duration = Duration::from_millis(20);
const NEXT_PROBE: u64 = 1;

fn main() {
    let given: Vec<u64> = std::env::args().skip(1).map(|given| given.parse().expect("a number")).collect();
    let argument = |index: usize, default: u64| given.get(index).copied().unwrap_or(default);
    let (rate, buffer) = (argument(0, 50) * 1_000_000, argument(1, 300_000) as usize);
    let (servers, bytes, rounds) = (argument(2, 100) as usize, argument(3, 65_536) as usize, argument(4, 20) as usize);
    println!("{:>8} {:>10} {:>10} {:>10} {:>10} {:>10}", "", "round p50", "longest", "probe p99", "peak", "drops");
    for (name, incast_optimisation) in [("with", true), ("without", false)] {
        let config = Config { incast_optimisation, ..Config::default() };
        let link = LinkSpec { port_buffer: buffer, ..LinkSpec::symmetric(rate, Duration::from_micros(15)) };
        play(name, &config, link, (servers, bytes, rounds));
    }
}

fn play(name: &str, config: &Config, link: LinkSpec, (servers, bytes, rounds): (usize, usize, usize)) {
    let mut world = World::new();
    for host in 0..servers + 2 {
        let clock_ahead = Duration::ZERO;
        world.add_host(HostSpec {
            config: config.clone(),
            link,
            clock_ahead,
            seed: host as u64,
            takes_datagrams: false,
        });
    }
    let prober = servers + 1;
    let (mut round_times, mut probe_times) = (Vec::new(), Vec::new());
    let mut probe_sent = world.now();
    world.alarm(world.now(), NEXT_PROBE);
    for _ in 0..rounds {
        let begun = world.now();
        for server in 1..=servers {
            world.call(0, server, Payload::Phantom(100), CallOptions::default()).expect("an accepted request");
        }
        let mut open = servers;
        while open > 0 {
            let limit = begun + Duration::from_secs(60);
            match world.next(limit).expect("a round ends within a minute") {
                Occurrence::Request { host, rpc, .. } => {
                    let len = if host == 0 { PROBE } else { bytes };
                    let _ = world.respond(host, rpc, Payload::Phantom(len));
                }
                Occurrence::Response { host, result, .. } if host == prober => {
                    result.expect("the probe's response");
                    probe_times.push(world.now().saturating_since(probe_sent));
                    world.alarm(probe_sent + PROBE_PERIOD, NEXT_PROBE);
                }
                Occurrence::Response { result, .. } => {
                    result.expect("a response");
                    open -= 1;
                }
                Occurrence::Alarm(_) => {
                    probe_sent = world.now();
                    let sent = world.call(prober, 0, Payload::Phantom(PROBE), CallOptions::default());
                    sent.expect("an accepted request");
                }
            }
        }
        round_times.push(world.now().saturating_since(begun));
    }
    round_times.sort();
    probe_times.sort();
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let at = |times: &[Duration], share: f64| millis(times[((times.len() - 1) as f64 * share) as usize]);
    println!(
        "{name:>8} {:>7.2} ms {:>7.2} ms {:>7.2} ms {:>7.1} KB {:>10}",
        at(&round_times, 0.5),
        at(&round_times, 1.0),
        at(&probe_times, 0.99),
        world.queue_peak(0) as f64 / 1e3,
        world.queue_drops(0)
    );
}
