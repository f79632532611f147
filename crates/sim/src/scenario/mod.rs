//! What to simulate, as users write it: a TOML file, or the command's flags.

mod error;
mod transport;

pub use error::ScenarioError;
pub use transport::{
    CongestionChoice, ConnectionChoice, HomaOptions, RoceOptions, TcpOptions, TransportChoice, WireForm,
};

use crate::net::{Delays, LeafSpine, Marking, NetworkRules, Order, Paths, PortRules};
use crate::transport::homa::{HomaWire, paper};
use crate::{Rate, Time};
use homarus_workloads::Workload;
use serde::{Deserialize, Serialize};

/// One cluster, one load, and the transports that carry it in turn.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it is called in reports.
    #[serde(default = "unnamed")]
    pub name: String,
    /// Everything random is drawn from it.
    #[serde(default = "one")]
    pub seed: u64,
    /// Hosts and links.
    #[serde(default)]
    pub cluster: ClusterPlan,
    /// The switches' queues.
    #[serde(default)]
    pub switch: SwitchPlan,
    /// What is sent.
    pub load: LoadPlan,
    /// Who carries it; all carry the same.
    pub transports: Vec<TransportChoice>,
}

/// Hosts in racks whose switches are connected to all spines.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterPlan {
    /// Racks; with one there are no spines.
    pub racks: u32,
    /// Hosts in each.
    pub hosts_per_rack: u32,
    /// Spine switches.
    pub spines: u32,
    /// Rate of hosts' links, Gbit/s.
    pub host_gbit: f64,
    /// Rate of each link between a rack and a spine, Gbit/s.
    pub fabric_gbit: f64,
    /// Propagation on each link, ns.
    pub link_ns: u64,
    /// Delay of each switch, ns.
    pub switch_ns: u64,
    /// Delay of the sending host and its NIC, ns.
    pub transmit_ns: u64,
    /// Delay of the receiving host, ns.
    pub receive_ns: u64,
}

/// What all switches do.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct SwitchPlan {
    /// Bytes that each port can queue; without bounds if absent.
    pub buffer: Option<u64>,
    /// Bytes in a queue from which on packets that allow it are marked; not at all if absent.
    pub mark_from: Option<u64>,
    /// How one of several equal ways is chosen: `spray` (each packet at random) or `flow`.
    pub paths: PathChoice,
}

/// See [`SwitchPlan::paths`].
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum PathChoice {
    /// Each packet at random.
    #[default]
    Spray,
    /// Packets of one flow stay together.
    Flow,
}

/// What hosts send.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum LoadPlan {
    /// Messages at random times, from every host to every other.
    Poisson {
        /// `w1` to `w5`, `linux_w1` to `linux_w5`, or a length in bytes.
        workload: String,
        /// Share of the hosts' links, by bytes on the wire.
        load: f64,
        /// Messages that count.
        #[serde(default = "messages")]
        messages: u64,
        /// Time before they begin to count, µs.
        #[serde(default = "warm_up")]
        warm_up_us: u64,
        /// Whether each is answered by one of the same length; the round trip is measured then.
        #[serde(default)]
        echo: bool,
        /// Which bytes make the load: `frames` (of data, as homarus sends it) or `paper` (as the SIGCOMM'18 paper counts, grants
        /// too). The same for all transports: all carry the same messages.
        #[serde(default)]
        counting: Counting,
    },
    /// A client asks servers, which answer all at once; again when all have.
    Incast {
        /// Requests outstanding at once; a host serves several if there are fewer others.
        requests: u32,
        /// Bytes of each response.
        size: u32,
        /// Times that it does so.
        #[serde(default = "one")]
        rounds: u64,
    },
}

/// See [`LoadPlan::Poisson::counting`].
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// Frames of data as homarus sends it.
    #[default]
    Frames,
    /// The paper's frames and its grants.
    Paper,
}

impl Counting {
    /// Bytes on the wire that a message counts for.
    pub fn bytes(self, length: u32) -> f64 {
        match self {
            Counting::Frames => HomaWire::Real.frames(length).into_iter().map(f64::from).sum(),
            Counting::Paper => {
                let bytes = |(wire, granted)| f64::from(wire + if granted { paper::GRANT } else { 0 });
                paper::frames(length).map(bytes).sum()
            }
        }
    }
}

fn unnamed() -> String {
    "scenario".to_owned()
}

fn one() -> u64 {
    1
}

fn messages() -> u64 {
    20_000
}

fn warm_up() -> u64 {
    5_000
}

