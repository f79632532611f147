//! What is measured, against what, and what homarus has to reach.

use crate::trial::{Job, Mode, Outcome, Spec};
use serde::Serialize;

/// Bytes of a small message.
const SMALL: usize = 100;
/// Bytes of a long message.
const LONG: usize = 1_000_000;
/// Small RPCs outstanding at a time.
const MANY: usize = 64;
/// Long messages outstanding at a time.
const FEW: usize = 4;

/// One transport doing one job: what a trial measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub(super) struct Contender {
    pub(super) transport: &'static str,
    pub(super) mode: Mode,
    pub(super) job: Job,
}

impl Contender {
    const fn new(transport: &'static str, mode: Mode, job: Job) -> Contender {
        Contender { transport, mode, job }
    }

    /// Its trial, given what all trials of a run share.
    pub(super) fn spec(&self, mtu: usize, warmup_ms: u64, measure_ms: u64) -> Spec {
        let (size, outstanding) = match self.job {
            Job::Rtt => (SMALL, 1),
            Job::Rate => (SMALL, MANY),
            Job::Bulk => (LONG, FEW),
        };
        Spec { mode: self.mode, job: self.job, size, outstanding, mtu, warmup_ms, measure_ms }
    }

    /// Whether the separate program of other libraries runs it.
    pub(super) fn is_peer(&self) -> bool {
        matches!(self.transport, "quinn" | "tonic" | "tarpc")
    }

    /// Whether both ends are in one process.
    pub(super) fn is_alone(&self) -> bool {
        self.transport == "core"
    }
}

/// What is read from a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Metric {
    /// Median round trip, µs.
    P50,
    /// 99th percentile of round trips, µs.
    P99,
    /// Thousand RPCs per second.
    Rate,
    /// Gigabits of requests per second.
    Gbit,
    /// Million RPCs per second.
    MillionRate,
}

impl Metric {
    /// The figure in this metric's unit; `None` if the trial did not measure it.
    pub(super) fn of(self, outcome: &Outcome) -> Option<f64> {
        match self {
            Metric::P50 => outcome.latency.as_ref().map(|latency| latency.p50_us),
            Metric::P99 => outcome.latency.as_ref().map(|latency| latency.p99_us),
            Metric::Rate => Some(outcome.rpc_per_s / 1e3),
            Metric::Gbit => Some(outcome.gbit_per_s),
            Metric::MillionRate => Some(outcome.rpc_per_s / 1e6),
        }
    }

    /// Its unit.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Metric::P50 | Metric::P99 => "µs",
            Metric::Rate => "k/s",
            Metric::Gbit => "Gbit/s",
            Metric::MillionRate => "M/s",
        }
    }

    /// Whether less is better.
    pub(super) fn lower_is_better(self) -> bool {
        matches!(self, Metric::P50 | Metric::P99)
    }
}

/// What homarus is held against in a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    pub(super) rival: Rival,
    /// What has to be reached.
    pub(super) must: Option<f64>,
    /// What is wanted.
    pub(super) aim: Option<f64>,
}

/// The other side of a ratio.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rival {
    /// Another transport: the bar is the ratio of homarus's figure to its.
    Measured { label: &'static str, contender: Contender },
    /// None: the bar is homarus's figure itself.
    Absolute,
}

/// One figure of homarus's and all that it is held against.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) metric: Metric,
    pub(super) ours: Contender,
    pub(super) bars: Vec<Bar>,
}

/// Whether devices segment and merge packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Offloads {
    On,
    Off,
}

fn against(label: &'static str, contender: Contender, must: Option<f64>, aim: Option<f64>) -> Bar {
    Bar { rival: Rival::Measured { label, contender }, must, aim }
}

/// Everything that is measured over a link.
pub(super) fn groups(offloads: Offloads) -> Vec<Group> {
    let mut groups = Vec::new();
    round_trips(&mut groups);
    small_rpcs(&mut groups);
    long_messages(&mut groups, offloads);
    if offloads == Offloads::On {
        groups.push(Group {
            title: "core alone, in memory, one CPU, both ends",
            metric: Metric::MillionRate,
            ours: Contender::new("core", Mode::Spin, Job::Rate),
            bars: vec![Bar { rival: Rival::Absolute, must: Some(1.5), aim: Some(5.0) }],
        });
    }
    groups
}

