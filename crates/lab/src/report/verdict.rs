//! Homa against the best that TCP does, separately for each number.

use super::data::{RaceReport, RaceTransport};

/// One number of Homa's beside the best of all TCP configurations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    /// What is compared.
    pub(super) what: &'static str,
    /// Homa's, µs.
    pub(super) homa: f64,
    /// TCP's, µs.
    pub(super) tcp: f64,
    /// Which TCP.
    pub(super) tcp_name: String,
}

impl Verdict {
    /// How many times lower or higher Homa's is.
    pub(super) fn factor(&self) -> (f64, &'static str) {
        if self.homa <= self.tcp { (self.tcp / self.homa, "lower") } else { (self.homa / self.tcp, "HIGHER") }
    }
}

type Pick = fn(&RaceTransport) -> Option<f64>;

const COMPARED: [(&str, Pick); 4] = [
    ("P50 of the shortest 10 %", |transport| Some(transport.shortest_10_percent.rtt_us?.p50)),
    ("P99 of the shortest 10 %", |transport| Some(transport.shortest_10_percent.rtt_us?.p99)),
    ("P50 of the longest 1 %", |transport| Some(transport.longest_1_percent.rtt_us?.p50)),
    ("P99 of the longest 1 %", |transport| Some(transport.longest_1_percent.rtt_us?.p99)),
];

/// The comparison; empty unless both took part.
pub(super) fn verdicts(report: &RaceReport) -> Vec<Verdict> {
    let Some(homa) = report.transports.iter().find(|transport| transport.id == "homa") else { return Vec::new() };
    let one = |(what, pick): &(&'static str, Pick)| {
        let tcp = report.transports.iter().filter(|transport| transport.id.starts_with("tcp"));
        let (tcp, tcp_name) = tcp
            .filter_map(|transport| Some((pick(transport)?, transport.name.clone())))
            .min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Verdict { what, homa: pick(homa)?, tcp, tcp_name })
    };
    COMPARED.iter().filter_map(one).collect()
}
