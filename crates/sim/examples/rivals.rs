//! Other transports on the Homa paper's cluster, beside the slowdowns that the paper's simulations published.
//!
//! `cargo run --release -p homarus-sim --example rivals -- <transport> <workload> <load> <messages> <warm-up, ms>`
//!
//! Messages that begin during the warm-up do not count. Long messages of W4 wait for most of a second, and queues need
//! as long to fill.

use homarus_sim::load::{Poisson, PoissonPlan};
use homarus_sim::net::{LeafSpine, Network, NetworkRules};
use homarus_sim::scenario::Counting;
use homarus_sim::transport::pfabric::PFabricSetup;
use homarus_sim::transport::srpt::Srpt;
use homarus_sim::transport::{Frames, Transport};
use homarus_sim::{Cluster, Time};
use homarus_workloads::Workload;
use std::collections::HashMap;

/// Slowdowns at 80 % load by length, with their provenance in the first line.
const PUBLISHED: &str = include_str!("../data/sigcomm18_slowdown_w2_w4_load80.csv");

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let parsed = || {
        let [transport, workload, load, messages, warm_up] = args.as_slice() else { return None };
        let run = Run {
            workload: Workload::builtin(workload)?,
            load: load.parse().ok()?,
            messages: messages.parse().ok()?,
            warm_up: Time::from_micros(warm_up.parse::<u64>().ok()? * 1_000),
        };
        Some((transport.as_str(), run))
    };
    let Some((transport, run)) = parsed() else {
        eprintln!("expected: rivals srpt|pfabric w1..w5 <load, such as 0.8> <messages> <warm-up, ms>");
        std::process::exit(2);
    };
    let topology = LeafSpine::paper().topology();
    match transport {
        "srpt" => {
            let network = Network::new(topology.clone(), NetworkRules::UNBOUNDED, 7);
            // The oracle's load is counted as Homa's, whose program it was part of.
            let hosts = Srpt::hosts(&topology, Frames::PAPER);
            run.play(network, hosts, "SRPT-Oracle", |length| Counting::Paper.bytes(length));
        }
        "pfabric" => {
            let setup = PFabricSetup::PAPER;
            let network = Network::new(topology.clone(), setup.network(), 7);
            let counting = |length| setup.frames.total(length) as f64;
            run.play(network, setup.hosts(topology.hosts()), "pFabric", counting);
        }
        other => {
            eprintln!("no transport {other:?}: expected srpt or pfabric");
            std::process::exit(2);
        }
    }
}

/// What is asked for.
struct Run {
    workload: Workload,
    load: f64,
    messages: u64,
    warm_up: Time,
}

impl Run {
    /// `counting`: bytes on the wire that a message counts for in the load.
    fn play<T: Transport>(
        &self,
        network: Network<T::Segment>,
        hosts: Vec<T>,
        name: &str,
        counting: impl Fn(u32) -> f64,
    ) {
        let workload = &self.workload;
        let (shape, frames) = (LeafSpine::paper(), Frames::PAPER);
        let topology = shape.topology();
        let wire = workload.expect(counting);
        let plan = PoissonPlan {
            workload: workload.clone(),
            interval: Time::from_secs(wire * 8.0 / (self.load * shape.host_rate.bits_per_second() as f64)),
            hosts: shape.hosts(),
            echo: false,
            count_from: self.warm_up,
            counted: self.messages,
            seed: 3,
        };
        let mut bins = bins(workload, name);
        let mut ideals: HashMap<(u32, bool), f64> = HashMap::new();
        let mut application = Poisson::new(plan, |message, now| {
            let same = shape.same_rack(message.from, message.to);
            let alone = || topology.ideal(message.from, message.to, frames.of(message.length)).as_micros();
            let ideal = *ideals.entry((message.length, same)).or_insert_with(alone);
            let bin = bins.partition_point(|bin| bin.size < message.length).min(bins.len() - 1);
            bins[bin].slowdowns.push((now - message.begun).as_micros() / ideal);
        });
        let mut cluster = Cluster::new(network, hosts);
        let started = std::time::Instant::now();
        let over = cluster.run(&mut application, Time::from_secs(20.0));
        let left = application.left();
        drop(application);
        let counts = cluster.network().counts();
        println!(
            "{name} {} {:.0} %: {} simulated in {:.1} s, {} hops, {} drops, trace {:016x}{}",
            workload.name(),
            self.load * 100.0,
            cluster.now(),
            started.elapsed().as_secs_f64(),
            counts.hops,
            counts.dropped,
            cluster.network().trace(),
            if over { String::new() } else { format!(", NOT CARRIED: {left} messages left") },
        );
        println!("  slowdown of         messages     P50     P99  P99 by bin  published   ratio");
        for (what, from, to) in [
            ("smallest 10 %", 0.0, 10.0),
            ("smallest 50 %", 0.0, 50.0),
            ("all", 0.0, 100.0),
            ("largest 1 %", 99.0, 100.0),
        ] {
            tell(what, bins.iter_mut().filter(|bin| bin.upto > from + 1e-6 && bin.from < to - 1e-6));
        }
    }
}

/// Messages of like length.
struct Bin {
    /// Longest.
    size: u32,
    /// Shares of all messages below and up to this, per cent.
    from: f64,
    upto: f64,
    /// Of all messages, per cent, and their P99 where published.
    published: Option<(f64, f64)>,
    slowdowns: Vec<f64>,
}

/// The published bins; where there are none, one for each length.
fn bins(workload: &Workload, transport: &str) -> Vec<Bin> {
    let (name, mut upto) = (workload.name().to_uppercase(), 0.0);
    let rows = PUBLISHED.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let of_transport = rows.filter(|row| row.len() == 9 && row[0] == name && row[2] == transport);
    let bins = of_transport.filter_map(|row| {
        let number = |column: usize| row[column].parse::<f64>().ok();
        let (size, percent) = (number(3)?, number(4)?);
        upto += percent;
        let published = number(8).map(|p99| (percent, p99));
        Some(Bin { size: size as u32, from: upto - percent, upto, published, slowdowns: Vec::new() })
    });
    let bins: Vec<Bin> = bins.collect();
    if !bins.is_empty() {
        return bins;
    }
    let mut from = 0.0;
    let steps = workload.steps().iter().map(|step| {
        let before = std::mem::replace(&mut from, step.cumulative * 100.0);
        Bin { size: step.size, from: before, upto: from, published: None, slowdowns: Vec::new() }
    });
    steps.collect()
}

/// Tells of a range of bins: all its messages together, and the mean of the bins' P99 beside the published one.
fn tell<'a>(what: &str, bins: impl Iterator<Item = &'a mut Bin>) {
    let (mut all, mut by_bin, mut published, mut percent) = (Vec::new(), 0.0, 0.0, 0.0);
    for bin in bins {
        by_bin += bin.slowdowns.len() as f64 * quantile(&mut bin.slowdowns, 0.99);
        all.extend_from_slice(&bin.slowdowns);
        if let Some((share, p99)) = bin.published {
            published += share * p99;
            percent += share;
        }
    }
    let by_bin = by_bin / all.len() as f64;
    let (p50, p99) = (quantile(&mut all, 0.5), quantile(&mut all, 0.99));
    print!("  {what:16}{:>12}{p50:>8.2}{p99:>8.2}{by_bin:>12.2}", all.len());
    if percent > 0.0 {
        let published = published / percent;
        print!("{published:>11.2}{:>8.2}", by_bin / published);
    }
    println!();
}

fn quantile(values: &mut [f64], quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * quantile).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}
