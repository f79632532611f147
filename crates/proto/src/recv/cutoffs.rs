/// Which switch priority each message uses, decided by the receiver from the sizes that it really receives.
///
/// Levels are split between unscheduled and scheduled bytes in proportion to the traffic, and the unscheduled levels'
/// cutoffs are such that each carries the same number of unscheduled bytes (SIGCOMM'18 §3.4). The Linux module has
/// fixed cutoffs that a separate program may change; here they follow the traffic.
#[derive(Debug)]
pub(crate) struct Cutoffs {
    levels: u8,
    cutoffs: [u32; 8],
    version: u16,
    /// Scheduled levels; 0 when scheduled bytes share the only level.
    scheduled_levels: u8,
    sizes: Sizes,
    until_next: u32,
}

/// Bytes by message length, half an octave a bucket, older messages counting less.
#[derive(Debug)]
struct Sizes {
    unscheduled: [u64; Sizes::BUCKETS],
    total: u64,
}

impl Cutoffs {
    /// Messages between two looks at the cutoffs.
    const INTERVAL: u32 = 1000;

    pub(crate) fn new(levels: u8) -> Cutoffs {
        // Until sizes are known: the Linux module's defaults, fitted to the number of levels.
        let (cutoffs, scheduled_levels) = match levels {
            1 => ([0, 0, 0, 0, 0, 0, 0, Cutoffs::UNLIMITED], 0),
            2 => ([0, 0, 0, 0, 0, 0, 0, Cutoffs::UNLIMITED], 1),
            3 => ([0, 0, 0, 0, 0, 0, Cutoffs::UNLIMITED, 2800], 1),
            4 => ([0, 0, 0, 0, 0, 0, Cutoffs::UNLIMITED, 2800], 2),
            5 => ([0, 0, 0, 0, 0, Cutoffs::UNLIMITED, 15_000, 200], 2),
            6 => ([0, 0, 0, 0, 0, Cutoffs::UNLIMITED, 15_000, 200], 3),
            7 => ([0, 0, 0, 0, Cutoffs::UNLIMITED, 15_000, 2800, 200], 3),
            _ => ([0, 0, 0, 0, Cutoffs::UNLIMITED, 15_000, 2800, 200], 4),
        };
        Cutoffs {
            levels: levels.clamp(1, 8),
            cutoffs,
            version: 1,
            scheduled_levels,
            sizes: Sizes { unscheduled: [0; Sizes::BUCKETS], total: 0 },
            until_next: Cutoffs::INTERVAL,
        }
    }

    /// Cutoff of the level that takes all longer messages; Linux reads cutoffs as signed numbers.
    pub(crate) const UNLIMITED: u32 = i32::MAX as u32;

    pub(crate) fn cutoffs(&self) -> [u32; 8] {
        self.cutoffs
    }

    pub(crate) fn version(&self) -> u16 {
        self.version
    }

    /// Priority of the scheduled message with `rank` (0 is the best) among `active` ones: the lowest levels that keep
    /// them apart, so that a shorter message that comes can pass at once (SIGCOMM'18 §3.4).
    pub(crate) fn scheduled_priority(&self, rank: usize, active: usize) -> u8 {
        let lowest = 8 - self.levels;
        let used = active.min(usize::from(self.scheduled_levels).max(1));
        lowest + (used - 1).saturating_sub(rank) as u8
    }

    /// Highest scheduled priority: what FIFO grants use.
    pub(crate) fn highest_scheduled(&self) -> u8 {
        8 - self.levels + self.scheduled_levels.max(1) - 1
    }

    /// Takes note of a message that arrived. Returns whether the cutoffs changed.
    pub(crate) fn record(&mut self, length: u32, unscheduled: u32) -> bool {
        self.sizes.add(length, unscheduled);
        self.until_next -= 1;
        if self.until_next > 0 {
            return false;
        }
        self.until_next = Cutoffs::INTERVAL;
        let (cutoffs, scheduled_levels) = self.computed();
        self.sizes.fade();
        let near = |old: u32, new: u32| old.abs_diff(new) <= old.min(new) / 2;
        let same = cutoffs.iter().zip(&self.cutoffs).all(|(new, old)| near(*old, *new));
        if same && scheduled_levels == self.scheduled_levels {
            return false;
        }
        self.cutoffs = cutoffs;
        self.scheduled_levels = scheduled_levels;
        // Version 0 means that no cutoffs are known.
        self.version = self.version.checked_add(1).unwrap_or(1);
        true
    }

