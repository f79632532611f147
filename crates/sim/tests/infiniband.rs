//! InfiniBand: what credits do to a network.

mod script;

use homarus_sim::net::{Delays, Hop, LeafSpine, PortCounters};
use homarus_sim::transport::infiniband::{Infiniband, InfinibandSetup, NicCounters, NicSetup};
use homarus_sim::{Cluster, Time};
use script::{Line, Script, line, mixture};

/// Three racks of 16 hosts and one spine; 10 and 40 Gbit/s.
fn shape() -> LeafSpine {
    let nanos = Time::from_nanos;
    let delays = Delays { link: nanos(100), switch: nanos(200), transmit: nanos(300), receive: nanos(300) };
    LeafSpine { racks: 3, spines: 1, delays, ..LeafSpine::paper() }
}

fn setup() -> InfinibandSetup {
    InfinibandSetup::new(shape().host_rate)
}

struct Seen {
    script: Script,
    cluster: Cluster<Infiniband>,
}

impl Seen {
    fn ports(&self, hop: Hop) -> Vec<PortCounters> {
        let ports = self.cluster.network().ports(self.cluster.now());
        ports.filter(|(other, _)| *other == hop).map(|(_, port)| port).collect()
    }

    fn nics(&self) -> NicCounters {
        let mut sum = NicCounters::default();
        for nic in self.cluster.hosts().iter().map(Infiniband::counters) {
            sum.resent += nic.resent;
            sum.timeouts += nic.timeouts;
            sum.notified += nic.notified;
        }
        sum
    }
}

fn run(setup: InfinibandSetup, lines: Vec<Line>) -> Seen {
    run_with_loss(setup, lines, 0.0)
}

fn run_with_loss(setup: InfinibandSetup, lines: Vec<Line>, loss: f64) -> Seen {
    let network = setup.network(shape().topology(), 1).with_loss(loss);
    let mut cluster = Cluster::new(network, setup.hosts(shape().hosts()));
    let mut script = Script::new(lines);
    assert!(cluster.run(&mut script, Time::from_secs(2.0)), "{:?}", script.done);
    Seen { script, cluster }
}

fn alone(from: u32, to: u32, length: u32) -> Time {
    shape().topology().ideal(from, to, InfinibandSetup::NIC.frames.of(length))
}

/// All hosts of the first and third rack but one send to one in the second; that one sends to another there.
fn incast_and_victim() -> Vec<Line> {
    let senders = (1..16).chain(32..48);
    let mut lines: Vec<Line> = senders.map(|from| line(Time::ZERO, from, 16, LENGTH)).collect();
    lines.push(line(Time::from_micros(8_000), 0, 20, 100_000));
    lines
}

const VICTIM: usize = 31;
const LENGTH: u32 = 1_000_000;

#[test]
fn alone_a_message_takes_its_ideal_time() {
    for length in [0, 1, 2_048, 2_049, 500_000] {
        let seen = run(setup(), vec![line(Time::ZERO, 0, 40, length)]);
        assert_eq!(seen.script.took(0), alone(0, 40, length), "{length} bytes");
    }
}

#[test]
fn an_incast_loses_nothing_and_keeps_the_receiver_busy() {
    for table in [None, setup().table] {
        let setup = InfinibandSetup { table, ..setup() };
        let seen = run(setup, incast_and_victim());
        assert_eq!((seen.cluster.network().counts().dropped, seen.nics().resent, seen.nics().timeouts), (0, 0, 0));
        let last = (0..VICTIM).map(|line| seen.script.took(line)).max().unwrap_or_default();
        let all = shape().host_rate.time_for_many(31 * InfinibandSetup::NIC.frames.total(LENGTH));
        assert!(last >= all, "31 messages took {last}, their bytes alone {all}");
        if table.is_none() {
            assert!(last < all + Time::from_micros(100), "31 messages took {last}, their bytes alone {all}");
        }
    }
}

#[test]
fn no_queue_holds_more_than_the_credits_for_it() {
    let seen = run(InfinibandSetup { table: None, ..setup() }, incast_and_victim());
    let room = u64::from(setup().credits.buffer);
    let longest = |hop| seen.ports(hop).iter().map(|port| port.longest).max().unwrap_or(0);
    assert!(longest(Hop::HostDown) <= room, "one link leads from the spine to the receiver's rack");
    assert!(longest(Hop::RackUp) <= 16 * room && longest(Hop::RackDown) <= 3 * room);
    assert!(longest(Hop::HostDown) > room / 2);
}

#[test]
fn congestion_spreads_back_to_a_victim_whose_way_is_free_and_the_table_spares_it() {
    let spread = run(InfinibandSetup { table: None, ..setup() }, incast_and_victim());
    assert!(spread.ports(Hop::HostUp).iter().any(|port| port.stopped > Time::from_micros(100)));
    let (took, alone) = (spread.script.took(VICTIM), alone(0, 20, 100_000));
    assert!(took > alone * 5, "the victim took {took}, alone {alone}");
    let controlled = run(setup(), incast_and_victim());
    assert!(controlled.nics().notified > 0);
    let with = controlled.script.took(VICTIM);
    assert!(with * 2 < took, "the victim took {with} with the table and {took} without");
}

#[test]
fn every_message_arrives_once_even_if_links_lose_and_credits_come_back() {
    for loss in [0.0, 0.02] {
        let nic = NicSetup { timeout: Time::from_micros(500), ..InfinibandSetup::NIC };
        let seen = run_with_loss(InfinibandSetup { nic, ..setup() }, mixture(48, 200), loss);
        assert_eq!(seen.nics().resent > 0, loss > 0.0);
    }
}

#[test]
fn equal_runs_are_equal() {
    let trace = || run(setup(), incast_and_victim()).cluster.network().trace();
    assert_eq!(trace(), trace());
}
