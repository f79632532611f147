use super::verdict::Verdict;
use crate::machine::Machine;
use crate::proof::Proof;
use crate::rack::RackShape;
use crate::stats::{Class, ClassKind, ClassRecord, Histogram};
use serde::{Deserialize, Serialize};

/// What every report begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// `homarus-compare` or `homarus-compare-incast`.
    pub schema: String,
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION).
    pub schema_version: u32,
    /// Version of homarus.
    pub homarus_version: String,
    /// The command that was run.
    pub command: String,
    /// When the run began, seconds since 1970 (UTC).
    pub unix_time: u64,
    /// Where it was run.
    pub machine: Machine,
    /// The rack.
    pub rack: RackShape,
    /// The rack's proof. A report whose proof failed has no results.
    pub proof: Proof,
    /// Transports that were asked for and could not run, and why.
    pub skipped: Vec<String>,
}

/// A race under the open-loop workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceReport {
    /// Machine, command, rack.
    #[serde(flatten)]
    pub header: Header,
    /// Lengths of the messages.
    pub workload: WorkloadReport,
    /// Load that was asked for, share of link capacity.
    pub load: f64,
    /// Time in which messages counted, s.
    pub seconds: f64,
    /// Turns that each transport had.
    pub turns: u32,
    /// Seed of arrivals and lengths.
    pub seed: u64,
    /// Best round trips on the idle rack.
    pub idle: Vec<IdlePoint>,
    /// Homa against TCP. Absent unless both have results.
    pub verdict: Option<Verdict>,
    /// Results, in the order of the race.
    pub transports: Vec<RaceTransport>,
}

/// The distribution of message lengths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadReport {
    /// Its name.
    pub name: String,
    /// Mean length, bytes.
    pub mean_bytes: f64,
}

/// Best round trip for one length on the idle rack, µs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IdlePoint {
    /// Length of the message.
    pub bytes: u32,
    /// Over homarus, if it took part.
    pub homa_us: Option<f64>,
    /// Over TCP, if it took part.
    pub tcp_us: Option<f64>,
    /// The lower one: what slowdowns of all transports are measured against.
    pub base_us: f64,
}

/// How one transport fared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceTransport {
    /// Its id, as on the command line.
    pub id: String,
    /// Its name, as in tables.
    pub name: String,
    /// Load offered: wire bytes of the messages that arrived, over link capacity.
    pub offered_load: f64,
    /// Load achieved: wire bytes of the RPCs that ended in the same time, over link capacity.
    pub achieved_load: f64,
    /// Bytes that the switch's ports really sent, over link capacity: with the transport's own headers, control packets and
    /// retransmissions.
    pub link_use: f64,
    /// What casts doubt on the numbers, one sentence each; empty if nothing does.
    pub marks: Vec<String>,
    /// RPCs that ended with an error.
    pub errors: u64,
    /// RPCs that had not ended when the run was over. They count with the time that they had waited.
    pub unfinished: u64,
    /// Packets sent again by all hosts.
    pub retransmitted_packets: u64,
    /// Connections opened by all hosts.
    pub connections: u64,
    /// The switch's ports.
    pub switch: SwitchUse,
    /// Most bytes seen in a host's own queue.
    pub host_queue_peak_bytes: u64,
    /// Packets dropped by hosts' own queues.
    pub host_queue_drops: u64,
    /// Share of the processors' time left over.
    pub cpu_left: f64,
    /// Share of the time that the host which waited most wanted to run and had to wait for a processor.
    pub waited_for_cpu: f64,
    /// All messages.
    pub all: ClassReport,
    /// The shortest 10 % of messages.
    pub shortest_10_percent: ClassReport,
    /// The longest 1 % of messages.
    pub longest_1_percent: ClassReport,
    /// Messages by length.
    pub buckets: Vec<ClassReport>,
}