impl Default for ClusterPlan {
    /// The Homa paper's.
    fn default() -> ClusterPlan {
        ClusterPlan {
            racks: 9,
            hosts_per_rack: 16,
            spines: 4,
            host_gbit: 10.0,
            fabric_gbit: 40.0,
            link_ns: 0,
            switch_ns: 250,
            transmit_ns: 1_000,
            receive_ns: 500,
        }
    }
}

impl ClusterPlan {
    /// The shape that it describes.
    pub fn shape(&self) -> LeafSpine {
        let rate = |gbit: f64| Rate::from_bits_per_second((gbit * 1e9).round() as u64);
        LeafSpine {
            racks: self.racks,
            hosts_per_rack: self.hosts_per_rack,
            spines: self.spines,
            host_rate: rate(self.host_gbit),
            fabric_rate: rate(self.fabric_gbit),
            delays: Delays {
                link: Time::from_nanos(self.link_ns),
                switch: Time::from_nanos(self.switch_ns),
                transmit: Time::from_nanos(self.transmit_ns),
                receive: Time::from_nanos(self.receive_ns),
            },
        }
    }
}

impl SwitchPlan {
    /// The rules that it describes.
    pub fn rules(&self) -> NetworkRules {
        NetworkRules {
            switch: PortRules {
                buffer: self.buffer.unwrap_or(NetworkRules::UNBOUNDED.switch.buffer),
                order: Order::Priority,
                marking: self.mark_from.map(Marking::at),
            },
            paths: match self.paths {
                PathChoice::Spray => Paths::Spray,
                PathChoice::Flow => Paths::ByFlow,
            },
        }
    }
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// With the line, the key and what was expected, if it is no scenario or has a value out of range.
    pub fn from_toml(text: &str) -> Result<Scenario, ScenarioError> {
        let scenario: Scenario = toml::from_str(text).map_err(|e| ScenarioError::from_toml(text, &e))?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Whether messages are not answered.
    pub fn is_one_way(&self) -> bool {
        matches!(self.load, LoadPlan::Poisson { echo: false, .. })
    }

    /// The lengths of a Poisson load.
    pub fn workload(&self) -> Option<Workload> {
        match &self.load {
            LoadPlan::Poisson { workload, .. } => workload.parse().ok(),
            LoadPlan::Incast { .. } => None,
        }
    }

    /// Says what is out of range, if anything is.
    ///
    /// # Errors
    /// The key, what it is and what was expected.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let cluster = &self.cluster;
        error::within("cluster.racks", cluster.racks, 1, 1_024)?;
        error::within("cluster.hosts_per_rack", cluster.hosts_per_rack, 1, 1_024)?;
        error::within("cluster.spines", cluster.spines, u32::from(cluster.racks > 1), 1_024)?;
        error::within("the hosts of the cluster", cluster.racks * cluster.hosts_per_rack, 2, 16_384)?;
        error::within("cluster.host_gbit", cluster.host_gbit, 0.001, 800.0)?;
        error::within("cluster.fabric_gbit", cluster.fabric_gbit, 0.001, 800.0)?;
        for (key, nanos) in [
            ("cluster.link_ns", cluster.link_ns),
            ("cluster.switch_ns", cluster.switch_ns),
            ("cluster.transmit_ns", cluster.transmit_ns),
            ("cluster.receive_ns", cluster.receive_ns),
        ] {
            error::within(key, nanos, 0, 1_000_000_000)?;
        }
        error::within("switch.buffer", self.switch.buffer.unwrap_or(1_538), 1_538, 1 << 40)?;
        match &self.load {
            LoadPlan::Poisson { workload, load, messages, warm_up_us, .. } => {
                if self.workload().is_none() {
                    let known: Vec<&str> = Workload::builtin_names().collect();
                    let expected = format!("{} or a length in bytes", known.join(", "));
                    return Err(ScenarioError::value("load.workload", format!("{workload:?}"), expected));
                }
                error::within("load.load", *load, 0.001, 0.99)?;
                error::within("load.messages", *messages, 1, 100_000_000)?;
                error::within("load.warm_up_us", *warm_up_us, 0, 100_000_000)?;
            }
            LoadPlan::Incast { requests, size, rounds } => {
                error::within("load.requests", *requests, 1, 100_000)?;
                error::within("load.size", *size, 0, 100_000_000)?;
                error::within("load.rounds", *rounds, 1, 1_000_000)?;
            }
        }
        error::within("the number of transports", self.transports.len(), 1, 64)?;
        self.transports.iter().try_for_each(TransportChoice::check)
    }
}
