use super::bins::{Bin, Bins, Range};
use crate::cluster::Cluster;
use crate::net::{Hop, LeafSpine};
use crate::transport::Transport;
use hdrhistogram::Histogram;
use serde::Serialize;

/// What one transport made of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Who.
    pub transport: String,
    /// Whether all that counts was done. If not, the load was more than it could carry.
    pub finished: bool,
    /// Simulated time, µs.
    pub simulated_us: f64,
    /// Packets that finished a link.
    pub packet_hops: u64,
    /// A hash of everything that happened, in hexadecimal: the same in equal runs.
    pub trace: String,
    /// Packets dropped in switches.
    pub drops: u64,
    /// Slowdowns by range of lengths, for loads of random messages.
    pub ranges: Vec<Range>,
    /// Slowdowns by length.
    pub bins: Vec<Bin>,
    /// Rounds, for loads that have them.
    pub rounds: Option<Rounds>,
    /// Queues and use by hop.
    pub hops: Vec<HopUse>,
    /// Share of the time in which receivers' links were idle although something was on its way to them, per cent.
    pub wasted_percent: f64,
}

/// Times of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rounds {
    /// Rounds done.
    pub count: u64,
    /// Median time of a round, µs.
    pub p50_us: f64,
    /// Longest, µs.
    pub longest_us: f64,
    /// Contents that arrived in the median round's time, Gbit/s.
    pub gbits: f64,
}

/// What happened at all ports of one hop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HopUse {
    /// Which.
    pub hop: Hop,
    /// Mean queue over ports and time, bytes, without the packet being sent.
    pub mean_queue: f64,
    /// Longest queue of any port, bytes.
    pub longest_queue: u64,
    /// Share of capacity used, per cent.
    pub use_percent: f64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marked: u64,
}

impl Outcome {
    pub(super) fn of<T: Transport>(label: String, cluster: &Cluster<T>, shape: &LeafSpine, finished: bool) -> Outcome {
        let (now, network) = (cluster.now(), cluster.network());
        let counts = network.counts();
        let mut hops: Vec<Hop> = network.ports(now).map(|(hop, _)| hop).collect();
        hops.sort_unstable();
        hops.dedup();
        let of_hop = |hop: Hop| {
            let ports: Vec<_> = network.ports(now).filter(|(other, _)| *other == hop).map(|(_, port)| port).collect();
            let (count, nanos) = (ports.len() as f64, (now.as_nanos() as f64).max(1.0));
            let rate = if matches!(hop, Hop::HostUp | Hop::HostDown) { shape.host_rate } else { shape.fabric_rate };
            let bytes: f64 = ports.iter().map(|port| port.bytes as f64).sum();
            HopUse {
                hop,
                mean_queue: ports.iter().map(|port| port.byte_nanos as f64).sum::<f64>() / count / nanos,
                longest_queue: ports.iter().map(|port| port.longest).max().unwrap_or(0),
                use_percent: 100.0 * bytes * 8.0 / count / (nanos / 1e9) / rate.bits_per_second() as f64,
                drops: ports.iter().map(|port| port.drops).sum(),
                marked: ports.iter().map(|port| port.marked).sum(),
            }
        };
        Outcome {
            transport: label,
            finished,
            simulated_us: now.as_micros(),
            packet_hops: counts.hops,
            trace: format!("{:016x}", network.trace()),
            drops: counts.dropped,
            ranges: Vec::new(),
            bins: Vec::new(),
            rounds: None,
            hops: hops.into_iter().map(of_hop).collect(),
            wasted_percent: 100.0 * cluster.wasted(),
        }
    }

    pub(super) fn with_slowdowns(self, bins: &Bins) -> Outcome {
        Outcome { ranges: bins.ranges(), bins: bins.bins(), ..self }
    }

    pub(super) fn with_rounds(self, times: &Histogram<u64>, bytes: u64) -> Outcome {
        let p50 = times.value_at_quantile(0.5) as f64;
        let rounds = (!times.is_empty()).then(|| Rounds {
            count: times.len(),
            p50_us: p50 / 1e3,
            longest_us: times.max() as f64 / 1e3,
            gbits: bytes as f64 * 8.0 / p50,
        });
        Outcome { rounds, ..self }
    }
}
