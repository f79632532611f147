//! The oracle: messages alone take no more than they must, short ones never wait for long ones.

mod script;

use homarus_sim::net::{LeafSpine, Network, NetworkRules};
use homarus_sim::transport::Frames;
use homarus_sim::transport::srpt::Srpt;
use homarus_sim::{Cluster, Time};
use script::{Line, Script, line, mixture};

const FRAMES: Frames = Frames::PAPER;

fn run(lines: Vec<Line>) -> Script {
    let topology = LeafSpine::paper().topology();
    let network = Network::new(topology.clone(), NetworkRules::UNBOUNDED, 1);
    let mut cluster = Cluster::new(network, Srpt::hosts(&topology, FRAMES));
    let mut script = Script::new(lines);
    assert!(cluster.run(&mut script, Time::from_secs(1.0)));
    script
}

fn alone(from: u32, to: u32, length: u32) -> Time {
    LeafSpine::paper().topology().ideal(from, to, FRAMES.of(length))
}

#[test]
fn alone_a_message_takes_its_ideal_time() {
    for length in [0, 1, 100, 1_442, 1_443, 5_000, 1_000_000] {
        for to in [1, 140] {
            let script = run(vec![line(Time::ZERO, 0, to, length)]);
            assert_eq!(script.took(0), alone(0, to, length), "{length} bytes to host {to}");
        }
    }
}

#[test]
fn a_response_comes_back_by_the_same_rules() {
    let script = run(vec![Line { at: Time::ZERO, from: 0, to: 50, length: 100, reply: Some(9_000) }]);
    assert_eq!(script.took(0), alone(0, 50, 100) + alone(50, 0, 9_000));
}

#[test]
fn a_short_message_interrupts_long_ones_at_both_ends() {
    let at = Time::from_micros(50);
    let script = run(vec![line(Time::ZERO, 0, 20, 100_000), line(Time::ZERO, 40, 60, 100_000), line(at, 0, 60, 100)]);
    assert_eq!(script.took(2), alone(0, 60, 100));
    let lost = LeafSpine::paper().host_rate.time_for(FRAMES.wire(100));
    assert_eq!(script.took(0), alone(0, 20, 100_000) + lost);
    assert_eq!(script.took(1), alone(40, 60, 100_000) + lost);
}

#[test]
fn an_incast_is_served_one_after_the_other() {
    let lines: Vec<Line> = (1..=100).map(|from| line(Time::ZERO, from, 0, 10_000)).collect();
    let script = run(lines);
    let last = (0..100).map(|line| script.took(line)).max();
    let rate = LeafSpine::paper().host_rate;
    let ends = rate.time_for_many(99 * FRAMES.total(10_000));
    assert!(last.is_some_and(|last| last >= ends && last <= ends + alone(1, 140, 10_000)), "{last:?}");
}

#[test]
fn every_message_arrives_once() {
    run(mixture(144, 1_000));
}
