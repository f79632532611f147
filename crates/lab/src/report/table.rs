//! The report for a terminal.

use super::data::{ClassReport, IncastReport, Quantiles, RaceReport, RaceTransport};
use super::verdict::{Figure, against, incast_sentences, name_of, sentences};
use crate::proof::Proof;
use std::fmt::Write;

/// The race as tables; those by length are about 25 columns wide and 20 more for each transport. The page has more quantiles.
pub fn race_table(report: &RaceReport) -> String {
    let mut out = String::new();
    let rack = &report.header.rack;
    let _ = writeln!(
        out,
        "{} hosts, {} links, {} priorities, {} KB a port; {} (mean {} bytes) at {:.0} % load, {} s a transport",
        rack.hosts,
        rate(rack.rate),
        rack.priorities,
        rack.buffer / 1000,
        report.workload.name,
        grouped(report.workload.mean_bytes as u64),
        report.load * 100.0,
        report.seconds
    );
    out += &proof_lines(&report.header.proof);
    for skipped in &report.header.skipped {
        let _ = writeln!(out, "skipped: {skipped}");
    }
    if report.transports.is_empty() {
        return out;
    }
    out += "\nRound trips from the scheduled sending of the request, request and response of equal length\n";
    out += &lengths_table(report);
    out += "\nMessages of the run\n";
    out += &columns(&run_header(), &report.transports.iter().map(run_row).collect::<Vec<_>>(), 0);
    out += &verdict_lines(report);
    for transport in &report.transports {
        for mark in &transport.marks {
            let _ = writeln!(out, "MARKED {}: {mark}", transport.name);
        }
    }
    out
}

fn proof_lines(proof: &Proof) -> String {
    let mut out = format!(
        "rack {}: links at {:.1} to {:.1} % of their rate with all of them full; idle round trip {:.0} µs",
        if proof.passed { "proved" } else { "NOT PROVED" },
        proof.slowest_link * 100.0,
        proof.fastest_link * 100.0,
        proof.idle_p50_us,
    );
    if let (Some(high), Some(low)) = (proof.flooded_high_p50_us, proof.flooded_low_p50_us) {
        let _ = write!(out, ", beside a flood {high:.0} µs at the highest and {low:.0} µs at the lowest priority");
    }
    let _ = writeln!(out, "; {:.0} % of the processors left", proof.cpu_left * 100.0);
    for failure in &proof.failures {
        let _ = writeln!(out, "FAILED: {failure}");
    }
    if !proof.passed {
        out += "Nothing was measured: results of such a rack would be void.\n";
    }
    out
}

/// Under each transport's name its P50 and P99.
fn lengths_table(report: &RaceReport) -> String {
    let below = report.transports.iter().flat_map(|_| ["p50", "p99"]);
    let header: Vec<String> = ["bytes", "count"].into_iter().chain(below).map(str::to_owned).collect();
    let table = columns(&header, &length_rows(report), 9);
    let mut names = " ".repeat(width_of(&table, "count"));
    for transport in &report.transports {
        names += &format!("{:>22}", transport.name);
    }
    format!("{names}\n{table}")
}

/// Characters of a table's header up to and including this word.
fn width_of(table: &str, word: &str) -> usize {
    table.split(word).next().map_or(0, |before| before.chars().count()) + word.chars().count()
}

fn length_rows(report: &RaceReport) -> Vec<Vec<String>> {
    let row = |label: String, class: &dyn Fn(&RaceTransport) -> Option<ClassReport>| -> Vec<String> {
        let classes: Vec<Option<ClassReport>> = report.transports.iter().map(class).collect();
        let count = classes.iter().flatten().map(|class| class.count).max().unwrap_or(0);
        let mut cells = vec![label, grouped(count)];
        for class in &classes {
            let quantiles = class.as_ref().and_then(|class| class.rtt_us);
            cells.extend(times(quantiles));
        }
        cells
    };
    let Some(first) = report.transports.first() else { return Vec::new() };
    let mut rows: Vec<Vec<String>> = (0..first.buckets.len())
        .map(|index| {
            let label = format!("≤ {}", grouped(u64::from(first.buckets[index].greatest_bytes)));
            row(label, &|transport| transport.buckets.get(index).cloned())
        })
        .collect();
    rows.push(row("shortest 10 %".to_owned(), &|transport| Some(transport.shortest_10_percent.clone())));
    rows.push(row("longest 1 %".to_owned(), &|transport| Some(transport.longest_1_percent.clone())));
    rows
}

fn times(quantiles: Option<Quantiles>) -> [String; 2] {
    match quantiles {
        Some(q) => [q.p50, q.p99].map(time),
        None => std::array::from_fn(|_| "-".to_owned()),
    }
}

