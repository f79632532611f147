//! Other transports on the Homa paper's cluster, beside the slowdowns that the paper's simulations published.
//!
//! `cargo run --release -p homarus-sim --example rivals -- <transport> <workload> <load> <messages>`

use homarus_sim::load::{Poisson, PoissonPlan};
use homarus_sim::net::{LeafSpine, Network, NetworkRules};
use homarus_sim::report::published;
use homarus_sim::run::Bins;
use homarus_sim::transport::srpt::Srpt;
use homarus_sim::transport::{Frames, Transport};
use homarus_sim::{Cluster, Time};
use homarus_workloads::Workload;
use std::collections::HashMap;

/// Messages that begin earlier do not count: queues are filling.
const WARM_UP: Time = Time::from_micros(5_000);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let parsed = || {
        let [transport, workload, load, messages] = args.as_slice() else { return None };
        Some((transport.as_str(), Workload::builtin(workload)?, load.parse().ok()?, messages.parse().ok()?))
    };
    let Some((transport, workload, load, messages)) = parsed() else {
        eprintln!("expected: rivals srpt w1..w5 <load, such as 0.8> <messages>");
        std::process::exit(2);
    };
    let topology = LeafSpine::paper().topology();
    match transport {
        "srpt" => {
            let network = Network::new(topology.clone(), NetworkRules::UNBOUNDED, 7);
            run(network, Srpt::hosts(&topology, Frames::PAPER), "SRPT-Oracle", workload, load, messages);
        }
        other => {
            eprintln!("no transport {other:?}: expected srpt");
            std::process::exit(2);
        }
    }
}

fn run<T: Transport>(
    network: Network<T::Segment>,
    hosts: Vec<T>,
    name: &str,
    workload: Workload,
    load: f64,
    messages: u64,
) {
    let (shape, frames) = (LeafSpine::paper(), Frames::PAPER);
    let topology = shape.topology();
    let wire = workload.expect(|length| frames.total(length) as f64);
    let plan = PoissonPlan {
        workload: workload.clone(),
        interval: Time::from_secs(wire * 8.0 / (load * shape.host_rate.bits_per_second() as f64)),
        hosts: shape.hosts(),
        echo: false,
        count_from: WARM_UP,
        counted: messages,
        seed: 3,
    };
    let mut bins = Bins::of(&workload);
    let mut ideals: HashMap<(u32, bool), f64> = HashMap::new();
    let mut application = Poisson::new(plan, |message, now| {
        let same = shape.same_rack(message.from, message.to);
        let alone = || topology.ideal(message.from, message.to, frames.of(message.length)).as_micros();
        let ideal = *ideals.entry((message.length, same)).or_insert_with(alone);
        bins.record(message.length, (now - message.begun).as_micros() / ideal);
    });
    let mut cluster = Cluster::new(network, hosts);
    let started = std::time::Instant::now();
    let over = cluster.run(&mut application, Time::from_secs(3.0));
    let left = application.left();
    drop(application);
    let counts = cluster.network().counts();
    println!(
        "{name} {} {:.0} %: {} simulated in {:.1} s, {} hops, {} drops, trace {:016x}{}",
        workload.name(),
        load * 100.0,
        cluster.now(),
        started.elapsed().as_secs_f64(),
        counts.hops,
        counts.dropped,
        cluster.network().trace(),
        if over { String::new() } else { format!(", NOT CARRIED: {left} messages left") },
    );
    println!("  slowdown of         messages     P50     P99  P99 by bin  published   ratio");
    let published = published(&workload, name);
    for range in bins.ranges() {
        print!("  {:16}{:>12}{:>8.2}{:>8.2}{:>12.2}", range.what, range.count, range.p50, range.p99, range.p99_by_bin);
        match published.iter().find(|published| published.what == range.what) {
            Some(found) => println!("{:>11.2}{:>8.2}", found.p99_by_bin, range.p99_by_bin / found.p99_by_bin),
            None => println!(),
        }
    }
}