/// What happened at the switch's ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SwitchUse {
    /// Packets dropped at all ports.
    pub drops: u64,
    /// Most bytes seen waiting at one port.
    pub queue_peak_bytes: u64,
    /// Mean of the bytes waiting at a port.
    pub queue_mean_bytes: f64,
}

/// Round trips of messages of some lengths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassReport {
    /// Least length, bytes.
    pub least_bytes: u32,
    /// Greatest length, bytes.
    pub greatest_bytes: u32,
    /// Mean length of the messages counted.
    pub mean_bytes: f64,
    /// Messages counted.
    pub count: u64,
    /// Round-trip times from the scheduled sending of the request, µs. Absent if no message was counted.
    pub rtt_us: Option<Quantiles>,
    /// Round trip over the idle rack's best for the length. Absent if no message was counted.
    pub slowdown: Option<Quantiles>,
}

/// Points of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Half are no greater.
    pub p50: f64,
    /// 99 % are no greater.
    pub p99: f64,
    /// 99.9 % are no greater.
    pub p999: f64,
    /// The greatest.
    pub max: f64,
}

impl Quantiles {
    /// Of a histogram whose values are multiples of `1 / scale`.
    pub(crate) fn of(histogram: &Histogram, scale: f64) -> Option<Quantiles> {
        let at = |quantile| histogram.at(quantile).map(|value| value as f64 / scale);
        Some(Quantiles { p50: at(0.5)?, p99: at(0.99)?, p999: at(0.999)?, max: histogram.max()? as f64 / scale })
    }
}

impl ClassReport {
    pub(crate) fn new(class: &Class, record: &ClassRecord) -> ClassReport {
        let count = record.nanos.count();
        ClassReport {
            least_bytes: class.least,
            greatest_bytes: class.greatest,
            mean_bytes: if count == 0 { 0.0 } else { record.bytes as f64 / count as f64 },
            count,
            rtt_us: Quantiles::of(&record.nanos, 1000.0),
            slowdown: Quantiles::of(&record.slowdown, 1000.0),
        }
    }
}

/// The reports of all classes of a kind.
pub(crate) fn class_reports(kind: ClassKind, classes: &[Class], records: &[ClassRecord]) -> Vec<ClassReport> {
    let both = classes.iter().zip(records);
    both.filter(|(class, _)| class.kind == kind).map(|(class, record)| ClassReport::new(class, record)).collect()
}

/// An incast beside a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncastReport {
    /// Machine, command, rack.
    #[serde(flatten)]
    pub header: Header,
    /// Servers that one client calls at once.
    pub servers: u16,
    /// Bytes of each response.
    pub reply_bytes: u32,
    /// Times that it does.
    pub rounds: u32,
    /// Least time that a round can take: the responses' bytes at the link's rate, ms.
    pub ideal_round_ms: f64,
    /// Bytes of the probe's requests and responses.
    pub probe_bytes: u32,
    /// Time between two probes, ms.
    pub probe_period_ms: u32,
    /// Results, in the order of the race.
    pub transports: Vec<IncastTransport>,
}

/// How one transport fared in an incast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncastTransport {
    /// Its id, as on the command line.
    pub id: String,
    /// Its name, as in tables.
    pub name: String,
    /// Time from the first request of a round to its last response, ms.
    pub round_ms: Option<Quantiles>,
    /// Round trips of the probe during the incast, from its scheduled times, µs.
    pub probe_us: Option<Quantiles>,
    /// Probes that were answered.
    pub probes: u64,
    /// Probes that were not answered at all, or not within 5 s after the last round.
    pub probes_lost: u32,
    /// Packets sent again by all hosts.
    pub retransmitted_packets: u64,
    /// Packets dropped at the switch's port toward the client.
    pub port_drops: u64,
    /// Most bytes seen waiting at that port.
    pub port_queue_peak_bytes: u64,
    /// What went wrong, if the experiment could not be finished with this transport.
    pub failure: Option<String>,
}
