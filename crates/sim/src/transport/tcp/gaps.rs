use super::segment::{Blocks, End};
use std::collections::BTreeMap;

/// What has arrived behind a gap.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// From and to, apart from one another, in order.
    ranges: Vec<(u64, u64)>,
    /// Bytes in the ranges that were added to last: they are told first (RFC 2018 §4).
    recent: [u64; 3],
    /// Messages that end in the ranges, by their ends.
    ends: BTreeMap<u64, End>,
}

impl Gaps {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes from one to another have arrived, with these messages' ends.
    pub(super) fn insert(&mut self, from: u64, to: u64, ends: &[End]) {
        for end in ends {
            self.ends.insert(from + u64::from(end.at), *end);
        }
        let first = self.ranges.partition_point(|range| range.1 < from);
        let behind = self.ranges.partition_point(|range| range.0 <= to);
        let merged = match self.ranges.get(first..behind) {
            Some([only]) => (from.min(only.0), to.max(only.1)),
            Some([lowest, .., highest]) => (from.min(lowest.0), to.max(highest.1)),
            _ => (from, to),
        };
        self.ranges.splice(first..behind, [merged]);
        let place = self.recent.iter().position(|byte| (merged.0..merged.1).contains(byte)).unwrap_or(2);
        self.recent.copy_within(0..place, 1);
        self.recent[0] = from;
    }

    /// All before `next` has arrived otherwise. Returns up to where there is no gap, and moves the messages that end
    /// before to `done`.
    pub(super) fn close(&mut self, next: u64, done: &mut Vec<End>) -> u64 {
        let reached = self.ranges.partition_point(|range| range.0 <= next);
        let next = self.ranges.drain(..reached).fold(next, |next, range| next.max(range.1));
        while let Some(entry) = self.ends.first_entry()
            && *entry.key() <= next
        {
            done.push(entry.remove());
        }
        next
    }

    /// What to tell the sender.
    pub(super) fn blocks(&self, ack: u64) -> Blocks {
        let mut blocks = Blocks::default();
        if self.is_empty() {
            return blocks;
        }
        let mut count = 0;
        for byte in self.recent {
            let index = self.ranges.partition_point(|range| range.1 <= byte);
            if let Some(range) = self.ranges.get(index).filter(|range| range.0 <= byte) {
                let block = ((range.0 - ack) as u32, (range.1 - ack) as u32);
                if !blocks[..count].contains(&block) {
                    blocks[count] = block;
                    count += 1;
                }
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_the_latest_is_told_first() {
        let mut gaps = Gaps::default();
        for from in [10, 30, 50, 70] {
            gaps.insert(from, from + 10, &[]);
        }
        assert_eq!(gaps.blocks(0), [(70, 80), (50, 60), (30, 40)]);
        gaps.insert(40, 50, &[]);
        assert_eq!(gaps.blocks(0), [(30, 60), (70, 80), (0, 0)]);
        gaps.insert(5, 10, &[]);
        assert_eq!(gaps.blocks(2), [(3, 18), (28, 58), (68, 78)]);
    }

    #[test]
    fn a_closed_gap_gives_the_messages_behind_it() {
        let end = |id, at| End { id, at, interactive: false };
        let mut gaps = Gaps::default();
        gaps.insert(10, 20, &[end(1, 4), end(2, 10)]);
        gaps.insert(10, 20, &[end(1, 4), end(2, 10)]);
        gaps.insert(30, 40, &[end(3, 5)]);
        let mut done = Vec::new();
        assert_eq!(gaps.close(10, &mut done), 20);
        assert_eq!(done, [end(1, 4), end(2, 10)]);
        assert_eq!(gaps.close(25, &mut done), 25);
        assert_eq!(gaps.close(30, &mut done), 40);
        assert_eq!(done.len(), 3);
        assert!(gaps.is_empty());
    }
}
