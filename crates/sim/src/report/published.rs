use homarus_workloads::Workload;

/// The results of the SIGCOMM'18 paper's own simulation, with their provenance in the first line.
const SIGCOMM18: &str = include_str!("../../data/sigcomm18_slowdown_w2_w4_load80.csv");

/// Published P99 slowdowns of a range of message lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Which range.
    pub what: &'static str,
    /// Mean of the bins' P99, each counted by its messages.
    pub p99_by_bin: f64,
}

/// What the paper's simulation found at 80 % load for a transport, called as there: `Homa`, `pFabric`, `SRPT-Oracle`, `pHost` or
/// `PIAS`. Nothing where nothing is published: only W2 and W4 are.
pub fn published(workload: &Workload, transport: &str) -> Vec<Published> {
    let name = workload.name().to_uppercase();
    let rows: Vec<(f64, f64)> = SIGCOMM18
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|row| row.len() == 9 && row[0] == name && row[1] == "0.8" && row[2] == transport)
        .filter_map(|row| Some((row[4].parse().ok()?, row[8].parse().ok()?)))
        .collect();
    let ranges =
        [("smallest 10 %", 0.0, 10.0), ("smallest 50 %", 0.0, 50.0), ("all", 0.0, 100.0), ("largest 1 %", 99.0, 100.0)];
    let in_range = |from: f64, to: f64| {
        let (mut before, mut share, mut weighted) = (0.0, 0.0, 0.0);
        for (percent, p99) in &rows {
            if before + percent > from + 1e-7 && before < to - 1e-7 {
                share += percent;
                weighted += percent * p99;
            }
            before += percent;
        }
        (share > 0.0).then(|| weighted / share)
    };
    let found = ranges.into_iter().map(|(what, from, to)| (what, in_range(from, to)));
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
        assert!(published(&w4, "TCP").is_empty());
        assert!(published(&Workload::builtin("w3").unwrap(), "Homa").is_empty());
    }
}
