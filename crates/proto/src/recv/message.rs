use super::gaps::{Gap, Gaps};
use super::granter::GrantRank;
use crate::{Discard, Instant, Payload};
use bytes::Bytes;
use std::ops::Range;
use std::time::Duration;

/// Memory really allocated for a message at its first packet, however long it claims to be.
const FIRST_CAPACITY: usize = 65_536;

/// Bytes received of a message from which on all its memory is allocated: growing it step by step would copy it twice.
const TRUSTED: usize = 32_768;

/// Most bytes of one message that count as under way: a sender that claims to send more without grants must not keep
/// others from being granted.
const MOST_UNDER_WAY: u32 = 131_072;

/// Times that a gap has been asked for when it is doubted that the sender can fill it.
const ASKED_IN_VAIN: u32 = 4;

/// A message that is arriving.
#[derive(Debug)]
pub(crate) struct Incoming {
    length: u32,
    /// Contents up to the highest byte received; gaps hold zeros until they are filled.
    contents: Contents,
    gaps: Gaps,
    /// Distinct bytes received.
    received: u32,
    unscheduled: u32,
    /// Bytes that the sender may send: unscheduled, or granted by us.
    granted: u32,
    /// Priority of the last grant, and the first byte that travels at it if those before travel at a lower one.
    priority: u8,
    lane: u32,
    /// Lowest priority at which bytes may be under way.
    lowest_priority: u8,
    /// The sender has not reacted to repeated RESENDs, so what it was granted does not count as under way.
    pub(crate) stalled: bool,
    /// Packets of another length since the last that added something.
    pub(crate) contradictions: u32,
    /// Place among the messages that need grants, if it does.
    pub(crate) rank: Option<GrantRank>,
    /// When a grant last left.
    pub(crate) granted_at: Instant,
    /// A grant made while nothing else was under way: the first byte that it allowed, and when it left. The arrival
    /// of that byte gives a round-trip sample.
    pub(crate) rtt_probe: Option<(u32, Instant)>,
}

#[derive(Debug)]
enum Contents {
    Bytes(Vec<u8>),
    Phantom,
}

/// What an incoming message wants to know of its peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// When a gap that opens now is to be asked for.
    pub(crate) ask_at: Instant,
    /// The same for one whose packets travel at a lower priority than those which show it, and so may only be queued.
    pub(crate) ask_queued_at: Instant,
    /// Packets from beyond a gap that make it count as lost.
    pub(crate) reordering: u32,
    /// Most gaps.
    pub(crate) max_gaps: usize,
}

/// Whether a packet added something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// New bytes. Whether the RPC's timer may have to move because of a gap, and whether the bytes had been asked for.
    Fresh { gap: bool, was_asked_for: bool },
    /// Nothing new.
    Duplicate,
}

impl Incoming {
    pub(crate) fn new(length: u32, incoming: u32, phantom: bool) -> Incoming {
        let capacity = FIRST_CAPACITY.min(length as usize);
        Incoming {
            length,
            contents: if phantom { Contents::Phantom } else { Contents::Bytes(Vec::with_capacity(capacity)) },
            gaps: Gaps::default(),
            received: 0,
            unscheduled: incoming.min(length),
            granted: incoming.min(length),
            priority: 7,
            lane: 0,
            lowest_priority: 7,
            stalled: false,
            contradictions: 0,
            rank: None,
            granted_at: Instant::ZERO,
            rtt_probe: None,
        }
    }

    pub(crate) fn is_phantom(&self) -> bool {
        matches!(self.contents, Contents::Phantom)
    }

    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    /// Bytes that the sender sends without grants, as far as we know.
    pub(crate) fn unscheduled(&self) -> u32 {
        self.unscheduled
    }

    pub(crate) fn received(&self) -> u32 {
        self.received
    }

    pub(crate) fn granted(&self) -> u32 {
        self.granted
    }

    /// Bytes that the sender may send and that have not arrived.
    pub(crate) fn outstanding(&self) -> u32 {
        self.granted.saturating_sub(self.received)
    }

    /// Outstanding bytes that are believed to be under way.
    pub(crate) fn under_way(&self) -> u64 {
        if self.stalled { 0 } else { u64::from(self.outstanding().min(MOST_UNDER_WAY)) }
    }

    /// Lowest priority at which bytes may be under way; the highest of all before there was a grant.
    pub(crate) fn lowest_priority(&self) -> u8 {
        self.lowest_priority
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.received == self.length
    }

    /// Bytes of memory accounted for: all of the message from the start, so that whatever was admitted can be completed.
    pub(crate) fn reserved(&self) -> usize {
        self.length as usize
    }

    fn grown(&self, capacity: usize, end: u32) -> usize {
        let trusted = self.received as usize >= TRUSTED;
        if trusted { self.length as usize } else { (2 * capacity).max(end as usize).min(self.length as usize) }
    }

