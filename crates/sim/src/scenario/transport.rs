use super::{ScenarioError, error};
use crate::transport::dctcp;
use crate::transport::homa::{HomaSetup, HomaWire};
use crate::transport::roce::RoceSetup;
use crate::transport::tcp::{Congestion, Connections, TcpSetup};
use crate::{Rate, Time};
use homarus_proto::{Config, Framing};
use serde::{Deserialize, Serialize};

/// Who carries the load.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum TransportChoice {
    /// Homa: the protocol core itself.
    Homa(HomaOptions),
    /// TCP as Linux has it.
    Tcp(TcpOptions),
    /// DCTCP: switches mark, senders slow down in proportion.
    Dctcp(TcpOptions),
    /// RoCEv2 with DCQCN; pauses keep its network from losing packets.
    Roce(RoceOptions),
    /// InfiniBand: credits keep its network from losing packets.
    Infiniband,
    /// pFabric: switches with short queues that keep the most urgent packets.
    Pfabric,
    /// The oracle: shortest remaining first with full knowledge; the floor that no transport can be below.
    Srpt,
}

/// How TCP is set; what is not here is as Linux has it.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct TcpOptions {
    /// What it is called in reports; by default what it is.
    pub label: Option<String>,
    /// Whether messages follow one another on one connection (`pipelined`), or each has its own (`pool`).
    pub connections: ConnectionChoice,
    /// `cubic` or `reno`; DCTCP has its own.
    pub congestion: CongestionChoice,
    /// Least retransmission timeout, µs. Linux has 200,000; tuned data centres down to 200.
    pub minimum_rto_us: u64,
    /// DCTCP: bytes in a switch's queue from which on it marks, if the scenario's switches do not say. 100 kB: for 10 Gbit/s.
    pub mark_from: u64,
}

/// How RoCE is set; what is not here is as vendors have it for these links.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct RoceOptions {
    /// What it is called in reports; by default what it is.
    pub label: Option<String>,
    /// Priority flow control: full switches pause those who send to them instead of dropping.
    pub pfc: bool,
    /// Congestion control.
    pub dcqcn: bool,
}

impl Default for RoceOptions {
    fn default() -> RoceOptions {
        RoceOptions { label: None, pfc: true, dcqcn: true }
    }
}

impl RoceOptions {
    /// NICs and switches for hosts' links of this rate; without pauses a port queues `buffer` bytes, if that is said.
    pub fn setup(&self, line: Rate, buffer: Option<u64>) -> RoceSetup {
        let vendor = RoceSetup::vendor(line);
        RoceSetup {
            pfc: vendor.pfc.filter(|_| self.pfc),
            dcqcn: vendor.dcqcn.filter(|_| self.dcqcn),
            buffer: buffer.unwrap_or(vendor.buffer),
            ..vendor
        }
    }
}

/// See [`TcpOptions::connections`].
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ConnectionChoice {
    /// One from each host to each other.
    #[default]
    Pipelined,
    /// One for each message under way.
    Pool,
}

/// See [`TcpOptions::congestion`].
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum CongestionChoice {
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 5681.
    Reno,
}

impl Default for TcpOptions {
    fn default() -> TcpOptions {
        TcpOptions {
            label: None,
            connections: ConnectionChoice::default(),
            congestion: CongestionChoice::default(),
            minimum_rto_us: 200_000,
            mark_from: dctcp::K_10G,
        }
    }
}

impl TcpOptions {
    /// What hosts are made from, with DCTCP if `dctcp`.
    pub fn setup(&self, dctcp: bool) -> TcpSetup {
        let setup = TcpSetup {
            connections: match self.connections {
                ConnectionChoice::Pipelined => Connections::Pipelined,
                ConnectionChoice::Pool => Connections::Pool { most: None },
            },
            minimum_rto: Time::from_micros(self.minimum_rto_us),
            ..if dctcp { dctcp::SETUP } else { TcpSetup::LINUX }
        };
        match self.congestion {
            CongestionChoice::Reno if !dctcp => TcpSetup { congestion: Congestion::Reno, ..setup },
            _ => setup,
        }
    }
}