fn run_header() -> Vec<String> {
    [
        "",
        "offered",
        "achieved",
        "on wire",
        "slowdown p50",
        "p99",
        "resent",
        "drops",
        "queue peak",
        "mean",
        "CPU left",
        "wait",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn run_row(transport: &RaceTransport) -> Vec<String> {
    let slowdown = |pick: fn(&Quantiles) -> f64| match &transport.all.slowdown {
        Some(quantiles) => format!("{:.2}", pick(quantiles)),
        None => "-".to_owned(),
    };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    vec![
        transport.name.clone(),
        percent(transport.offered_load),
        percent(transport.achieved_load),
        percent(transport.link_use),
        slowdown(|quantiles| quantiles.p50),
        slowdown(|quantiles| quantiles.p99),
        grouped(transport.retransmitted_packets),
        grouped(transport.switch.drops),
        kilobytes(transport.switch.queue_peak_bytes as f64),
        kilobytes(transport.switch.queue_mean_bytes),
        format!("{:.0} %", transport.cpu_left * 100.0),
        format!("{:.1} %", transport.waited_for_cpu * 100.0),
    ]
}

fn verdict_lines(report: &RaceReport) -> String {
    let Some(verdict) = &report.verdict else { return String::new() };
    let name = |id: &str| name_of(&report.transports, id).to_owned();
    let header = [
        "Homa against TCP".to_owned(),
        "Homa".to_owned(),
        "best TCP in each figure".to_owned(),
        String::new(),
        format!("{} throughout", name(&verdict.reference_tcp)),
        String::new(),
    ];
    let row = |figure: &Figure| {
        vec![
            figure.what(),
            time(figure.homa_us),
            format!("{} {}", name(&figure.best_tcp), time(figure.best_tcp_us)),
            against(figure.homa_us, figure.best_tcp_us),
            time(figure.reference_tcp_us),
            against(figure.homa_us, figure.reference_tcp_us),
        ]
    };
    let mut out = format!("\n{}\n", columns(&header, &verdict.figures.iter().map(row).collect::<Vec<_>>(), 0));
    for sentence in sentences(verdict, &report.transports) {
        let _ = writeln!(out, "{sentence}");
    }
    out
}

/// An incast as a table.
pub fn incast_table(report: &IncastReport) -> String {
    let mut out = String::new();
    let rack = &report.header.rack;
    let _ = writeln!(
        out,
        "{} hosts, {} links, {} KB a port; a client calls {} servers at once, each answers {} bytes, {} rounds; \
         a probe of {} bytes to the client every {} ms",
        rack.hosts,
        rate(rack.rate),
        rack.buffer / 1000,
        report.servers,
        grouped(u64::from(report.reply_bytes)),
        report.rounds,
        grouped(u64::from(report.probe_bytes)),
        report.probe_period_ms
    );
    out += &proof_lines(&report.header.proof);
    for skipped in &report.header.skipped {
        let _ = writeln!(out, "skipped: {skipped}");
    }
    if report.transports.is_empty() {
        return out;
    }
    let _ =
        writeln!(out, "A round takes at least {:.0} ms: the responses at the link's rate.\n", report.ideal_round_ms);
    let header = ["", "round p50", "p99", "max", "probe p50", "p99", "max", "lost", "queue peak", "drops", "resent"]
        .map(str::to_owned);
    let rows: Vec<Vec<String>> = report
        .transports
        .iter()
        .map(|transport| {
            let mut cells = vec![transport.name.clone()];
            for (quantiles, scale) in [(transport.round_ms, 1000.0), (transport.probe_us, 1.0)] {
                match quantiles {
                    Some(q) => cells.extend([q.p50, q.p99, q.max].map(|value| time(value * scale))),
                    None => cells.extend(std::array::from_fn::<String, 3, _>(|_| "-".to_owned())),
                }
            }
            cells.push(transport.probes_lost.to_string());
            cells.push(kilobytes(transport.port_queue_peak_bytes as f64));
            cells.push(grouped(transport.port_drops));
            cells.push(grouped(transport.retransmitted_packets));
            cells
        })
        .collect();
    out += &columns(&header, &rows, 0);
    out.push('\n');
    for sentence in incast_sentences(report) {
        let _ = writeln!(out, "{sentence}");
    }
    for transport in &report.transports {
        if let Some(failure) = &transport.failure {
            let _ = writeln!(out, "MARKED {}: {failure}", transport.name);
        }
    }
    out
}

/// Lines of cells, the first left-aligned, the others right-aligned and those after the second at least `least` wide.
fn columns(header: &[String], rows: &[Vec<String>], least: usize) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain(header.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        if column < 2 { widest } else { widest.max(least) }
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (column, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
            line += &if column == 0 { format!("{cell}{pad}") } else { format!("  {pad}{cell}") };
        }
        line.trim_end().to_owned() + "\n"
    };
    std::iter::once(line(header)).chain(rows.iter().map(|row| line(row))).collect()
}

/// A time given in µs, with a unit that suits it.
pub(super) fn time(micros: f64) -> String {
    match micros {
        m if m < 1000.0 => format!("{m:.0} µs"),
        m if m < 10_000.0 => format!("{:.2} ms", m / 1e3),
        m if m < 100_000.0 => format!("{:.1} ms", m / 1e3),
        m if m < 1_000_000.0 => format!("{:.0} ms", m / 1e3),
        m => format!("{:.2} s", m / 1e6),
    }
}

/// A number with commas between its thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn kilobytes(bytes: f64) -> String {
    format!("{:.1} KB", bytes / 1000.0)
}

/// A rate with the unit that suits it.
pub(super) fn rate(bits: u64) -> String {
    if bits >= 1_000_000_000 {
        format!("{} Gbit/s", bits as f64 / 1e9)
    } else {
        format!("{} Mbit/s", bits as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [12.4, 1234.0, 43_210.0, 654_321.0, 2_340_000.0].map(time),
            ["12 µs", "1.23 ms", "43.2 ms", "654 ms", "2.34 s"]
        );
        assert_eq!([50_000_000, 2_500_000_000].map(rate), ["50 Mbit/s", "2.5 Gbit/s"]);
    }

    #[test]
    fn columns_line_up() {
        let table = columns(
            &["a".to_owned(), "long".to_owned()],
            &[vec!["≤ 10".to_owned(), "1".to_owned()], vec!["x".to_owned(), "22".to_owned()]],
            0,
        );
        assert_eq!(table, "a     long\n≤ 10     1\nx       22\n");
    }
}
