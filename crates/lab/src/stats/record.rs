use super::{BaseLine, Class, Histogram};
use serde::{Deserialize, Serialize};

/// Round trips of the messages of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassRecord {
    /// Round trips, ns.
    pub(crate) nanos: Histogram,
    /// Round trips over the base line, thousandths.
    pub(crate) slowdown: Histogram,
    /// Sum of the messages' lengths, bytes.
    pub(crate) bytes: u64,
}

/// Round trips of a run, by class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recorded {
    /// In the order of the run's classes.
    pub(crate) classes: Vec<ClassRecord>,
}

impl Recorded {
    /// For so many classes.
    pub(crate) fn new(classes: usize) -> Recorded {
        Recorded { classes: vec![ClassRecord::default(); classes] }
    }

    /// Counts one message in each class that it belongs to.
    pub(crate) fn record(&mut self, classes: &[Class], base: &BaseLine, length: u32, nanos: u64) {
        let idle = base.at(length);
        for (record, _) in self.classes.iter_mut().zip(classes).filter(|(_, class)| class.contains(length)) {
            record.nanos.record(nanos);
            if idle > 0.0 {
                record.slowdown.record((nanos as f64 / idle * 1000.0) as u64);
            }
            record.bytes += u64::from(length);
        }
    }

    /// Adds what another host or turn counted.
    pub(crate) fn merge(&mut self, other: &Recorded) {
        self.classes.resize(self.classes.len().max(other.classes.len()), ClassRecord::default());
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            mine.nanos.merge(&theirs.nanos);
            mine.slowdown.merge(&theirs.slowdown);
            mine.bytes += theirs.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::ClassKind;

    #[test]
    fn a_message_counts_in_every_class_that_holds_it() {
        let class = |least, greatest| Class { kind: ClassKind::Bucket, least, greatest };
        let classes = [class(0, 1000), class(0, 100), class(101, 1000)];
        let base = BaseLine { points: vec![(100, 1000), (1000, 10_000)] };
        let mut recorded = Recorded::new(3);
        recorded.record(&classes, &base, 100, 2000);
        recorded.record(&classes, &base, 1000, 5000);
        let mut twice = recorded.clone();
        twice.merge(&recorded);
        assert_eq!(twice.classes.iter().map(|c| c.nanos.count()).collect::<Vec<_>>(), [4, 2, 2]);
        assert_eq!(twice.classes[1].slowdown.at(0.5), Some(2000));
        assert_eq!(twice.classes[2].bytes, 2000);
    }
}
