use homarus_sim::net::{Delays, LeafSpine, Marking, Network, NetworkRules, Order, Paths, PortRules};
use homarus_sim::transport::Message;
use homarus_sim::transport::dctcp;
use homarus_sim::transport::tcp::{Congestion, Connections, Qdisc, Tcp, TcpCounts, TcpSetup};
use homarus_sim::{Application, Cluster, Rate, Time, Wishes};
use rand::{RngExt, SeedableRng};

/// A cluster that runs TCP.
pub(crate) type Hosts = Cluster<Tcp>;

/// Hosts on one switch, or on several below spines.
#[derive(Clone, Copy)]
pub(crate) struct Rack {
    /// In each rack.
    pub(crate) hosts: u32,
    pub(crate) racks: u32,
    pub(crate) spines: u32,
    /// Bytes that a switch's port holds, and beyond how many it marks.
    pub(crate) buffer: u64,
    pub(crate) mark_at: Option<u64>,
    pub(crate) paths: Paths,
    /// Gbit/s of the hosts' links and of those between switches.
    pub(crate) gbits: (u64, u64),
}

impl Default for Rack {
    fn default() -> Rack {
        Rack { hosts: 2, racks: 1, spines: 2, buffer: 1 << 30, mark_at: None, paths: Paths::ByFlow, gbits: (10, 40) }
    }
}

impl Rack {
    pub(crate) fn cluster(&self, setup: &TcpSetup) -> Hosts {
        let shape = LeafSpine {
            racks: self.racks,
            hosts_per_rack: self.hosts,
            spines: self.spines,
            host_rate: Rate::from_gbits(self.gbits.0),
            fabric_rate: Rate::from_gbits(self.gbits.1),
            delays: Delays::PAPER,
        };
        let marking = self.mark_at.map(Marking::at);
        let switch = PortRules { buffer: self.buffer, order: Order::Priority, marking };
        let network = Network::new(shape.topology(), NetworkRules { switch, paths: self.paths }, 1);
        Cluster::new(network, (0..shape.hosts()).map(|host| Tcp::new(host, setup)).collect())
    }
}

/// Settings and a network, usual and unusual ones.
pub(crate) fn random_settings(seed: u64) -> (TcpSetup, Rack) {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
    let micros = Time::from_micros;
    let mut among = |count: usize| rng.random_range(0..count);
    let mss = [1_448, 100, 8_948][among(3)];
    let setup = TcpSetup {
        congestion: [Congestion::Reno, Congestion::Cubic, Congestion::Dctcp { g: dctcp::G }][among(3)],
        connections: [
            Connections::Pipelined,
            Connections::Pool { most: None },
            Connections::Pool { most: Some(1) },
            Connections::Pool { most: Some(3) },
        ][among(4)],
        mss,
        initial_window: [1, 2, 10, 50][among(4)],
        receive_window: [mss, 20_000, 6 << 20][among(3)],
        minimum_rto: [micros(50), micros(1_000), micros(200_000)][among(3)],
        delayed_ack: [None, Some(micros(100)), Some(micros(40_000))][among(3)],
        ack_at_end: among(2) == 0,
        slow_start_after_idle: among(2) == 0,
        hystart: among(2) == 0,
        ecn: among(2) == 0,
        tail_loss_probe: among(2) == 0,
        probe_margin: [micros(0), micros(10), micros(2_000)][among(3)],
        qdisc: [Qdisc::Fair, Qdisc::Fifo][among(2)],
        ..TcpSetup::LINUX
    };
    let rack = Rack {
        hosts: 4 + 4 * among(3) as u32,
        racks: 2 + among(2) as u32,
        buffer: u64::from(mss + 100) * (1 + among(12) as u64),
        mark_at: Some(among(10_000) as u64),
        paths: [Paths::Spray, Paths::ByFlow][among(2)],
        ..Rack::default()
    };
    (setup, rack)
}