fn round_trips(groups: &mut Vec<Group>) {
    let rtt = |transport, mode| Contender::new(transport, mode, Job::Rtt);
    let p99 = |mode| vec![against(raw_udp(mode), rtt("udp", mode), Some(1.5), Some(1.2))];
    let mut both = |title_p50, title_p99, mode, bars| {
        let ours = rtt("homarus", mode);
        groups.push(Group { title: title_p50, metric: Metric::P50, ours, bars });
        groups.push(Group { title: title_p99, metric: Metric::P99, ours, bars: p99(mode) });
    };
    both(
        "round trip of 100 B, blocking, P50",
        "round trip of 100 B, blocking, P99",
        Mode::Blocking,
        vec![
            against(raw_udp(Mode::Blocking), rtt("udp", Mode::Blocking), Some(1.2), Some(1.1)),
            against("blocking TCP", rtt("tcp", Mode::Blocking), None, Some(1.0)),
        ],
    );
    both(
        "round trip of 100 B, spinning, P50",
        "round trip of 100 B, spinning, P99",
        Mode::Spin,
        vec![
            against(raw_udp(Mode::Spin), rtt("udp", Mode::Spin), Some(1.4), Some(1.2)),
            against("spinning TCP", rtt("tcp", Mode::Spin), None, Some(1.0)),
        ],
    );
    both(
        "round trip of 100 B, tokio, P50",
        "round trip of 100 B, tokio, P99",
        Mode::Tokio,
        vec![
            against(raw_udp(Mode::Tokio), rtt("udp", Mode::Tokio), Some(1.2), Some(1.1)),
            against("tokio TCP", rtt("tcp", Mode::Tokio), None, None),
            against("tarpc", rtt("tarpc", Mode::Tokio), None, None),
            against("quinn", rtt("quinn", Mode::Tokio), None, Some(0.6)),
            against("tonic", rtt("tonic", Mode::Tokio), None, Some(0.4)),
        ],
    );
}

fn raw_udp(mode: Mode) -> &'static str {
    match mode {
        Mode::Blocking => "blocking UDP",
        Mode::Spin => "spinning UDP",
        Mode::Tokio => "tokio UDP",
    }
}

fn small_rpcs(groups: &mut Vec<Group>) {
    let rate = |transport, mode| Contender::new(transport, mode, Job::Rate);
    groups.push(Group {
        title: "RPCs of 100 B, 64 outstanding",
        metric: Metric::Rate,
        ours: rate("homarus", Mode::Tokio),
        bars: vec![
            against("coalesced UDP", rate("udp", Mode::Blocking), Some(0.45), Some(0.7)),
            against("blocking TCP", rate("tcp", Mode::Blocking), None, None),
            against("tokio TCP", rate("tcp", Mode::Tokio), None, Some(1.0)),
            against("quinn", rate("quinn", Mode::Tokio), None, Some(4.0)),
            against("tarpc", rate("tarpc", Mode::Tokio), None, Some(4.0)),
            against("tonic", rate("tonic", Mode::Tokio), None, Some(20.0)),
        ],
    });
}

fn long_messages(groups: &mut Vec<Group>, offloads: Offloads) {
    let bulk = |transport, mode| Contender::new(transport, mode, Job::Bulk);
    let (title, udp, tcp) = match offloads {
        Offloads::On => ("messages of 1 MB, offloads on", (Some(0.5), Some(0.7)), (Some(1.0), None)),
        Offloads::Off => ("messages of 1 MB, offloads off", (Some(0.8), None), (None, Some(1.0))),
    };
    groups.push(Group {
        title,
        metric: Metric::Gbit,
        ours: bulk("homarus", Mode::Tokio),
        bars: vec![
            against("UDP GSO + GRO", bulk("udp", Mode::Blocking), udp.0, udp.1),
            against("blocking TCP", bulk("tcp", Mode::Blocking), tcp.0, tcp.1),
            against("quinn", bulk("quinn", Mode::Tokio), None, None),
            against("tonic", bulk("tonic", Mode::Tokio), None, None),
        ],
    });
}

/// Every contender of `groups` once, rivals next to each other.
pub(super) fn contenders(groups: &[Group]) -> Vec<Contender> {
    let mut all = Vec::new();
    for group in groups {
        let rivals = group.bars.iter().filter_map(|bar| match bar.rival {
            Rival::Measured { contender, .. } => Some(contender),
            Rival::Absolute => None,
        });
        for contender in std::iter::once(group.ours).chain(rivals) {
            if !all.contains(&contender) {
                all.push(contender);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_is_measured_once() {
        let groups = groups(Offloads::On);
        let all = contenders(&groups);
        for (at, contender) in all.iter().enumerate() {
            assert!(!all[..at].contains(contender), "{contender:?} twice");
        }
        assert!(groups.iter().all(|group| all.contains(&group.ours)));
        assert_eq!(all.iter().filter(|contender| contender.transport == "homarus").count(), 5);
    }

    #[test]
    fn aims_are_no_easier_than_what_has_to_be_reached() {
        for group in [Offloads::On, Offloads::Off].into_iter().flat_map(groups) {
            for bar in &group.bars {
                if let (Some(must), Some(aim)) = (bar.must, bar.aim) {
                    let harder = if group.metric.lower_is_better() { aim <= must } else { aim >= must };
                    assert!(harder, "{}: must {must}, aim {aim}", group.title);
                }
            }
        }
    }
}
