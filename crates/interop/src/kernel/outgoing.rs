use std::ops::Range;

/// A message that is being sent, or kept until it is acked. Cut into packets once and for all.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    contents: Vec<u8>,
    /// Packets' parts of the message. None crosses the unscheduled limit.
    cuts: Vec<Range<u32>>,
    /// Packets that leave together, as indices of `cuts`: one, or the segments of a large one.
    bursts: Vec<Range<usize>>,
    /// Bursts sent.
    next: usize,
    /// Bytes sent without grants.
    unscheduled: u32,
    /// Bursts that begin below this may be sent.
    granted: u32,
    /// Priority that the last grant named.
    pub(super) scheduled_priority: u8,
}

impl Outgoing {
    /// Cuts a message into packets of `full` bytes, of which up to `together` leave as one.
    pub(super) fn new(contents: Vec<u8>, full: u32, together: usize, unscheduled_limit: u32) -> Outgoing {
        let length = contents.len() as u32;
        let unscheduled = length.min(unscheduled_limit);
        let (mut cuts, mut bursts) = (Vec::new(), Vec::new());
        for part in [0..unscheduled, unscheduled..length] {
            let first = cuts.len();
            cuts.extend(part.clone().step_by(full as usize).map(|start| start..(start + full).min(part.end)));
            let last = cuts.len();
            bursts.extend((first..last).step_by(together).map(|start| start..(start + together).min(last)));
        }
        Outgoing { contents, cuts, bursts, next: 0, unscheduled, granted: unscheduled, scheduled_priority: 0 }
    }

    pub(super) fn length(&self) -> u32 {
        self.contents.len() as u32
    }

    /// Bytes sent without grants, which is what `incoming` says in all first transmissions.
    pub(super) fn unscheduled(&self) -> u32 {
        self.unscheduled
    }

    /// Bytes sent at least once.
    pub(super) fn sent(&self) -> u32 {
        self.bursts.get(self.next).map_or(self.length(), |burst| self.cuts[burst.start].start)
    }

    /// Whether all that may be sent was.
    pub(super) fn is_waiting(&self) -> bool {
        self.sent() >= self.granted
    }

    pub(super) fn grant(&mut self, offset: u32, priority: u8) {
        let offset = offset.min(self.length());
        if offset > self.granted {
            self.granted = offset;
            self.scheduled_priority = priority;
        }
    }

    /// The parts of the message that leave together next, if any may.
    pub(super) fn next_burst(&mut self) -> Option<Vec<Range<u32>>> {
        if self.is_waiting() {
            return None;
        }
        let burst = self.bursts[self.next].clone();
        self.next += 1;
        Some(self.cuts[burst].to_vec())
    }

    /// The packets as they were sent that overlap a range.
    pub(super) fn resent(&self, range: Range<u32>) -> Vec<Range<u32>> {
        let sent = self.sent();
        let overlaps = |cut: &&Range<u32>| cut.end <= sent && cut.start < range.end && range.start < cut.end;
        self.cuts.iter().filter(overlaps).cloned().collect()
    }

    pub(super) fn contents(&self, part: &Range<u32>) -> Vec<u8> {
        self.contents[part.start as usize..part.end as usize].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_is_forced_at_the_unscheduled_limit() {
        let message = Outgoing::new(vec![0; 100_000], 1424, 1, 40_000);
        assert_eq!(message.cuts[28], 39_872..40_000);
        assert_eq!(message.cuts[29], 40_000..41_424);
        assert_eq!(message.cuts.last(), Some(&(99_808..100_000)));
    }

    #[test]
    fn segments_leave_together_but_not_across_the_limit() {
        let mut message = Outgoing::new(vec![0; 100_000], 1424, 13, 40_000);
        let burst: Vec<_> = std::iter::from_fn(|| message.next_burst()).map(|burst| burst.len()).collect();
        assert_eq!(burst, [13, 13, 3]);
        message.grant(40_001, 0);
        assert_eq!(message.next_burst().map(|burst| burst.len()), Some(13));
        assert!(message.is_waiting());
    }
}
