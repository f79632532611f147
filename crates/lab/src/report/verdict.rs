//! Homa against the best that TCP does.
//!
//! Which TCP is "the best" can be meant in two ways, and both are told: for each figure the configuration that is best in it, and
//! one configuration throughout, as a user who must choose one would have.

use super::data::{ClassReport, IncastReport, IncastTransport, Quantiles, RaceTransport};
use super::table::{grouped, time};
use serde::{Deserialize, Serialize};

/// Homa against TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Id of the TCP configuration whose P99 of the shortest 10 % is lowest: the one to compare with throughout.
    pub reference_tcp: String,
    /// The figures that are compared.
    pub figures: Vec<Figure>,
    /// Lengths for which the best TCP configuration was faster than Homa.
    pub behind: Vec<Behind>,
}

/// One figure of Homa and TCP, µs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Which messages: `shortest_10_percent` or `longest_1_percent`.
    pub messages: String,
    /// Which quantile of their round trips: `p50` or `p99`.
    pub quantile: String,
    /// Homa's.
    pub homa_us: f64,
    /// The lowest of all TCP configurations.
    pub best_tcp_us: f64,
    /// Id of the configuration that has it.
    pub best_tcp: String,
    /// That of the reference configuration.
    pub reference_tcp_us: f64,
}

/// Lengths for which a TCP configuration was faster than Homa.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Behind {
    /// Least length, bytes.
    pub least_bytes: u32,
    /// Greatest length, bytes.
    pub greatest_bytes: u32,
    /// In which quantile of the round trips: `p50` or `p99`.
    pub quantile: String,
    /// Homa's, µs.
    pub homa_us: f64,
    /// The lowest of all TCP configurations, µs.
    pub best_tcp_us: f64,
    /// Id of the configuration that has it.
    pub best_tcp: String,
}

type Class = fn(&RaceTransport) -> &ClassReport;
type Quantile = fn(&Quantiles) -> f64;

const CLASSES: [(&str, Class); 2] = [
    ("shortest_10_percent", |transport| &transport.shortest_10_percent),
    ("longest_1_percent", |transport| &transport.longest_1_percent),
];
const QUANTILES: [(&str, Quantile, u64); 2] = [("p50", |q| q.p50, 10), ("p99", |q| q.p99, FEW)];

/// With fewer messages than this the P99 is no more than the slowest of them.
pub(super) const FEW: u64 = 100;

/// A difference of less than this share is none.
const SAME: f64 = 0.05;

/// The comparison; absent unless both Homa and TCP have results.
pub(crate) fn verdict(transports: &[RaceTransport]) -> Option<Verdict> {
    let homa = transports.iter().find(|transport| transport.id == "homa")?;
    let tcp: Vec<&RaceTransport> = transports.iter().filter(|transport| transport.id.starts_with("tcp")).collect();
    let best = |pick: &dyn Fn(&RaceTransport) -> Option<f64>| {
        let all = tcp.iter().filter_map(|&transport| Some((transport, pick(transport)?)));
        all.min_by(|a, b| a.1.total_cmp(&b.1))
    };
    let (reference, _) = best(&|transport| Some(transport.shortest_10_percent.rtt_us?.p99))?;
    let mut figures = Vec::new();
    for (messages, class) in CLASSES {
        for (name, quantile, _) in QUANTILES {
            let pick = |transport: &RaceTransport| class(transport).rtt_us.as_ref().map(quantile);
            let (Some(homa_us), Some((best, best_tcp_us)), Some(reference_tcp_us)) =
                (pick(homa), best(&pick), pick(reference))
            else {
                continue;
            };
            figures.push(Figure {
                messages: messages.to_owned(),
                quantile: name.to_owned(),
                homa_us,
                best_tcp_us,
                best_tcp: best.id.clone(),
                reference_tcp_us,
            });
        }
    }
    let mut behind = Vec::new();
    for (index, bucket) in homa.buckets.iter().enumerate() {
        for (name, quantile, fewest) in QUANTILES {
            let pick = |transport: &RaceTransport| transport.buckets.get(index)?.rtt_us.as_ref().map(quantile);
            let (Some(homa_us), Some((best, best_tcp_us))) = (pick(homa), best(&pick)) else { continue };
            if bucket.count >= fewest && homa_us > best_tcp_us {
                behind.push(Behind {
                    least_bytes: bucket.least_bytes,
                    greatest_bytes: bucket.greatest_bytes,
                    quantile: name.to_owned(),
                    homa_us,
                    best_tcp_us,
                    best_tcp: best.id.clone(),
                });
            }
        }
    }
    Some(Verdict { reference_tcp: reference.id.clone(), figures, behind })
}