    fn computed(&self) -> ([u32; 8], u8) {
        let unscheduled_bytes: u64 = self.sizes.unscheduled.iter().sum();
        if self.levels == 1 || self.sizes.total == 0 || unscheduled_bytes == 0 {
            return (self.cutoffs, self.scheduled_levels);
        }
        let share = unscheduled_bytes as f64 / self.sizes.total as f64;
        let unscheduled_levels = (share * f64::from(self.levels)).round().clamp(1.0, f64::from(self.levels - 1)) as u8;
        let mut cutoffs = [0; 8];
        let mut bucket = 0;
        let mut below = 0;
        for level in 0..unscheduled_levels {
            let priority = usize::from(7 - level);
            let target = unscheduled_bytes * (u64::from(level) + 1) / u64::from(unscheduled_levels);
            while bucket < Sizes::BUCKETS - 1 && below + self.sizes.unscheduled[bucket] / 2 < target {
                below += self.sizes.unscheduled[bucket];
                bucket += 1;
            }
            cutoffs[priority] = Sizes::upper_bound(bucket.saturating_sub(1));
        }
        cutoffs[usize::from(8 - unscheduled_levels)] = Cutoffs::UNLIMITED;
        (cutoffs, self.levels - unscheduled_levels)
    }
}

/// The priority for the unscheduled bytes of a message of `length` bytes under a receiver's cutoffs.
pub(crate) fn unscheduled_priority(cutoffs: &[u32; 8], length: u32) -> u8 {
    let fits = (0..8).rev().find(|priority| cutoffs[*priority] >= length);
    // Longer than every cutoff: the lowest level that unscheduled bytes use.
    let level = fits.or_else(|| (0..8).find(|priority| cutoffs[*priority] > 0));
    level.unwrap_or(0) as u8
}

impl Sizes {
    const BUCKETS: usize = 62;

    fn bucket(length: u32) -> usize {
        let length = length.max(1);
        let octave = length.ilog2();
        let upper_half = octave > 0 && length >> (octave - 1) & 1 == 1;
        (2 * octave as usize + usize::from(upper_half)).min(Sizes::BUCKETS - 1)
    }

    /// Longest message in a bucket.
    fn upper_bound(bucket: usize) -> u32 {
        let octave = bucket as u32 / 2;
        let base = 1_u64 << octave;
        let bound = if bucket.is_multiple_of(2) { base + base / 2 } else { 2 * base };
        (bound - 1).clamp(1, u64::from(Cutoffs::UNLIMITED)) as u32
    }

    fn add(&mut self, length: u32, unscheduled: u32) {
        // An empty message still costs a header.
        self.unscheduled[Sizes::bucket(length)] += u64::from(unscheduled.min(length).max(1));
        self.total += u64::from(length.max(1));
    }

    fn fade(&mut self) {
        self.unscheduled.iter_mut().for_each(|bytes| *bytes -= *bytes / 4);
        self.total -= self.total / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_defaults_choose_linux_priorities() {
        let linux = [0, 0, 0, 0, 1_000_000, 15_000, 2800, 200];
        for (length, priority) in [(200, 7), (201, 6), (2800, 6), (15_000, 5), (15_001, 4), (2_000_000, 4)] {
            assert_eq!(unscheduled_priority(&linux, length), priority, "{length} bytes");
        }
    }

    #[test]
    fn buckets_have_their_bounds() {
        for length in [1, 2, 3, 4, 5, 6, 7, 8, 1000, 1536, 65_535, 65_536, i32::MAX as u32] {
            let bucket = Sizes::bucket(length);
            assert!(length <= Sizes::upper_bound(bucket), "{length}");
            assert!(bucket == 0 || length > Sizes::upper_bound(bucket - 1) || bucket < 2, "{length}");
        }
    }

    #[test]
    fn short_traffic_takes_the_levels_and_splits_them_evenly() {
        let mut cutoffs = Cutoffs::new(8);
        for round in 0..4000 {
            let length = [100, 400, 1600, 6400][round % 4];
            cutoffs.record(length, 10_000);
        }
        assert_eq!(cutoffs.scheduled_levels, 1);
        let carried = |length| unscheduled_priority(&cutoffs.cutoffs(), length);
        assert!(carried(100) >= carried(1600) && carried(1600) > carried(6400), "{:?}", cutoffs.cutoffs());
        assert!(cutoffs.version() > 1);
    }

    #[test]
    fn long_traffic_leaves_one_unscheduled_level() {
        let mut cutoffs = Cutoffs::new(8);
        (0..3000).for_each(|_| {
            cutoffs.record(10_000_000, 10_000);
        });
        assert_eq!(cutoffs.scheduled_levels, 7);
        assert_eq!(cutoffs.scheduled_priority(0, 7), 6);
        assert_eq!(cutoffs.scheduled_priority(0, 2), 1);
        assert_eq!(cutoffs.scheduled_priority(1, 2), 0);
        assert_eq!(cutoffs.scheduled_priority(9, 20), 0);
    }

    #[test]
    fn every_number_of_levels_stays_within_its_levels() {
        for levels in 1..=8 {
            let mut cutoffs = Cutoffs::new(levels);
            for round in 0..5000 {
                cutoffs.record([50, 3000, 1_000_000][round % 3], 10_000);
            }
            for length in [0, 1, 5000, u32::MAX / 4] {
                assert!(unscheduled_priority(&cutoffs.cutoffs(), length) >= 8 - levels);
            }
            for rank in 0..10 {
                assert!((8 - levels..8).contains(&cutoffs.scheduled_priority(rank, 10)));
            }
        }
    }
}
