//! The rack of `homarus compare` in virtual time: what the protocol alone does with the workload, on links that are
//! exact and hosts that take no time.
//!
//! `cargo run --release -p homarus-swarm --example rack -- [WORKLOAD] [LOAD] [SECONDS] [SEED]`

use homarus_proto::{CallOptions, Config, Instant, Payload, RpcId};
use homarus_swarm::net::{HostId, HostSpec, LinkSpec, Occurrence, World};
use homarus_workloads::Workload;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::HashMap;
use std::time::Duration;

const HOSTS: usize = 8;
const RATE: u64 = 50_000_000;
/// Ethernet, IP, UDP and Homa headers, preamble and gap of a packet; and the contents of a full one.
const OVERHEAD: f64 = 38.0 + 20.0 + 8.0 + 60.0;
const CONTENTS: f64 = 1_500.0 - 88.0;
/// The first of the run does not count.
const WARM_UP: Duration = Duration::from_secs(2);

struct Load {
    world: World,
    workload: Workload,
    dice: Pcg64,
    /// Requests of one host a second.
    frequency: f64,
    open: HashMap<(HostId, RpcId), (Instant, u32)>,
    done: Vec<(u32, Duration)>,
}

impl Load {
    fn next_arrival(&mut self, host: HostId) {
        let wait = -self.dice.random::<f64>().ln() / self.frequency;
        let at = self.world.now() + Duration::from_secs_f64(wait);
        self.world.alarm(at, host as u64);
    }

    fn call(&mut self, host: HostId) {
        let other = self.dice.random_range(0..HOSTS - 1);
        let server = other + usize::from(other >= host);
        let len = self.workload.sample(&mut self.dice);
        let rpc = self.world.call(host, server, Payload::Phantom(len as usize), CallOptions::default());
        self.open.insert((host, rpc.expect("an accepted request")), (self.world.now(), len));
        self.next_arrival(host);
    }

    fn play(&mut self, seconds: u64) {
        let begin = self.world.now() + WARM_UP;
        let end = begin + Duration::from_secs(seconds);
        (0..HOSTS).for_each(|host| self.next_arrival(host));
        while let Some(occurrence) = self.world.next(end) {
            match occurrence {
                Occurrence::Alarm(host) => self.call(host as HostId),
                Occurrence::Request { host, rpc, message } => {
                    let _ = self.world.respond(host, rpc, message);
                }
                Occurrence::Response { host, rpc, .. } => {
                    let (begun, len) = self.open.remove(&(host, rpc)).expect("an open request");
                    if begun > begin {
                        self.done.push((len, self.world.now().saturating_since(begun)));
                    }
                }
            }
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "linux_w4".to_owned());
    let load: f64 = arguments.next().map_or(0.8, |given| given.parse().expect("a load, e.g. 0.8"));
    let seconds: u64 = arguments.next().map_or(100, |given| given.parse().expect("seconds"));
    let seed: u64 = arguments.next().map_or(1, |given| given.parse().expect("a seed"));
    let workload = Workload::resolve(&name).expect("a workload").cut_at(1_000_000);

    let wire = workload.expect(|len| f64::from(len) + (f64::from(len) / CONTENTS).ceil().max(1.0) * OVERHEAD);
    let frequency = load * RATE as f64 / 8.0 / (2.0 * wire);
    let mut world = World::new();
    for host in 0..HOSTS {
        let link = LinkSpec { port_buffer: 300_000, ..LinkSpec::symmetric(RATE, Duration::from_micros(15)) };
        let config = Config { default_deadline: None, ..Config::default() };
        world.add_host(HostSpec {
            config,
            link,
            clock_ahead: Duration::ZERO,
            seed: host as u64 + 1,
            takes_datagrams: false,
        });
    }
    let dice = Pcg64::seed_from_u64(seed);
    let mut run = Load { world, workload, dice, frequency, open: HashMap::new(), done: Vec::new() };
    run.play(seconds);
    report(run, seconds);
}

fn report(run: Load, seconds: u64) {
    let Load { world, mut done, open, .. } = run;
    done.sort();
    let of = |part: &[(u32, Duration)], share: f64| {
        let mut times: Vec<_> = part.iter().map(|(_, time)| time.as_secs_f64() * 1e3).collect();
        times.sort_by(f64::total_cmp);
        times[((times.len() as f64 * share) as usize).min(times.len() - 1)]
    };
    let tenth = (done.len() / 10).max(1);
    let parts = [("shortest 10 %", &done[..tenth]), ("longest 1 %", &done[done.len() - (done.len() / 100).max(1)..])];
    for (name, part) in parts {
        println!("{name}: {} RPCs, P50 {:.2} ms, P99 {:.2} ms", part.len(), of(part, 0.5), of(part, 0.99));
    }
    let bytes: u64 = done.iter().map(|(len, _)| 2 * u64::from(*len)).sum();
    let goodput = bytes as f64 * 8.0 / (seconds as f64 * HOSTS as f64 * RATE as f64);
    println!("{} RPCs, {} still open, goodput {:.1} % of the links", done.len(), open.len(), 100.0 * goodput);
    let sum = |what: fn(&homarus_proto::Stats) -> u64| (0..HOSTS).map(|h| what(world.endpoint(h).stats())).sum::<u64>();
    println!(
        "{} packets, {} grants, {} resends asked, {} packets sent again",
        world.packets_sent(),
        sum(|stats| stats.grants_sent),
        sum(|stats| stats.resends_sent),
        sum(|stats| stats.data_resent),
    );
    let peaks: Vec<_> = (0..HOSTS).map(|host| world.queue_peak(host)).collect();
    let drops: u64 = (0..HOSTS).map(|host| world.queue_drops(host)).sum();
    println!("queue peaks {peaks:?}, {drops} drops");
}
