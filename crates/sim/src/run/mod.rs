//! Runs a scenario and measures it.

mod bins;
mod outcome;

pub(crate) use bins::RANGES;
pub use bins::{Bin, Bins, Range};
pub use outcome::{HopUse, Outcome, Rounds};

use crate::Time;
use crate::cluster::{Application, Cluster};
use crate::load::{Incast, Poisson, PoissonPlan};
use crate::net::{LeafSpine, Marking, Network, NetworkRules, PortRules, Topology};
use crate::scenario::{Counting, LoadPlan, Scenario, ScenarioError, TransportChoice};
use crate::transport::homa::{Homa, HomaSetup};
use crate::transport::infiniband::{Infiniband, InfinibandSetup};
use crate::transport::pfabric::{PFabric, PFabricSetup};
use crate::transport::roce::Roce;
use crate::transport::srpt::Srpt;
use crate::transport::tcp::Tcp;
use crate::transport::{Frames, Transport};
use hdrhistogram::Histogram;
use homarus_workloads::Workload;
use std::collections::HashMap;

/// Simulated time between two looks at the progress.
const STEP: Time = Time::from_micros(100);

/// A load that takes so many times as long as planned cannot be carried, once the longest message has had the time of so
/// many of its kind.
const PATIENCE: u64 = 4;
const LONGEST_TIMES: u64 = 50;

/// Told how far a run is: messages or rounds done, and all of them.
pub type Watch<'a> = &'a mut dyn FnMut(u64, u64);

/// Lets one of the scenario's transports carry its load.
///
/// # Errors
/// If the scenario is out of range.
pub fn run(scenario: &Scenario, transport: &TransportChoice, watch: Watch<'_>) -> Result<Outcome, ScenarioError> {
    scenario.check()?;
    let (shape, rules, seed) = (scenario.cluster.shape(), scenario.switch.rules(), scenario.seed);
    let (topology, hosts) = (shape.topology(), 0..shape.hosts());
    let play = Play { scenario, label: transport.label(), shape, topology: topology.clone() };
    Ok(match transport {
        TransportChoice::Homa(options) => {
            let setup = options.setup(scenario.is_one_way());
            let hosts = hosts.map(|host| make_homa(host, &setup, seed)).collect();
            play.run::<Homa>(Network::new(topology, rules, seed), hosts, |length| setup.wire.frames(length), watch)
        }
        TransportChoice::Tcp(options) => {
            let setup = options.setup(false);
            let hosts = hosts.map(|host| Tcp::new(host, &setup)).collect();
            let frames = |length| setup.frames(length).collect();
            play.run::<Tcp>(Network::new(topology, rules, seed), hosts, frames, watch)
        }
        TransportChoice::Dctcp(options) => {
            let setup = options.setup(true);
            let marking = rules.switch.marking.or(Some(Marking::at(options.mark_from)));
            let rules = NetworkRules { switch: PortRules { marking, ..rules.switch }, ..rules };
            let hosts = hosts.map(|host| Tcp::new(host, &setup)).collect();
            let frames = |length| setup.frames(length).collect();
            play.run::<Tcp>(Network::new(topology, rules, seed), hosts, frames, watch)
        }
        TransportChoice::Roce(options) => {
            let setup = options.setup(shape.host_rate, scenario.switch.buffer);
            let frames = |length| setup.nic.frames.of(length).collect();
            play.run::<Roce>(setup.network(topology, seed), setup.hosts(shape.hosts()), frames, watch)
        }
        TransportChoice::Infiniband => {
            let setup = InfinibandSetup::new(shape.host_rate);
            let frames = |length| setup.nic.frames.of(length).collect();
            play.run::<Infiniband>(setup.network(topology, seed), setup.hosts(shape.hosts()), frames, watch)
        }
        TransportChoice::Pfabric => {
            let setup = PFabricSetup::PAPER;
            let hosts = hosts.map(|host| PFabric::new(host, setup)).collect();
            let frames = |length| setup.frames.of(length).collect();
            play.run::<PFabric>(Network::new(topology, setup.network(), seed), hosts, frames, watch)
        }
        TransportChoice::Srpt => {
            let hosts = Srpt::hosts(&topology, Frames::PAPER);
            let frames = |length| Frames::PAPER.of(length).collect();
            play.run::<Srpt>(Network::new(topology, rules, seed), hosts, frames, watch)
        }
    })
}

fn make_homa(host: u32, setup: &HomaSetup, seed: u64) -> Homa {
    Homa::new(host, setup, seed).unwrap_or_else(|e| unreachable!("a checked scenario gives valid settings: {e}"))
}

