//! RoCE: what pausing and going back N do to a network.

mod script;

use homarus_sim::net::{Delays, Hop, LeafSpine, Network, PfcRules, PortCounters};
use homarus_sim::transport::roce::{NicCounters, Roce, RoceSetup};
use homarus_sim::{Cluster, Rate, Time};
use script::{Line, Script, line, mixture};

/// Three racks of 16 hosts and one spine; 10 and 40 Gbit/s.
fn shape() -> LeafSpine {
    let nanos = Time::from_nanos;
    let delays = Delays { link: nanos(300), switch: nanos(450), transmit: nanos(500), receive: nanos(500) };
    LeafSpine { racks: 3, spines: 1, delays, ..LeafSpine::paper() }
}

fn setup() -> RoceSetup {
    RoceSetup::vendor(shape().host_rate)
}

/// Switches with little room, so that little is enough to fill it; no congestion control.
fn small_buffers() -> RoceSetup {
    let pfc = PfcRules { buffer: 1_000_000, ..PfcRules::default() };
    RoceSetup { pfc: Some(pfc), dcqcn: None, buffer: 100_000, ..setup() }
}

struct Seen {
    script: Script,
    cluster: Cluster<Roce>,
}

impl Seen {
    fn port(&self, hop: Hop) -> PortCounters {
        let mut sum = PortCounters::default();
        for (_, port) in self.cluster.network().ports(self.cluster.now()).filter(|(other, _)| *other == hop) {
            sum.stops += port.stops;
            sum.stopped += port.stopped;
            sum.longest = sum.longest.max(port.longest);
            sum.marked += port.marked;
        }
        sum
    }

    fn dropped(&self) -> u64 {
        self.cluster.network().counts().dropped
    }

    fn nics(&self) -> NicCounters {
        let mut sum = NicCounters::default();
        for nic in self.cluster.hosts().iter().map(Roce::counters) {
            sum.sent += nic.sent;
            sum.resent += nic.resent;
            sum.went_back += nic.went_back;
            sum.timeouts += nic.timeouts;
            sum.notified += nic.notified;
        }
        sum
    }
}

fn run_on(
    network: Network<<Roce as homarus_sim::transport::Transport>::Segment>,
    setup: RoceSetup,
    lines: Vec<Line>,
) -> Seen {
    let hosts = setup.hosts(network.topology().hosts());
    let mut cluster = Cluster::new(network, hosts);
    let mut script = Script::new(lines);
    assert!(cluster.run(&mut script, Time::from_secs(2.0)), "{:?}", script.done);
    Seen { script, cluster }
}

fn run(setup: RoceSetup, lines: Vec<Line>) -> Seen {
    run_on(setup.network(shape().topology(), 1), setup, lines)
}

fn alone(from: u32, to: u32, length: u32) -> Time {
    shape().topology().ideal(from, to, RoceSetup::NIC.frames.of(length))
}

/// Fifteen hosts of the first rack and fifteen of the third send to one in the second.
fn incast(length: u32) -> Vec<Line> {
    let senders = (1..16).chain(33..48);
    senders.map(|from| line(Time::ZERO, from, 16, length)).collect()
}

/// The same, and a message from the first rack to an idle host in the second.
fn incast_and_victim() -> Vec<Line> {
    let mut lines = incast(500_000);
    lines.push(line(Time::from_micros(500), 0, 20, 100_000));
    lines
}

#[test]
fn alone_a_message_takes_its_ideal_time() {
    for length in [0, 1, 1_000, 1_001, 300_000] {
        let seen = run(setup(), vec![line(Time::ZERO, 0, 40, length)]);
        assert_eq!(seen.script.took(0), alone(0, 40, length), "{length} bytes");
    }
}

#[test]
fn messages_of_a_queue_pair_wait_for_each_other() {
    let seen = run(setup(), vec![line(Time::ZERO, 0, 40, 1_000_000), line(Time::ZERO, 0, 40, 10)]);
    assert!(seen.script.took(1) > seen.script.took(0));
    let call = Line { at: Time::ZERO, from: 0, to: 40, length: 10, reply: Some(5_000) };
    let ack = shape().host_rate.time_for(RoceSetup::NIC.ack);
    assert_eq!(run(setup(), vec![call]).script.took(0), alone(0, 40, 10) + ack + alone(40, 0, 5_000));
}