/// What all hosts have done.
pub(crate) fn totals(cluster: &Hosts) -> TcpCounts {
    cluster.hosts().iter().map(Tcp::counts).fold(TcpCounts::default(), |all, one| TcpCounts {
        segments: all.segments + one.segments,
        retransmissions: all.retransmissions + one.retransmissions,
        acks: all.acks + one.acks,
        bytes_sent: all.bytes_sent + one.bytes_sent,
        bytes_received: all.bytes_received + one.bytes_received,
        timeouts: all.timeouts + one.timeouts,
        probes: all.probes + one.probes,
    })
}

/// Bytes in order that a host has from another.
pub(crate) fn bytes_received(cluster: &Hosts, host: u32, from: u32) -> u64 {
    let connections = cluster.hosts()[host as usize].connections();
    connections.filter(|connection| connection.peer == from).map(|connection| connection.received).sum()
}

/// Messages at set times: when, from, to, length, length of the response.
type Planned = (Time, u32, u32, u32, Option<u32>);

pub(crate) struct Script {
    planned: Vec<Planned>,
    /// When each was done, in the order of the plan; a message again is counted.
    done: Vec<Option<Time>>,
    left: usize,
    repeats: usize,
    /// All of the plan again, so many times, each when the last is over.
    rounds: usize,
}

impl Script {
    pub(crate) fn new(planned: Vec<Planned>) -> Script {
        let left = planned.len();
        Script { done: vec![None; left], planned, left, repeats: 0, rounds: 1 }
    }

    /// Host 0 asks so many others at once, and again when all have answered.
    pub(crate) fn incast(servers: u32, length: u32, rounds: usize) -> Script {
        let ask = |server| (Time::ZERO, 0, server, 100, Some(length));
        Script { rounds, ..Script::new((1..=servers).map(ask).collect()) }
    }

    /// Messages of all lengths between all hosts at random times of the first millisecond, half of them answered.
    pub(crate) fn random(hosts: u32, messages: u32, seed: u64) -> Script {
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
        let mut planned: Vec<Planned> = (0..messages)
            .map(|_| {
                let at = Time::from_nanos(rng.random_range(0..1_000_000));
                let from = rng.random_range(0..hosts);
                // A few hosts are favoured, so that their ports overflow.
                let to = (from + 1 + rng.random_range(0..hosts - 1)) % hosts / 6 * 6;
                let to = if to == from { to + 1 } else { to };
                let length = 1u32 << rng.random_range(0..17);
                let reply = (rng.random_range(0..2) == 0).then(|| rng.random_range(0..20_000));
                (at, from, to, rng.random_range(0..length) + length / 2, reply)
            })
            .collect();
        planned.sort();
        Script::new(planned)
    }

    /// How long a message took.
    pub(crate) fn time_of(&self, index: usize) -> Time {
        self.done[index].map_or(Time::NEVER, |done| done - self.planned[index].0)
    }

    /// Bytes of all messages and responses; an empty one takes one.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |length: u32| u64::from(length.max(1));
        self.planned.iter().map(|(_, _, _, length, reply)| bytes(*length) + reply.map_or(0, bytes)).sum()
    }

    pub(crate) fn assert_each_was_done_once(&self) {
        assert!(self.done.iter().all(Option::is_some));
        assert_eq!(self.repeats, 0);
    }

    fn plan(&self, now: Time, wishes: &mut Wishes) {
        for (index, (at, ..)) in self.planned.iter().enumerate() {
            wishes.alarm(now + *at, index as u32);
        }
    }
}

impl Application for Script {
    fn begin(&mut self, wishes: &mut Wishes) {
        self.plan(Time::ZERO, wishes);
    }

    fn alarm(&mut self, _now: Time, token: u32, wishes: &mut Wishes) {
        let (_, from, to, length, reply) = self.planned[token as usize];
        match reply {
            Some(reply) => wishes.call(from, to, length, reply, token),
            None => wishes.send(from, to, length, token),
        }
    }

    fn done(&mut self, now: Time, message: &Message, answered: bool, wishes: &mut Wishes) {
        if answered != message.reply.is_some() {
            return;
        }
        if self.done[message.tag as usize].replace(now).is_some() {
            self.repeats += 1;
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            self.rounds -= 1;
            if self.rounds > 0 {
                self.left = self.planned.len();
                self.done.fill(None);
                self.plan(now, wishes);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.rounds == 0
    }
}
