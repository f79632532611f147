use crate::Instant;
use std::ops::Range;

/// Bytes missing below the highest byte received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) range: Range<u32>,
    /// When to ask for it (again).
    pub(crate) ask_at: Instant,
    /// Times that it was asked for.
    pub(crate) asked: u32,
    /// Packets that have arrived from beyond it.
    passed: u32,
}

/// Which bytes of a message have arrived: all below `end` but the gaps.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// Sorted, disjoint, not empty.
    list: Vec<Gap>,
    /// End of the highest bytes received.
    end: u32,
}

impl Gaps {
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Gap> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Gap> {
        self.list.iter_mut()
    }

    /// Notes that a packet has arrived from beyond all gaps. Returns whether that makes one due now: so many packets
    /// that have overtaken it say that it was lost. Gaps before `lane` do not count: theirs travel at a lower priority.
    pub(crate) fn pass(&mut self, now: Instant, lane: u32, threshold: u32) -> bool {
        let mut due = false;
        for gap in self.list.iter_mut().filter(|gap| gap.asked == 0 && gap.range.start >= lane) {
            gap.passed += 1;
            if gap.passed >= threshold && gap.ask_at > now {
                gap.ask_at = now;
                due = true;
            }
        }
        due
    }

    /// Whether part of `range` has been asked for.
    pub(crate) fn was_asked_for(&self, range: &Range<u32>) -> bool {
        self.list.iter().any(|gap| gap.asked > 0 && gap.range.start < range.end && range.start < gap.range.end)
    }

    /// Records the arrival of `range`, and calls `fresh` with each part of it that had been missing. A range that
    /// would open more than `max_gaps` is refused.
    pub(crate) fn fill(
        &mut self,
        range: Range<u32>,
        ask_at: Instant,
        max_gaps: usize,
        mut fresh: impl FnMut(Range<u32>),
    ) -> Result<(), TooManyGaps> {
        if range.start <= self.end && self.list.is_empty() {
            // The common case: in order.
            if range.end > self.end {
                fresh(self.end..range.end);
                self.end = range.end;
            }
            return Ok(());
        }
        let opens_gap = range.start > self.end;
        let splits_gap = self.list.iter().any(|gap| gap.range.start < range.start && range.end < gap.range.end);
        if (opens_gap || splits_gap) && self.list.len() >= max_gaps {
            return Err(TooManyGaps);
        }
        if opens_gap {
            self.list.push(Gap { range: self.end..range.start, ask_at, asked: 0, passed: 0 });
            fresh(range.clone());
            self.end = range.end;
            return Ok(());
        }
        let first = self.list.partition_point(|gap| gap.range.end <= range.start);
        let mut index = first;
        while index < self.list.len() && self.list[index].range.start < range.end {
            let gap = self.list[index].clone();
            let overlap = gap.range.start.max(range.start)..gap.range.end.min(range.end);
            fresh(overlap.clone());
            let before = gap.range.start..overlap.start;
            let after = overlap.end..gap.range.end;
            let left = [before, after].into_iter().filter(|rest| !rest.is_empty());
            let rests = left.map(|range| Gap { range, ..gap.clone() });
            let rests: Vec<Gap> = rests.collect();
            let kept = rests.len();
            self.list.splice(index..=index, rests);
            index += kept;
        }
        if range.end > self.end {
            fresh(self.end..range.end);
            self.end = range.end;
        }
        Ok(())
    }
}

/// The bound on gaps would be exceeded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooManyGaps;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_bitmap(ranges in prop::collection::vec((0u32..200, 1u32..40), 1..60)) {
            let mut gaps = Gaps::default();
            let mut have = [false; 256];
            for (start, len) in ranges {
                let range = start..start + len;
                let mut fresh = Vec::new();
                gaps.fill(range.clone(), Instant::ZERO, 1000, |part| fresh.extend(part)).unwrap();
                let expected: Vec<u32> = range.clone().filter(|at| !have[*at as usize]).collect();
                prop_assert_eq!(fresh, expected);
                range.for_each(|at| have[at as usize] = true);
                let missing: Vec<u32> = (0..gaps.end()).filter(|at| !have[*at as usize]).collect();
                let listed: Vec<u32> = gaps.iter().flat_map(|gap| gap.range.clone()).collect();
                prop_assert_eq!(missing, listed);
            }
        }
    }

    #[test]
    fn three_packets_from_beyond_make_a_gap_due() {
        let (later, mut gaps) = (Instant::from_nanos(1_000), Gaps::default());
        gaps.fill(10..20, later, 9, |_| {}).unwrap();
        assert!(!gaps.pass(Instant::ZERO, 0, 3) && !gaps.pass(Instant::ZERO, 0, 3));
        assert!(gaps.pass(Instant::ZERO, 0, 3));
        assert_eq!(gaps.list[0].ask_at, Instant::ZERO);
    }

    #[test]
    fn packets_of_a_higher_priority_prove_nothing() {
        let (later, mut gaps) = (Instant::from_nanos(1_000), Gaps::default());
        gaps.fill(10..20, later, 9, |_| {}).unwrap();
        assert!((0..9).all(|_| !gaps.pass(Instant::ZERO, 10, 3)));
    }

    #[test]
    fn the_number_of_gaps_is_bounded() {
        let mut gaps = Gaps::default();
        for at in 1..=3 {
            assert_eq!(gaps.fill(at * 10..at * 10 + 1, Instant::ZERO, 3, |_| {}), Ok(()));
        }
        assert_eq!(gaps.fill(40..41, Instant::ZERO, 3, |_| {}), Err(TooManyGaps));
        assert_eq!(gaps.fill(0..10, Instant::ZERO, 3, |_| {}), Ok(()));
        assert_eq!(gaps.fill(40..41, Instant::ZERO, 3, |_| {}), Ok(()));
    }
}
