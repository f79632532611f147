//! The protocol core on a simulated cluster.

use homarus_sim::load::{Poisson, PoissonPlan};
use homarus_sim::net::{Counts, LeafSpine, Network, NetworkRules};
use homarus_sim::scenario::HomaOptions;
use homarus_sim::transport::Message;
use homarus_sim::transport::homa::Homa;
use homarus_sim::{Application, Cluster, Time, Wishes};
use homarus_workloads::Workload;

/// Messages of W3 in two racks, until the last of 400 has arrived: what the network has done, and the packets still in it.
fn play(buffer: u64) -> (Counts, usize) {
    let shape = LeafSpine { racks: 2, hosts_per_rack: 4, ..LeafSpine::paper() };
    let mut rules = NetworkRules::UNBOUNDED;
    rules.switch.buffer = buffer;
    let setup = HomaOptions::default().setup(true);
    let hosts = (0..shape.hosts()).map(|host| Homa::new(host, &setup, 3).expect("valid settings")).collect();
    let mut cluster = Cluster::new(Network::new(shape.topology(), rules, 3), hosts);
    let plan = PoissonPlan {
        workload: Workload::builtin("w3").expect("built in"),
        interval: Time::from_micros(4),
        hosts: shape.hosts(),
        echo: false,
        count_from: Time::ZERO,
        counted: 400,
        seed: 3,
    };
    let mut arrived = 0;
    let mut application = Poisson::new(plan, |_, _| arrived += 1);
    assert!(cluster.run(&mut application, Time::from_secs(5.0)), "{} messages have not arrived", application.left());
    assert_eq!(arrived, 400);
    let network = cluster.network();
    (network.counts(), network.in_flight())
}

#[test]
fn packets_are_delivered_dropped_or_under_way() {
    for (buffer, drops) in [(u64::MAX / 2, false), (12_000, true)] {
        let (counts, in_flight) = play(buffer);
        assert_eq!(counts.sent, counts.delivered + counts.dropped + in_flight as u64, "{counts:?}");
        assert_eq!(counts.dropped > 0, drops, "{counts:?}");
    }
}

/// All hosts send to the first at once, so that much happens at the same time.
struct Together {
    left: u32,
}

impl Application for Together {
    fn begin(&mut self, wishes: &mut Wishes) {
        (1..=self.left).for_each(|host| wishes.send(host, 0, 20_000, 0));
    }

    fn alarm(&mut self, _now: Time, _token: u32, _wishes: &mut Wishes) {}

    fn done(&mut self, _now: Time, _message: &Message, _answered: bool, _wishes: &mut Wishes) {
        self.left -= 1;
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }
}

/// Wherever a run pauses to show its progress, the same happens in the same order.
#[test]
fn pauses_change_nothing() {
    let play = |step: Time| {
        let shape = LeafSpine { racks: 2, hosts_per_rack: 8, ..LeafSpine::paper() };
        let setup = HomaOptions::default().setup(true);
        let hosts = (0..shape.hosts()).map(|host| Homa::new(host, &setup, 3).expect("valid settings")).collect();
        let mut cluster = Cluster::new(Network::new(shape.topology(), NetworkRules::UNBOUNDED, 3), hosts);
        let mut application = Together { left: shape.hosts() - 1 };
        let mut until = step;
        while !cluster.run(&mut application, until) {
            until += step;
        }
        (cluster.network().trace(), cluster.now())
    };
    let whole = play(Time::from_secs(1.0));
    for nanos in [10, 100, 1_000] {
        assert_eq!(play(Time::from_nanos(nanos)), whole, "pauses of {nanos} ns");
    }
}