/// A scenario about to be played by one transport.
struct Play<'a> {
    scenario: &'a Scenario,
    label: String,
    shape: LeafSpine,
    topology: Topology,
}

impl Play<'_> {
    /// Carries the load over these hosts. `frames` says what a message takes on the wire.
    fn run<T: Transport>(
        self,
        network: Network<T::Segment>,
        hosts: Vec<T>,
        frames: impl Fn(u32) -> Vec<u32>,
        watch: Watch<'_>,
    ) -> Outcome {
        let Play { scenario, label, shape, topology } = self;
        let mut cluster = Cluster::new(network, hosts);
        match &scenario.load {
            LoadPlan::Poisson { load, messages, warm_up_us, echo, counting, .. } => {
                let workload = scenario.workload().unwrap_or_else(|| unreachable!("a checked scenario has a workload"));
                let mut bins = Bins::of(&workload);
                let mut ideals =
                    Ideals { shape, topology: &topology, frames: &frames, known: HashMap::new(), echo: *echo };
                let plan = PoissonPlan {
                    // Of an RPC each host sends the request or the response.
                    interval: interval(&workload, *counting, *load, &shape) * if *echo { 2 } else { 1 },
                    workload,
                    hosts: shape.hosts(),
                    echo: *echo,
                    count_from: Time::from_micros(*warm_up_us),
                    counted: *messages,
                    seed: scenario.seed,
                };
                let longest = ideals.of(0, shape.hosts() - 1, plan.workload.largest());
                let planned = plan.count_from + plan.interval * (*messages / u64::from(plan.hosts)).max(1);
                let mut application = Poisson::new(plan, |message, now| {
                    let took = now - message.begun;
                    let ideal = ideals.of(message.from, message.to, message.length);
                    bins.record(message.length, took.as_picos() as f64 / ideal.as_picos() as f64);
                });
                let mut count = |application: &Poisson<_>| watch(*messages - application.left(), *messages);
                let over =
                    step(&mut cluster, &mut application, planned * PATIENCE + longest * LONGEST_TIMES, &mut count);
                Outcome::of(label, &cluster, &shape, over).with_slowdowns(&bins)
            }
            LoadPlan::Incast { requests, size, rounds } => {
                let mut times = Histogram::new(3).unwrap_or_else(|e| unreachable!("a histogram of three digits: {e}"));
                let mut application = Incast::new(shape.hosts(), *requests, *size, *rounds, |took: Time| {
                    // Nothing takes longer than the histogram's range.
                    let _ = times.record(took.as_nanos());
                });
                let bytes = u64::from(*requests) * u64::from(*size);
                let alone = shape.host_rate.time_for_many(bytes) + Time::from_micros(100);
                let limit = (alone * 100 + Time::from_secs(10.0)) * *rounds;
                let over = step(&mut cluster, &mut application, limit, &mut |application: &Incast<_>| {
                    watch(*rounds - application.rounds_left(), *rounds);
                });
                Outcome::of(label, &cluster, &shape, over).with_rounds(&times, bytes)
            }
        }
    }
}

/// Runs step by step until the application is over, or `limit`.
fn step<T: Transport, A: Application>(
    cluster: &mut Cluster<T>,
    application: &mut A,
    limit: Time,
    watch: &mut dyn FnMut(&A),
) -> bool {
    let mut until = Time::ZERO;
    loop {
        until += STEP;
        let over = cluster.run(application, until);
        watch(application);
        if over || until > limit {
            return over;
        }
    }
}

/// Mean time between a host's messages: its link carries `load` of what it could, in bytes on the wire.
fn interval(workload: &Workload, counting: Counting, load: f64, shape: &LeafSpine) -> Time {
    let wire = workload.expect(|length| counting.bytes(length));
    Time::from_secs(wire * 8.0 / (load * shape.host_rate.bits_per_second() as f64))
}

/// How long messages take alone, computed once for each length and distance.
struct Ideals<'a, F> {
    shape: LeafSpine,
    topology: &'a Topology,
    frames: &'a F,
    known: HashMap<(u32, bool), Time>,
    echo: bool,
}

impl<F: Fn(u32) -> Vec<u32>> Ideals<'_, F> {
    fn of(&mut self, from: u32, to: u32, length: u32) -> Time {
        let Ideals { shape, topology, frames, known, echo } = self;
        *known.entry((length, shape.same_rack(from, to))).or_insert_with(|| {
            let one_way = topology.ideal(from, to, frames(length));
            if *echo { one_way * 2 } else { one_way }
        })
    }
}
