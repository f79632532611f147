use crate::Instant;
use std::ops::Range;
use std::time::Duration;

/// Ranges waiting for retransmission in one message; a peer that asks for more asks again later.
const MAX_RESEND_RANGES: usize = 64;

/// What has to be sent again of a message, or had to be.
#[derive(Debug, Default)]
pub(super) struct Repairs {
    /// Ranges to send again, whole packets, sorted and disjoint.
    pub(super) ranges: Vec<Range<u32>>,
    pub(super) priority: u8,
    /// The last bytes that were asked for again.
    pub(super) repeat: Option<Repeat>,
    /// The receiver lost what it had, so all is sent anew, as retransmissions.
    pub(super) restarted: bool,
    /// How often that happened.
    pub(super) restarts: u32,
    /// The path turned out to take smaller packets.
    pub(super) shrinks: Vec<Shrink>,
}

/// The path takes only so many bytes of payload in a packet, since so many bytes of the message were sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shrink {
    pub(super) at: u32,
    pub(super) packet_len: u32,
}

/// A retransmission that may still be under way.
#[derive(Debug)]
pub(super) struct Repeat {
    range: Range<u32>,
    at: Instant,
    /// Times that it was asked for again.
    times: u32,
}

/// What may be under way to the receiver, besides what it misses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnderWay {
    /// Time in which what left usually arrives.
    pub(crate) usual: Duration,
    /// Longest time in which a repeated part is thought to arrive.
    pub(crate) longest: Duration,
    /// The same for a whole message of which the receiver knows nothing: its answer shows that it lives, so that there
    /// is time.
    pub(crate) longest_whole: Duration,
    /// Most bytes under way.
    pub(crate) bytes: u32,
}

impl UnderWay {
    /// How long something is given to arrive that was sent so many times in vain: twice as long each time, for a link
    /// may be slower than the receiver's patience, and repeats would make it slower still.
    pub(super) fn time(&self, times: u32, longest: Duration) -> Duration {
        (self.usual * (1 << times.min(16))).min(longest)
    }
}

impl Repairs {
    /// Whether part of the range was repeated so recently that it may be under way; otherwise notes that it is now.
    pub(super) fn was_just_sent(&mut self, now: Instant, under_way: UnderWay, range: Range<u32>) -> bool {
        let overlaps = |last: &&Repeat| range.start < last.range.end && last.range.start < range.end;
        let mut times = 0;
        if let Some(last) = self.repeat.as_ref().filter(overlaps) {
            if now < last.at + under_way.time(last.times, under_way.longest) {
                return true;
            }
            times = last.times + 1;
        }
        self.repeat = Some(Repeat { range, at: now, times });
        false
    }

    pub(super) fn add(&mut self, mut new: Range<u32>) {
        let first = self.ranges.partition_point(|range| range.end < new.start);
        let last = self.ranges.partition_point(|range| range.start <= new.end);
        if first == last && self.ranges.len() >= MAX_RESEND_RANGES {
            return;
        }
        if first < last {
            new.start = new.start.min(self.ranges[first].start);
            new.end = new.end.max(self.ranges[last - 1].end);
        }
        self.ranges.splice(first..last, [new]);
    }
}
