//! The table that a person reads.

use super::results::{Judged, Row, Verdict};
use std::fmt::Write;

/// Characters of the first column.
const WHAT: usize = 43;

/// All rows under one heading.
pub(super) fn render(rows: &[Row]) -> String {
    let mut table = format!(
        "{:WHAT$}{:>12}{:>14}{:>7}{:>15}{:>8}{:>8}  verdict\n",
        "", "homarus", "rival", "ratio", "within rounds", "must", "aim"
    );
    for row in rows {
        let figure = row.homarus.map_or_else(|| "-".to_owned(), |value| figure(value, row.unit));
        let mut lines = row.bars.iter();
        match row.bars.as_slice() {
            [absolute] if absolute.rival.is_none() => {
                lines.next();
                push(&mut table, row.title, &figure, row, absolute);
            }
            _ => _ = writeln!(table, "{:WHAT$}{figure:>12}", row.title),
        }
        for bar in lines {
            push(&mut table, &format!("  against {}", bar.rival.unwrap_or("the bar")), "", row, bar);
        }
    }
    table
}

fn push(table: &mut String, what: &str, homarus: &str, row: &Row, bar: &Judged) {
    let rival = bar.rival_figure.map_or_else(String::new, |value| figure(value, row.unit));
    // An absolute bar has no ratio: its value is homarus's figure.
    let ratio = bar.value.filter(|_| bar.rival.is_some()).map_or_else(String::new, short);
    let spread = bar.spread.map_or_else(String::new, |(low, high)| format!("{} – {}", short(low), short(high)));
    let sign = if row.metric.lower_is_better() { "≤" } else { "≥" };
    let limit = |bar: Option<f64>| bar.map_or_else(String::new, |bar| format!("{sign} {}", short(bar)));
    let line = format!(
        "{what:WHAT$}{homarus:>12}{rival:>14}{ratio:>7}{spread:>15}{:>8}{:>8}  {}",
        limit(bar.must),
        limit(bar.aim),
        verdict(bar.verdict)
    );
    let _ = writeln!(table, "{}", line.trim_end());
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Aim => "aim reached",
        Verdict::Must => "must reached",
        Verdict::BelowAim => "below the aim",
        Verdict::Missed => "MISSED",
        Verdict::NoBar => "",
        Verdict::Unmeasured => "not measured",
    }
}

fn figure(value: f64, unit: &str) -> String {
    format!("{} {unit}", short(value))
}

/// Three digits or so.
fn short(value: f64) -> String {
    match value.abs() {
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Metric;
    use super::*;

    #[test]
    fn every_bar_has_a_line_with_its_verdict() {
        let bar = Judged {
            rival: Some("plain UDP"),
            rival_figure: Some(28.7),
            value: Some(1.15),
            spread: Some((1.1, 1.19)),
            must: Some(1.2),
            aim: Some(1.1),
            verdict: Verdict::Must,
        };
        let absolute = Judged {
            rival: None,
            rival_figure: None,
            value: Some(1.2),
            spread: Some((1.1, 1.3)),
            must: Some(1.5),
            aim: Some(5.0),
            verdict: Verdict::Missed,
        };
        let row = |title, metric: Metric, homarus, bars| Row { title, metric, unit: metric.unit(), homarus, bars };
        let table = render(&[
            row("round trip", Metric::P50, Some(33.0), vec![bar]),
            row("core alone", Metric::MillionRate, Some(1.2), vec![absolute]),
            row("long messages", Metric::Gbit, None, Vec::new()),
        ]);
        let lines: Vec<_> = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines[1..],
            [
                "round trip 33.0 µs",
                "against plain UDP 28.7 µs 1.15 1.10 – 1.19 ≤ 1.20 ≤ 1.10 must reached",
                "core alone 1.20 M/s 1.10 – 1.30 ≥ 1.50 ≥ 5.00 MISSED",
                "long messages -",
            ]
        );
    }
}
