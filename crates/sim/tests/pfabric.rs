//! pFabric: short messages pass long ones anywhere, and what is dropped comes again.

mod script;

use homarus_sim::net::{Hop, LeafSpine, Network};
use homarus_sim::transport::pfabric::{PFabric, PFabricSetup};
use homarus_sim::{Cluster, Time};
use script::{Line, Script, line, mixture};

const SETUP: PFabricSetup = PFabricSetup::PAPER;

fn run(lines: Vec<Line>, loss: f64) -> (Script, Cluster<PFabric>) {
    let topology = LeafSpine::paper().topology();
    let network = Network::new(topology.clone(), SETUP.network(), 1).with_loss(loss);
    let mut cluster = Cluster::new(network, SETUP.hosts(topology.hosts()));
    let mut script = Script::new(lines);
    assert!(cluster.run(&mut script, Time::from_secs(2.0)), "{:?}", script.done);
    (script, cluster)
}

fn alone(from: u32, to: u32, length: u32) -> Time {
    LeafSpine::paper().topology().ideal(from, to, SETUP.frames.of(length))
}

#[test]
fn alone_a_message_takes_its_ideal_time() {
    for length in [0, 1, 1_442, 1_443, 300_000] {
        for to in [1, 140] {
            let (script, _) = run(vec![line(Time::ZERO, 0, to, length)], 0.0);
            // Sprayed over several spines, a short last frame may pass the one before it.
            let (took, alone) = (script.took(0), alone(0, to, length));
            assert!(took <= alone && took * 21 >= alone * 20, "{length} bytes to host {to}: {took}, not {alone}");
        }
    }
}

#[test]
fn a_response_comes_back_by_the_same_rules() {
    let (script, _) = run(vec![Line { at: Time::ZERO, from: 0, to: 50, length: 100, reply: Some(9_000) }], 0.0);
    let ack = LeafSpine::paper().host_rate.time_for(SETUP.ack);
    assert_eq!(script.took(0), alone(0, 50, 100) + ack + alone(50, 0, 9_000));
}

#[test]
fn a_short_message_waits_for_no_more_than_one_packet_of_long_ones_at_each_hop() {
    let at = Time::from_micros(100);
    let mut lines: Vec<Line> = (20..30).map(|from| line(Time::ZERO, from, 1, 200_000)).collect();
    lines.push(line(Time::ZERO, 0, 100, 200_000));
    lines.push(line(at, 0, 1, 1_000));
    let (script, _) = run(lines, 0.0);
    let full = LeafSpine::paper().host_rate.time_for(SETUP.frames.wire(SETUP.frames.payload));
    let (took, alone) = (script.took(11), alone(0, 1, 1_000));
    assert!(took <= alone + full * 2, "it took {took}, alone {alone}");
}

#[test]
fn the_shortest_of_an_incast_ends_first_and_all_arrive() {
    let lengths = (1..=60).map(|step| step * 3_000);
    let lines: Vec<Line> = (1..).zip(lengths).map(|(from, length)| line(Time::ZERO, from, 0, length)).collect();
    let (script, cluster) = run(lines, 0.0);
    assert!(cluster.network().counts().dropped > 0);
    let down = cluster.network().ports(cluster.now()).filter(|(hop, _)| *hop == Hop::HostDown);
    let longest = down.map(|(_, port)| port.longest).max().unwrap_or(0);
    let full = u64::from(SETUP.frames.wire(SETUP.frames.payload));
    assert!(longest <= u64::from(SETUP.queue) * full, "{longest} bytes waited");
    assert!(script.took(0) < script.took(20) && script.took(20) < script.took(59));
}

#[test]
fn every_message_arrives_once_however_much_is_lost() {
    for loss in [0.01, 0.3] {
        let (_, cluster) = run(mixture(30, 200), loss);
        assert!(cluster.network().counts().dropped > 0);
    }
}

#[test]
fn equal_runs_are_equal() {
    let lines = || (1..=60).map(|from| line(Time::ZERO, from, 0, 100_000)).collect();
    assert_eq!(run(lines(), 0.01).1.network().trace(), run(lines(), 0.01).1.network().trace());
}