    /// Notes that the sender may send up to `granted`, what is new of it at a priority.
    pub(crate) fn set_granted(&mut self, granted: u32, priority: u8) {
        if priority > self.priority {
            self.lane = self.granted;
        }
        self.lowest_priority = if self.outstanding() == 0 { priority } else { self.lowest_priority.min(priority) };
        self.priority = priority;
        self.granted = self.granted.max(granted.min(self.length));
    }

    /// Takes the bytes of one packet. Bytes that had arrived before are left alone.
    pub(crate) fn accept(
        &mut self,
        offset: u32,
        payload: &[u8],
        payload_len: u32,
        now: Instant,
        patience: Patience,
    ) -> Result<Accepted, Discard> {
        let end = offset.checked_add(payload_len).filter(|end| *end <= self.length).ok_or(Discard::Malformed)?;
        let old_end = self.gaps.end();
        let grown = match &self.contents {
            Contents::Bytes(bytes) => self.grown(bytes.capacity(), end),
            Contents::Phantom => 0,
        };
        let was_asked_for = self.gaps.was_asked_for(&(offset..end));
        let overtaking = offset >= self.lane && old_end < self.lane;
        let ask_at = if overtaking { patience.ask_queued_at } else { patience.ask_at };
        let contents = &mut self.contents;
        let mut fresh = 0;
        self.gaps
            .fill(offset..end, ask_at, patience.max_gaps, |part: Range<u32>| {
                fresh += part.len() as u32;
                if let Contents::Bytes(bytes) = contents {
                    let source = &payload[(part.start - offset) as usize..(part.end - offset) as usize];
                    store(bytes, part.start as usize, source, grown);
                }
            })
            .map_err(|_| Discard::NoRoom)?;
        self.received += fresh;
        if fresh > 0 {
            self.contradictions = 0;
        }
        // Data beyond what was allowed tells that the sender may send it all the same.
        self.granted = self.granted.max(end);
        if fresh == 0 {
            return Ok(Accepted::Duplicate);
        }
        let same_lane = if offset >= self.lane { self.lane } else { 0 };
        let overdue = offset >= old_end && self.gaps.pass(now, same_lane, patience.reordering);
        Ok(Accepted::Fresh { gap: offset > old_end || overdue, was_asked_for })
    }

    /// The missing ranges whose time to be asked for has come, at most `most`. Each is put off by `patience`, twice as
    /// long each time that it is asked for, up to `longest`. If the first has been asked for in vain a few times, the
    /// sender may not have the message any more, and the others are put off too.
    pub(crate) fn due_gaps(
        &mut self,
        now: Instant,
        patience: Duration,
        longest: Duration,
        most: usize,
    ) -> Vec<Range<u32>> {
        let mut due = self.gaps.iter_mut().filter(|gap| gap.ask_at <= now).peekable();
        let in_vain = due.peek().is_some_and(|gap| gap.asked >= ASKED_IN_VAIN);
        let most = if in_vain { 1 } else { most };
        let asked = due.by_ref().take(most).map(|gap| {
            gap.ask_at = now + (patience * (1 << gap.asked.min(16))).min(longest.max(patience));
            gap.asked += 1;
            gap.range.clone()
        });
        let asked = asked.collect();
        due.filter(|_| in_vain).for_each(|gap| gap.ask_at = now + patience);
        asked
    }

    /// When the first gap is to be asked for.
    pub(crate) fn next_gap_at(&self) -> Option<Instant> {
        self.gaps.iter().map(|gap: &Gap| gap.ask_at).min()
    }

    /// What the sender may send and has not: from the highest byte received to the granted limit.
    pub(crate) fn tail(&self) -> Range<u32> {
        self.gaps.end()..self.granted.max(self.gaps.end())
    }

    /// The whole message; call only when complete.
    pub(crate) fn into_payload(self) -> Payload {
        debug_assert_eq!(self.received, self.length);
        match self.contents {
            Contents::Bytes(bytes) => Payload::Bytes(Bytes::from(bytes)),
            Contents::Phantom => Payload::Phantom(self.length as usize),
        }
    }

    pub(crate) fn check(&self) {
        let missing: u32 = self.gaps.iter().map(|gap| gap.range.len() as u32).sum();
        assert_eq!(self.received + missing, self.gaps.end(), "received bytes and gaps add up");
        assert!(self.gaps.end() <= self.length && self.granted <= self.length);
    }
}

/// Puts `source` at `at`, growing the buffer to a capacity of `grown` when it must grow.
fn store(bytes: &mut Vec<u8>, at: usize, source: &[u8], grown: usize) {
    let end = at + source.len();
    if end > bytes.capacity() {
        bytes.reserve_exact(grown.max(end) - bytes.len());
    }
    if at >= bytes.len() {
        bytes.resize(at, 0);
        bytes.extend_from_slice(source);
    } else {
        bytes[at..end].copy_from_slice(source);
    }
}
