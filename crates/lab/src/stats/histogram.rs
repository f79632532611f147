use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A histogram of three significant digits that grows as needed, merges with others and travels as its non-empty cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Histogram(Hdr<u64>);

impl Default for Histogram {
    fn default() -> Self {
        // Three digits are within what the crate accepts (0 to 5).
        Histogram(Hdr::new(3).unwrap_or_else(|e| unreachable!("a histogram of three digits: {e}")))
    }
}

impl Histogram {
    /// Counts one value.
    pub(crate) fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    fn record_n(&mut self, value: u64, count: u64) {
        // It grows by itself; only a value above 2^63 is out of range.
        let _ = self.0.record_n(value.min(1 << 62), count);
    }

    /// Adds all that `other` counted.
    pub(crate) fn merge(&mut self, other: &Histogram) {
        for cell in other.0.iter_recorded() {
            self.record_n(cell.value_iterated_to(), cell.count_at_value());
        }
    }

    /// Values counted.
    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }

    /// Value that a share `quantile` (0 to 1) of those counted do not exceed; `None` if there are none.
    pub(crate) fn at(&self, quantile: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.0.value_at_quantile(quantile))
    }

    /// Greatest value counted.
    pub(crate) fn max(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.0.max())
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter_recorded().map(|cell| (cell.value_iterated_to(), cell.count_at_value())))
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut histogram = Histogram::default();
        for (value, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            histogram.record_n(value, count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_values(mut values in prop::collection::vec(0u64..1 << 40, 1..300), q in 0.0f64..=1.0) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.record(value));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let found = histogram.at(q).unwrap() as f64;
            prop_assert!((found - exact).abs() <= exact * 0.001 + 1.0, "{} against {}", found, exact);
        }

        #[test]
        fn merging_equals_counting_together(a in prop::collection::vec(0u64..1 << 40, 0..100), b in prop::collection::vec(0u64..1 << 40, 0..100)) {
            let count = |values: &[u64]| {
                let mut histogram = Histogram::default();
                values.iter().for_each(|&value| histogram.record(value));
                histogram
            };
            let mut merged = count(&a);
            merged.merge(&count(&b));
            let together = count(&[a, b].concat());
            for q in [0.0, 0.5, 0.99, 1.0] {
                prop_assert_eq!(merged.at(q), together.at(q));
            }
        }

        #[test]
        fn it_survives_the_trip_through_text(values in prop::collection::vec(0u64..1 << 40, 0..100)) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.record(value));
            let text = serde_json::to_string(&histogram).unwrap();
            let back: Histogram = serde_json::from_str(&text).unwrap();
            for q in [0.0, 0.5, 0.99, 1.0] {
                prop_assert_eq!(back.at(q), histogram.at(q));
            }
        }
    }

    #[test]
    fn nothing_counted_has_no_quantile() {
        assert_eq!(Histogram::default().at(0.5), None);
        assert_eq!(Histogram::default().max(), None);
    }
}