/// How Homa is set.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct HomaOptions {
    /// What it is called in reports; by default what it is.
    pub label: Option<String>,
    /// Bytes sent without grants: a round trip's worth.
    pub unscheduled: u32,
    /// Messages granted at the same time.
    pub overcommitment: usize,
    /// Priority levels, 1 to 8.
    pub priorities: u8,
    /// Whether responses to many requests start small.
    pub incast_optimisation: bool,
    /// Share of sent and of granted bytes that goes to the oldest message, per cent.
    pub fifo_percent: u8,
    /// How packets look on the wire.
    pub wire: WireForm,
}

/// See [`HomaWire`].
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum WireForm {
    /// As homarus and the Linux module send.
    #[default]
    Real,
    /// As in the paper's simulation.
    Paper,
}

impl Default for HomaOptions {
    /// The paper's for a 10 Gbit/s cluster.
    fn default() -> HomaOptions {
        HomaOptions {
            label: None,
            unscheduled: 9_328,
            overcommitment: 7,
            priorities: 8,
            incast_optimisation: true,
            fifo_percent: 0,
            wire: WireForm::default(),
        }
    }
}

impl HomaOptions {
    /// What hosts are made from. `one_way`: messages are not answered.
    pub fn setup(&self, one_way: bool) -> HomaSetup {
        let wire = match self.wire {
            WireForm::Real => HomaWire::Real,
            WireForm::Paper => HomaWire::Paper,
        };
        let incoming = u64::from(self.unscheduled) * (self.overcommitment as u64 + 1);
        let config = Config {
            framing: Framing::Ip,
            mtu: wire.mtu(),
            unscheduled_start: self.unscheduled,
            unscheduled_min: self.unscheduled,
            unscheduled_max: self.unscheduled,
            overcommitment: self.overcommitment,
            max_incoming: u32::try_from(incoming).unwrap_or(u32::MAX),
            grant_fifo_percent: self.fifo_percent,
            send_fifo_percent: self.fifo_percent,
            priorities: self.priorities,
            incast_optimisation: self.incast_optimisation,
            default_deadline: None,
            pacing: false,
            ..Config::default()
        };
        HomaSetup { config, wire, one_way }
    }
}

impl TransportChoice {
    /// What it is called in reports.
    pub fn label(&self) -> String {
        match self {
            TransportChoice::Homa(HomaOptions { label: Some(label), .. })
            | TransportChoice::Tcp(TcpOptions { label: Some(label), .. })
            | TransportChoice::Dctcp(TcpOptions { label: Some(label), .. })
            | TransportChoice::Roce(RoceOptions { label: Some(label), .. }) => label.clone(),
            TransportChoice::Homa(_) => "Homa".to_owned(),
            TransportChoice::Tcp(_) => "TCP".to_owned(),
            TransportChoice::Dctcp(_) => "DCTCP".to_owned(),
            TransportChoice::Roce(_) => "RoCE".to_owned(),
            TransportChoice::Infiniband => "InfiniBand".to_owned(),
            TransportChoice::Pfabric => "pFabric".to_owned(),
            TransportChoice::Srpt => "SRPT-Oracle".to_owned(),
        }
    }

    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        match self {
            TransportChoice::Homa(homa) => {
                error::within("transports.unscheduled", homa.unscheduled, 1, 100_000_000)?;
                error::within("transports.overcommitment", homa.overcommitment, 1, 1_000)?;
                error::within("transports.priorities", homa.priorities, 1, 8)?;
                error::within("transports.fifo_percent", homa.fifo_percent, 0, 50)
            }
            TransportChoice::Tcp(tcp) | TransportChoice::Dctcp(tcp) => {
                error::within("transports.minimum_rto_us", tcp.minimum_rto_us, 1, 60_000_000)?;
                error::within("transports.mark_from", tcp.mark_from, 1, 1 << 40)
            }
            TransportChoice::Roce(_)
            | TransportChoice::Infiniband
            | TransportChoice::Pfabric
            | TransportChoice::Srpt => Ok(()),
        }
    }
}
