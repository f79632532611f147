//! What the plots of a report show, for its page and for its image.

use super::data::{IncastReport, IncastTransport, Quantiles, RaceReport, RaceTransport};
use super::plot::{Line, Plot, Point, decades, escape, mark, range};
use super::table::time;
use super::verdict::FEW;
use std::fmt::Write;

/// CSS class of the transport at this place; Homa has its own colour, the others take turns.
fn class_of<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut others = 0;
    ids.map(|id| {
        if id == "homa" {
            return "homa".to_owned();
        }
        others += 1;
        format!("c{}", (others - 1) % 8 + 1)
    })
    .collect()
}

/// Line of the base line in plots.
const IDLE: &str = "best on the idle rack";

fn is_dashed(transport: &RaceTransport) -> bool {
    transport.id.ends_with("-pool")
}

/// P50 and P99 against length; empty if nothing was measured.
pub(super) fn race_plots(report: &RaceReport) -> Vec<Plot> {
    let classes = class_of(report.transports.iter().map(|transport| transport.id.as_str()));
    let all = report.transports.iter().flat_map(|transport| &transport.buckets).filter_map(|bucket| bucket.rtt_us);
    let idle = report.idle.iter().map(|point| point.base_us);
    let times = range(all.flat_map(|q| [q.p50, q.p99]).chain(idle));
    let lengths = range(report.idle.iter().map(|point| f64::from(point.bytes)));
    let (Some(times), Some(lengths)) = (times, lengths) else { return Vec::new() };
    type Pick = fn(&Quantiles) -> f64;
    let panels: [(&str, Pick, u64); 2] = [("Round trip, P50", |q| q.p50, 10), ("Round trip, P99", |q| q.p99, FEW)];
    let plot = |(title, pick, enough): (&str, Pick, u64)| {
        let idle = Line {
            name: IDLE.to_owned(),
            class: "idle".to_owned(),
            dashed: false,
            marked: false,
            points: report
                .idle
                .iter()
                .map(|point| Point { bytes: f64::from(point.bytes.max(1)), micros: point.base_us, few: false })
                .collect(),
        };
        let transports = report.transports.iter().zip(&classes).map(|(transport, class)| Line {
            name: transport.name.clone(),
            class: class.clone(),
            dashed: is_dashed(transport),
            marked: true,
            points: transport
                .buckets
                .iter()
                .filter_map(|bucket| {
                    let micros = pick(&bucket.rtt_us?);
                    Some(Point { bytes: bucket.mean_bytes.max(1.0), micros, few: bucket.count < enough })
                })
                .collect(),
        });
        // Homa is drawn last, above the others.
        let mut lines: Vec<Line> = std::iter::once(idle).chain(transports).collect();
        lines.sort_by_key(|line| line.class == "homa");
        Plot { title: title.to_owned(), lines, x: lengths, y: decades(times) }
    };
    panels.map(plot).into()
}

/// An entry of the legend: its key as SVG, 34 by 12, and its name.
pub(super) fn race_legend(report: &RaceReport) -> Vec<(String, String)> {
    let classes = class_of(report.transports.iter().map(|transport| transport.id.as_str()));
    let key = |class: &str, dashed: bool, marked: bool| {
        let dashed = if dashed { " dashed" } else { "" };
        let line = format!("<line class=\"line {class}{dashed}\" x1=\"1\" x2=\"33\" y1=\"6\" y2=\"6\"/>");
        if marked { line + &mark(class, false, 17.0, 6.0, "") } else { line }
    };
    let transports = report.transports.iter().zip(&classes);
    transports
        .map(|(transport, class)| (key(class, is_dashed(transport), true), transport.name.clone()))
        .chain([(key("idle", false, false), IDLE.to_owned())])
        .collect()
}

/// What hollow marks mean.
pub(super) const HOLLOW: &str = "Hollow: fewer than 100 messages (P99) or 10 (P50), too few to rely on.";

/// Horizontal bars of one figure of an incast.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bars {
    pub(super) title: String,
    /// Remark below the title.
    pub(super) note: String,
    /// Name, CSS class and time, µs.
    bars: Vec<(String, String, Option<f64>)>,
}

/// The figures of an incast.
pub(super) fn incast_bars(report: &IncastReport) -> Vec<Bars> {
    let classes = class_of(report.transports.iter().map(|transport| transport.id.as_str()));
    let bars = |title: &str, note: String, pick: fn(&IncastTransport) -> Option<f64>| Bars {
        title: title.to_owned(),
        note,
        bars: report
            .transports
            .iter()
            .zip(&classes)
            .map(|(t, class)| (t.name.clone(), class.clone(), pick(t)))
            .collect(),
    };
    let ideal = format!("The least that a round can take is {}.", time(report.ideal_round_ms * 1000.0));
    vec![
        bars("Time of a round, median", ideal, |transport| Some(transport.round_ms?.p50 * 1000.0)),
        bars(
            "Probe's round trip, P99",
            "The shorter, the less the incast is in others' way.".to_owned(),
            |transport| Some(transport.probe_us?.p99),
        ),
    ]
}

impl Bars {
    /// Width of the SVG.
    pub(super) const WIDTH: f64 = 900.0;

    /// Height of the SVG.
    pub(super) fn height(&self) -> f64 {
        (self.bars.len() * 34 + 8) as f64
    }

    /// The bars as contents of an SVG element.
    pub(super) fn contents(&self) -> String {
        let greatest = self.bars.iter().filter_map(|bar| bar.2).fold(0.0, f64::max);
        let mut out = String::new();
        for (index, (name, class, value)) in self.bars.iter().enumerate() {
            let y = index * 34 + 8;
            let width = value.map_or(0.0, |value| value / greatest.max(1e-9) * 590.0).max(2.0);
            let _ = write!(
                out,
                "<text x=\"188\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"bar {class}\" x=\"200\" y=\"{y}\" \
                 width=\"{width:.1}\" height=\"22\" rx=\"3\"/><text x=\"{:.1}\" y=\"{}\">{}</text>",
                y + 16,
                escape(name),
                208.0 + width,
                y + 16,
                value.map_or("–".to_owned(), time)
            );
        }
        out
    }
}
