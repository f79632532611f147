use crate::published;
use hdrhistogram::Histogram;
use homarus_workloads::Workload;
use serde::Serialize;

/// Slowdowns by message length: bins that each hold about a hundredth of all messages.
#[derive(Clone, Debug)]
pub struct Bins {
    /// Longest message in each bin.
    uppers: Vec<u32>,
    /// Share of messages in the bins up to each, by the workload's distribution.
    cumulative: Vec<f64>,
    cells: Vec<Histogram<u64>>,
}

/// What happened to the messages of a range of lengths.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Which range.
    pub what: String,
    /// Messages in it.
    pub count: u64,
    /// Median slowdown.
    pub p50: f64,
    /// 99th percentile of the slowdowns.
    pub p99: f64,
    /// Mean of the bins' 99th percentiles, each counted by its messages: what published figures by length can be held against.
    pub p99_by_bin: f64,
}

/// One bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// Longest message in it, bytes.
    pub size: u32,
    /// Messages of this length or shorter, per cent of all.
    pub percentile: f64,
    /// Messages that counted.
    pub count: u64,
    /// Mean slowdown.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// The ranges that results are told by, as shares of the messages, the shortest first.
pub(crate) const RANGES: [(&str, f64, f64); 4] =
    [("smallest 10 %", 0.0, 0.1), ("smallest 50 %", 0.0, 0.5), ("all", 0.0, 1.0), ("largest 1 %", 0.99, 1.0)];

/// Slowdowns are kept in thousandths.
const SCALE: f64 = 1_000.0;

impl Bins {
    /// Bins for the lengths of a workload: those by which results were published, where there are any.
    pub fn of(workload: &Workload) -> Bins {
        let mut bounds = published::lengths(workload);
        if bounds.is_empty() {
            let mut last = 0.0;
            for step in workload.steps() {
                if step.cumulative - last >= 0.01 - 1e-9 || step.cumulative >= 1.0 {
                    bounds.push((step.size, step.cumulative));
                    last = step.cumulative;
                }
            }
        }
        let (uppers, cumulative): (Vec<u32>, Vec<f64>) = bounds.into_iter().unzip();
        let cell = || Histogram::new(3).unwrap_or_else(|e| unreachable!("a histogram of three digits: {e}"));
        Bins { cells: uppers.iter().map(|_| cell()).collect(), uppers, cumulative }
    }

    /// Counts a message.
    pub fn record(&mut self, length: u32, slowdown: f64) {
        let bin = self.uppers.partition_point(|upper| *upper < length).min(self.cells.len() - 1);
        // The histogram grows by itself; nothing is slower than its range.
        let _ = self.cells[bin].record((slowdown * SCALE).round() as u64);
    }

    /// Each bin that has messages.
    pub fn bins(&self) -> Vec<Bin> {
        let cells = self.cells.iter().zip(&self.uppers).zip(&self.cumulative);
        cells
            .filter(|((cell, _), _)| !cell.is_empty())
            .map(|((cell, upper), cumulative)| Bin {
                size: *upper,
                percentile: cumulative * 100.0,
                count: cell.len(),
                mean: cell.mean() / SCALE,
                p50: cell.value_at_quantile(0.5) as f64 / SCALE,
                p99: cell.value_at_quantile(0.99) as f64 / SCALE,
            })
            .collect()
    }

    /// The ranges that results are told by: the smallest tenth and half of the messages, all, and the largest hundredth.
    pub fn ranges(&self) -> Vec<Range> {
        RANGES.into_iter().filter_map(|(what, from, to)| self.range(what, from, to)).collect()
    }

    /// The bins that overlap a range of percentiles.
    fn range(&self, what: &str, from: f64, to: f64) -> Option<Range> {
        let mut all: Option<Histogram<u64>> = None;
        let (mut weighted, mut count, mut before) = (0.0, 0, 0.0);
        for (cell, cumulative) in self.cells.iter().zip(&self.cumulative) {
            if *cumulative > from + 1e-9 && before < to - 1e-9 && !cell.is_empty() {
                weighted += cell.len() as f64 * cell.value_at_quantile(0.99) as f64 / SCALE;
                count += cell.len();
                match &mut all {
                    // Two histograms of the same precision always add up.
                    Some(all) => drop(all.add(cell)),
                    None => all = Some(cell.clone()),
                }
            }
            before = *cumulative;
        }
        let all = all?;
        let at = |quantile| all.value_at_quantile(quantile) as f64 / SCALE;
        Some(Range { what: what.to_owned(), count, p50: at(0.5), p99: at(0.99), p99_by_bin: weighted / count as f64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_their_names_say() {
        let mut bins = Bins::of(&Workload::builtin("w4").unwrap());
        for bin in bins.uppers.clone() {
            bins.record(bin, f64::from(bin.min(50)));
        }
        let ranges = bins.ranges();
        let all = &ranges[2];
        assert_eq!(all.count, bins.uppers.len() as u64);
        assert!(ranges[0].count < ranges[1].count && ranges[1].count < all.count, "{ranges:?}");
        assert!((1..4).contains(&ranges[3].count), "{ranges:?}");
    }
}