/// What a transport is called in tables.
pub(super) fn name_of<'a>(transports: &'a [RaceTransport], id: &'a str) -> &'a str {
    transports.iter().find(|transport| transport.id == id).map_or(id, |transport| transport.name.as_str())
}

impl Figure {
    /// What is compared, in words.
    pub(super) fn what(&self) -> String {
        let messages = match self.messages.as_str() {
            "shortest_10_percent" => "shortest 10 %",
            _ => "longest 1 %",
        };
        format!("{} of the {messages}", self.quantile.to_uppercase())
    }
}

/// Homa's time against another: "7.4 × lower", "1.3 × HIGHER" or "the same within 5 %".
pub(super) fn against(homa_us: f64, other_us: f64) -> String {
    let ratio = other_us / homa_us.max(1e-9);
    match ratio {
        ratio if (ratio - 1.0).abs() < SAME => "the same within 5 %".to_owned(),
        ratio if ratio > 1.0 => format!("{ratio:.1} × lower"),
        ratio => format!("{:.1} × HIGHER", 1.0 / ratio),
    }
}

/// The verdict in sentences: what Homa gives, where it does not help, and what doubts there are.
pub(super) fn sentences(verdict: &Verdict, transports: &[RaceTransport]) -> Vec<String> {
    let (helps, not): (Vec<&Figure>, Vec<&Figure>) =
        verdict.figures.iter().partition(|figure| figure.best_tcp_us > figure.homa_us * (1.0 + SAME));
    let list = |figures: &[&Figure]| -> String {
        let each = figures.iter().map(|figure| {
            format!(
                "the {} is {} against {} of {} ({})",
                figure.what(),
                time(figure.homa_us),
                time(figure.best_tcp_us),
                name_of(transports, &figure.best_tcp),
                against(figure.homa_us, figure.best_tcp_us)
            )
        });
        each.collect::<Vec<_>>().join("; ")
    };
    let mut out = Vec::new();
    if !helps.is_empty() {
        out.push(format!("Homa helps: {}.", list(&helps)));
    }
    if !not.is_empty() {
        out.push(format!("Homa does not help: {}.", list(&not)));
    }
    if !verdict.behind.is_empty() {
        let each: Vec<String> = verdict
            .behind
            .iter()
            .map(|behind| {
                format!(
                    "{} of {} to {} bytes ({} against {} of {})",
                    behind.quantile.to_uppercase(),
                    grouped(u64::from(behind.least_bytes.max(1))),
                    grouped(u64::from(behind.greatest_bytes)),
                    time(behind.homa_us),
                    time(behind.best_tcp_us),
                    name_of(transports, &behind.best_tcp)
                )
            })
            .collect();
        out.push(format!("By length, some TCP was faster in: {}.", each.join("; ")));
    }
    out.push(format!(
        "Above, each figure is compared with the TCP configuration that is best in that figure. One configuration has to do for all: with the \
         lowest P99 of the shortest 10 % that is {}, the reference.",
        name_of(transports, &verdict.reference_tcp)
    ));
    let marked: Vec<&str> =
        transports.iter().filter(|transport| !transport.marks.is_empty()).map(|t| t.name.as_str()).collect();
    if !marked.is_empty() {
        out.push(format!("Results are marked, and to be read with the marks: {}.", marked.join(", ")));
    }
    out
}

/// Homa against the best TCP in an incast, in sentences; none unless both have finished.
pub(super) fn incast_sentences(report: &IncastReport) -> Vec<String> {
    type Pick = fn(&IncastTransport) -> Option<f64>;
    let figures: [(&str, Pick); 2] = [
        ("The median round", |transport| Some(transport.round_ms?.p50 * 1000.0)),
        ("The probe's P99", |transport| Some(transport.probe_us?.p99)),
    ];
    let sentence = |(what, pick): (&str, Pick)| {
        let finished = report.transports.iter().filter(|transport| transport.failure.is_none());
        let homa = pick(finished.clone().find(|transport| transport.id == "homa")?)?;
        let tcp = finished.filter(|transport| transport.id.starts_with("tcp"));
        let (name, tcp) =
            tcp.filter_map(|transport| Some((&transport.name, pick(transport)?))).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let compared = against(homa, tcp);
        Some(format!(
            "{what} takes {} with Homa and {} with {name}, the best TCP in it: {compared}.",
            time(homa),
            time(tcp)
        ))
    };
    figures.into_iter().filter_map(sentence).collect()
}
