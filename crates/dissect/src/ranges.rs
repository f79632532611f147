/// Which bytes of a message were seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// Starts and ends, in order, none touching the next.
    ranges: Vec<(u32, u32)>,
    covered: u32,
}

impl Ranges {
    /// More separate ranges in one message are not followed: each costs memory, and a search.
    pub(crate) const MAX: usize = 4096;

    /// Bytes seen at least once.
    pub(crate) fn covered(&self) -> u32 {
        self.covered
    }

    /// How many separate ranges there are.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Adds bytes and returns how many of them were new; `None` if they would need one range more and `may_grow`
    /// forbids it.
    pub(crate) fn insert(&mut self, start: u32, end: u32, may_grow: bool) -> Option<u32> {
        if start >= end {
            return Some(0);
        }
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = from + self.ranges[from..].partition_point(|range| range.0 <= end);
        if from == to {
            if !may_grow || self.ranges.len() >= Ranges::MAX {
                return None;
            }
            self.ranges.insert(from, (start, end));
            self.covered += end - start;
            return Some(end - start);
        }
        let merged = (start.min(self.ranges[from].0), end.max(self.ranges[to - 1].1));
        let had: u32 = self.ranges[from..to].iter().map(|range| range.1 - range.0).sum();
        self.ranges[from] = merged;
        self.ranges.drain(from + 1..to);
        let new = merged.1 - merged.0 - had;
        self.covered += new;
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The ranges say what a table of single bytes says.
        #[test]
        fn same_as_a_table_of_bytes(inserts in prop::collection::vec((0u32..200, 0u32..40), 0..60)) {
            let mut ranges = Ranges::default();
            let mut bytes = [false; 240];
            for (start, length) in inserts {
                let span = &mut bytes[start as usize..(start + length) as usize];
                let new = span.iter().filter(|seen| !**seen).count() as u32;
                span.fill(true);
                prop_assert_eq!(ranges.insert(start, start + length, true), Some(new));
                prop_assert_eq!(ranges.covered() as usize, bytes.iter().filter(|seen| **seen).count());
                let starts = (0..240).filter(|at| bytes[*at] && (*at == 0 || !bytes[*at - 1])).count();
                prop_assert_eq!(ranges.len(), starts);
            }
        }
    }
}
