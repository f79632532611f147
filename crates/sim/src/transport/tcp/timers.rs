use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When each connection of a host wants to be called. Deadlines move later with nearly every acknowledgement: an entry stays
/// where it is then, and is put right when its time comes.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Timers {
    /// Calls connection `slot` at a time.
    pub(super) fn push(&mut self, at: Time, slot: u32) {
        self.heap.push(Reverse((at, slot)));
    }

    /// The earliest entry.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.0.0)
    }

    /// Takes an entry whose time has come: that time, and the connection.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, u32)> {
        if self.next() > now {
            return None;
        }
        self.heap.pop().map(|entry| entry.0)
    }
}
