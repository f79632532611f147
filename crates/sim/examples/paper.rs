//! trial
use homarus_proto::{Config, Framing};
use homarus_sim::load::{Poisson, PoissonPlan};
use homarus_sim::net::{Hop, LeafSpine, Network, NetworkRules};
use homarus_sim::transport::homa::{Homa, HomaSetup, HomaWire};
use homarus_sim::{Cluster, Time};
use homarus_workloads::Workload;
use std::collections::BTreeMap;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let workload = Workload::builtin(&args[1]).unwrap();
    let load: f64 = args[2].parse().unwrap();
    let counted: u64 = args[3].parse().unwrap();
    let oc: usize = args.get(4).map_or(7, |a| a.parse().unwrap());
    let shape = LeafSpine::paper();
    let topology = shape.topology();
    let wire = HomaWire::Paper;
    let config = Config {
        framing: Framing::Ip,
        mtu: wire.mtu(),
        unscheduled_start: 9328,
        unscheduled_min: 9328,
        unscheduled_max: 9328,
        overcommitment: oc,
        grant_fifo_percent: 0,
        send_fifo_percent: 0,
        pacing: false,
        incast_optimisation: false,
        max_incoming: 9328 * (oc as u32 + 1),
        default_deadline: None,
        ..Config::default()
    };
    let setup = HomaSetup { config, wire, one_way: true };
    let hosts: Vec<Homa> = (0..shape.hosts()).map(|h| Homa::new(h, &setup, 1).unwrap()).collect();
    let mean: f64 = workload.expect(|len| wire.frames(len).map(f64::from).sum());
    println!("mean wire {mean} payload share {}", workload.mean() / mean);
    let interval = Time::from_secs(mean * 8.0 / (load * 10e9));
    let warm = Time::from_micros(std::env::var("WARM").ok().map_or(5000, |w| w.parse().unwrap()));
    let network = Network::new(topology.clone(), NetworkRules::UNBOUNDED, 7);
    let mut cluster = Cluster::new(network, hosts);
    let mut all: BTreeMap<u32, Vec<f32>> = BTreeMap::new();
    let mut ideals: BTreeMap<(u32, bool), f64> = BTreeMap::new();
    let plan = PoissonPlan {
        workload: workload.clone(),
        interval,
        hosts: shape.hosts(),
        echo: false,
        count_from: warm,
        counted,
        seed: 3,
    };
    let mut app = Poisson::new(plan, |m, now| {
        let same = shape.same_rack(m.from, m.to);
        let ideal = *ideals
            .entry((m.length, same))
            .or_insert_with(|| topology.ideal(m.from, m.to, wire.frames(m.length)).as_micros());
        all.entry(m.length).or_default().push((now.since(m.begun).as_micros() / ideal) as f32);
    });
    let t = std::time::Instant::now();
    let mut until = Time::ZERO;
    loop {
        until += Time::from_micros(2000);
        if cluster.run(&mut app, until) || until > Time::from_secs(3.0) {
            break;
        }
        if std::env::var("V").is_ok() {
            eprintln!(
                "{until} left {} flight {} {:.1}s",
                app.left(),
                cluster.network().in_flight(),
                t.elapsed().as_secs_f64()
            );
        }
    }
    let el = t.elapsed().as_secs_f64();
    let c = cluster.network().counts();
    println!(
        "simulated {} in {el:.2} s; {:?}; {:.2} M hops/s; left {}",
        cluster.now(),
        c,
        c.hops as f64 / el / 1e6,
        app.left()
    );
    drop(app);
    for hop in [Hop::HostUp, Hop::RackUp, Hop::RackDown, Hop::HostDown] {
        let ports: Vec<_> = cluster.network().ports(cluster.now()).filter(|p| p.0 == hop).map(|p| p.1).collect();
        let n = ports.len() as f64;
        println!(
            "{hop:?}: mean {:.0} B longest {} B use {:.3}",
            ports.iter().map(|p| p.byte_nanos as f64).sum::<f64>() / n / cluster.now().as_nanos() as f64,
            ports.iter().map(|p| p.longest).max().unwrap(),
            ports.iter().map(|p| p.bytes as f64).sum::<f64>() / n * 8.0
                / cluster.now().as_secs()
                / if matches!(hop, Hop::HostUp | Hop::HostDown) { 10e9 } else { 40e9 }
        );
    }
    let total: usize = all.values().map(Vec::len).sum();
    let p = |v: &mut Vec<f32>, q: f64| {
        v.sort_by(f32::total_cmp);
        v[((v.len() - 1) as f64 * q) as usize]
    };
    let range = |lo: f64, hi: f64| -> Vec<f32> {
        let mut seen = 0;
        let mut out = vec![];
        for v in all.values() {
            let at = seen as f64 / total as f64;
            let mid = (seen as f64 + v.len() as f64) / total as f64;
            if at >= lo - 1e-9 && mid <= hi + 0.02 {
                out.extend(v);
            }
            seen += v.len();
        }
        out
    };
    for (name, lo, hi) in
        [("smallest 10 %", 0.0, 0.1), ("smallest 50 %", 0.0, 0.5), ("all", 0.0, 1.0), ("largest 1 %", 0.99, 1.0)]
    {
        let mut v = range(lo, hi);
        if v.is_empty() {
            continue;
        }
        println!("{name}: n {} p50 {:.2} p99 {:.2}", v.len(), p(&mut v, 0.5), p(&mut v, 0.99));
    }
    let st = cluster.hosts()[0].endpoint().stats();
    println!("{st:?}");
}
