use super::gaps::Gaps;
use super::segment::{Blocks, End, Ends};
use super::setup::{Congestion, TcpSetup};
use crate::Time;
use crate::transport::dctcp::MarkedRuns;

/// One direction of a connection, at the host that receives.
#[derive(Debug)]
pub(super) struct Receiver {
    /// The first byte that has not arrived.
    next: u64,
    /// Segments since the last acknowledgement, and when it is due at the latest.
    unacknowledged: u32,
    pub(super) ack_by: Time,
    echo: Echo,
    /// Kept once there was a gap; apart, for most connections never have one.
    gaps: Option<Box<Gaps>>,
}

/// What acknowledgements tell of marks.
#[derive(Clone, Copy, Debug)]
enum Echo {
    /// There was one, until the sender tells that it has reduced its window (RFC 3168).
    Until(bool),
    /// Exactly which segments were marked.
    Runs(MarkedRuns),
}

/// A segment that has come.
#[derive(Debug)]
pub(super) struct Incoming<'a> {
    pub(super) seq: u64,
    pub(super) length: u16,
    pub(super) ends: &'a Ends,
    pub(super) marked: bool,
    /// The sender has reduced its window.
    pub(super) reduced: bool,
}

impl Receiver {
    pub(super) fn new(setup: &TcpSetup) -> Receiver {
        Receiver {
            next: 0,
            unacknowledged: 0,
            ack_by: Time::NEVER,
            echo: match setup.congestion {
                Congestion::Dctcp { .. } => Echo::Runs(MarkedRuns::default()),
                Congestion::Reno | Congestion::Cubic => Echo::Until(false),
            },
            gaps: None,
        }
    }

    /// All bytes before this one have arrived.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether acknowledgements tell of marks.
    #[inline]
    pub(super) fn tells_of_marks(&self) -> bool {
        match self.echo {
            Echo::Until(marked) => marked,
            Echo::Runs(runs) => runs.marked(),
        }
    }

    pub(super) fn blocks(&self) -> Blocks {
        self.gaps.as_ref().map_or_else(Blocks::default, |gaps| gaps.blocks(self.next))
    }

    /// Whether an acknowledgement is to be sent before a segment is looked at, because that is marked and those before it
    /// were not, or the other way round.
    #[inline]
    pub(super) fn must_acknowledge_before(&self, segment: &Incoming<'_>) -> bool {
        matches!(self.echo, Echo::Runs(runs) if self.unacknowledged > 0 && runs.changes(segment.marked))
    }

    /// Takes a segment; messages that are complete now go to `done`. Returns whether it is to be acknowledged at once.
    #[inline]
    pub(super) fn take(&mut self, now: Time, setup: &TcpSetup, segment: &Incoming<'_>, done: &mut Vec<End>) -> bool {
        match &mut self.echo {
            Echo::Until(marked) => *marked = segment.marked || (*marked && !segment.reduced),
            Echo::Runs(runs) => runs.note(segment.marked),
        }
        self.unacknowledged += 1;
        let (before, end) = (self.next, segment.seq + u64::from(segment.length));
        if segment.seq > before {
            self.gaps.get_or_insert_default().insert(segment.seq, end, segment.ends.as_slice());
            return true;
        }
        if end <= before {
            return true;
        }
        let complete = done.len();
        let ends = segment.ends.as_slice().iter();
        done.extend(ends.filter(|message| segment.seq + u64::from(message.at) > before));
        self.next = end;
        if let Some(gaps) = self.gaps.as_mut().filter(|gaps| !gaps.is_empty()) {
            self.next = gaps.close(end, done);
            return true;
        }
        if setup.ack_at_end && done[complete..].iter().any(|message| !message.interactive) {
            return true;
        }
        match setup.delayed_ack {
            Some(_) if self.unacknowledged >= 2 => true,
            Some(delay) => {
                self.ack_by = now + delay;
                false
            }
            None => true,
        }
    }

    /// An acknowledgement is sent.
    #[inline]
    pub(super) fn note_acknowledged(&mut self) {
        self.unacknowledged = 0;
        self.ack_by = Time::NEVER;
    }
}
