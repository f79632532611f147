//! Published results, to hold ours against.

use crate::run::RANGES;
use homarus_workloads::Workload;

/// The results of the SIGCOMM'18 paper's own simulation, with their provenance in the first line.
const SIGCOMM18: &str = include_str!("../data/sigcomm18_slowdown_w2_w4_load80.csv");

/// Published P99 slowdowns of a range of message lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Which range.
    pub what: &'static str,
    /// Mean of the bins' P99, each counted by its messages.
    pub p99_by_bin: f64,
}

/// One row: messages up to a length.
struct Row {
    size: u32,
    /// Of all messages, per cent.
    percent: f64,
    p99: f64,
}

/// The rows of a workload and transport.
fn rows(workload: &Workload, transport: &str) -> Vec<Row> {
    let name = workload.name().to_uppercase();
    let rows = SIGCOMM18.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect::<Vec<_>>());
    let ours = rows.filter(|row| row.len() == 9 && row[0] == name && row[1] == "0.8" && row[2] == transport);
    let number = |row: &[&str], column: usize| row[column].parse::<f64>().ok();
    let read =
        |row: Vec<&str>| Some(Row { size: number(&row, 3)? as u32, percent: number(&row, 4)?, p99: number(&row, 8)? });
    ours.filter_map(read).collect()
}

/// The lengths by which results for a workload were published, each with the share of messages up to it; nothing if none were.
/// They are the same for all transports.
pub(crate) fn lengths(workload: &Workload) -> Vec<(u32, f64)> {
    let mut percent = 0.0;
    let upto = |row: Row| {
        percent += row.percent;
        (row.size, percent / 100.0)
    };
    rows(workload, "Homa").into_iter().map(upto).collect()
}

/// What the paper's simulation found at 80 % load for a transport, called as there: `Homa`, `pFabric`, `SRPT-Oracle`, `pHost` or
/// `PIAS`. Nothing where nothing is published: only W2 and W4 are.
pub fn published(workload: &Workload, transport: &str) -> Vec<Published> {
    let rows = rows(workload, transport);
    let in_range = |from: f64, to: f64| {
        let (mut before, mut share, mut weighted) = (0.0, 0.0, 0.0);
        for Row { percent, p99, .. } in &rows {
            if before + percent > from + 1e-7 && before < to - 1e-7 {
                share += percent;
                weighted += percent * p99;
            }
            before += percent;
        }
        (share > 0.0).then(|| weighted / share)
    };
    let found = RANGES.into_iter().map(|(what, from, to)| (what, in_range(100.0 * from, 100.0 * to)));
    found.filter_map(|(what, p99)| Some(Published { what, p99_by_bin: p99? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_published_is_told() {
        let w4 = Workload::builtin("w4").unwrap();
        let homa = published(&w4, "Homa");
        assert_eq!(homa.len(), 4);
        assert!((homa[0].p99_by_bin - 2.10).abs() < 0.01, "{homa:?}");
        assert_eq!(lengths(&w4).len(), 91);
        assert!(lengths(&w4).is_sorted() && (lengths(&w4)[90].1 - 1.0).abs() < 1e-6);
        assert!(published(&w4, "TCP").is_empty());
        assert!(published(&Workload::builtin("w3").unwrap(), "Homa").is_empty());
    }
}