#[test]
fn pausing_loses_nothing_and_makes_victims_of_those_whose_way_is_free() {
    let seen = run(small_buffers(), incast_and_victim());
    assert_eq!((seen.dropped(), seen.nics().resent), (0, 0));
    let (took, alone) = (seen.script.took(30), alone(0, 20, 100_000));
    assert!(took > alone * 5, "the victim took {took}, alone {alone}");
    let lossy = run(RoceSetup { pfc: None, ..small_buffers() }, incast_and_victim());
    let took = lossy.script.took(30);
    assert!(took < alone * 2, "without pauses the victim took {took}, alone {alone}");
}

#[test]
fn pauses_spread_from_the_receiver_to_all_senders() {
    let seen = run(small_buffers(), incast_and_victim());
    for hop in [Hop::RackDown, Hop::RackUp, Hop::HostUp] {
        let port = seen.port(hop);
        assert!(port.stops > 0 && port.stopped > Time::from_micros(100), "{hop:?}: {port:?}");
    }
    assert_eq!(seen.port(Hop::HostDown).stops, 0, "hosts take what comes");
}

#[test]
fn congestion_control_spares_the_victim() {
    let paused = run(small_buffers(), incast_and_victim());
    let paper = RoceSetup::paper(shape().host_rate);
    let setup = RoceSetup { pfc: small_buffers().pfc, ..paper };
    let controlled = run(setup, incast_and_victim());
    assert!(controlled.nics().notified > 0 && controlled.port(Hop::HostDown).marked > 0);
    let (with, without) = (controlled.script.took(30), paused.script.took(30));
    assert!(with * 3 < without * 2, "the victim took {with} with DCQCN and {without} without");
}

#[test]
fn without_pauses_going_back_n_sends_much_again() {
    let lossless = run(small_buffers(), incast(500_000));
    let lossy = run(RoceSetup { pfc: None, ..small_buffers() }, incast(500_000));
    let last = |seen: &Seen| (0..30).map(|line| seen.script.took(line)).max().unwrap_or_default();
    assert_eq!((lossless.dropped(), lossless.nics().resent), (0, 0));
    let nics = lossy.nics();
    assert!(lossy.dropped() > 0 && nics.resent > nics.sent / 4, "{nics:?}");
    assert!(last(&lossy) > last(&lossless), "{} without pauses, {} with", last(&lossy), last(&lossless));
}

#[test]
fn a_thousandth_lost_costs_much_more_than_a_thousandth() {
    let setup = setup();
    let shape = LeafSpine { host_rate: Rate::from_gbits(40), ..shape() };
    let setup = RoceSetup { line: shape.host_rate, ..setup };
    let long = || vec![line(Time::ZERO, 0, 40, 20_000_000)];
    let clean = run_on(setup.network(shape.topology(), 1), setup, long());
    let lossy = run_on(setup.network(shape.topology(), 1).with_loss(0.001), setup, long());
    assert_eq!(clean.nics().resent, 0);
    let (nics, lost) = (lossy.nics(), lossy.dropped());
    assert!(lost > 20 && nics.resent > 20 * nics.went_back, "{lost} lost, {nics:?}");
    let (with, without) = (lossy.script.took(0), clean.script.took(0));
    assert!(with.as_picos() > without.as_picos() * 103 / 100, "{with} with loss, {without} without");
}

#[test]
fn with_too_little_headroom_packets_are_lost_in_spite_of_pauses() {
    let pfc = PfcRules { buffer: 1_000_000, headroom: Some(1_200), ..PfcRules::default() };
    let seen = run(RoceSetup { pfc: Some(pfc), ..small_buffers() }, incast(200_000));
    assert!(seen.dropped() > 0);
    let refused: u64 = seen.cluster.network().ports(seen.cluster.now()).map(|(_, port)| port.refused).sum();
    assert_eq!(refused, seen.dropped());
}

#[test]
fn every_message_arrives_once_however_much_is_lost() {
    for (pfc, loss) in [(None, 0.0), (None, 0.05), (small_buffers().pfc, 0.05), (small_buffers().pfc, 0.3)] {
        let setup = RoceSetup { pfc, ..small_buffers() };
        let network = setup.network(shape().topology(), 1).with_loss(loss);
        run_on(network, setup, mixture(48, 200));
    }
}

#[test]
fn equal_runs_are_equal() {
    let trace = || run(small_buffers(), incast_and_victim()).cluster.network().trace();
    assert_eq!(trace(), trace());
}
