use crate::Time;

/// What happens when: a radix heap.
///
/// Simulated time never runs backwards, and most events lie close ahead. Events wait in buckets by the highest bit in
/// which their time differs from the time reached, so that one passes through a few short buckets on its way instead of
/// a tree of all events. Events of the same time come out in the order in which they went in.
#[derive(Debug)]
pub struct Agenda<E> {
    /// The time reached: nothing that waits is earlier.
    reached: u64,
    /// What is due at the time reached, and how much of it has been taken.
    due: Vec<E>,
    taken: usize,
    /// Bucket `b` holds events whose time differs from the time reached first in bit `b`.
    buckets: [Vec<(u64, E)>; 64],
    /// One bit a bucket that is not empty.
    occupied: u64,
    /// Kept for its memory.
    spare: Vec<(u64, E)>,
    len: usize,
}

impl<E: Copy> Default for Agenda<E> {
    fn default() -> Self {
        Agenda {
            reached: 0,
            due: Vec::new(),
            taken: 0,
            buckets: std::array::from_fn(|_| Vec::new()),
            occupied: 0,
            spare: Vec::new(),
            len: 0,
        }
    }
}

impl<E: Copy> Agenda<E> {
    /// Adds an event. One for a time that has passed happens at the time reached.
    #[inline]
    pub fn push(&mut self, at: Time, event: E) {
        self.len += 1;
        self.place(at.as_picos().max(self.reached), event);
    }

    #[inline]
    fn place(&mut self, at: u64, event: E) {
        let differs = at ^ self.reached;
        if differs == 0 {
            self.due.push(event);
        } else {
            let bucket = 63 - differs.leading_zeros();
            self.buckets[bucket as usize].push((at, event));
            self.occupied |= 1 << bucket;
        }
    }

    /// When the next event is due.
    #[inline]
    pub fn next_at(&mut self) -> Option<Time> {
        if self.taken == self.due.len() {
            self.due.clear();
            self.taken = 0;
            self.advance()?;
        }
        Some(Time::from_picos(self.reached))
    }

    /// Takes the next event and its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.next_at()?;
        let event = self.due[self.taken];
        self.taken += 1;
        self.len -= 1;
        Some((Time::from_picos(self.reached), event))
    }

    /// Moves on to the time of the earliest event, which lies in the lowest bucket.
    fn advance(&mut self) -> Option<()> {
        if self.occupied == 0 {
            return None;
        }
        let bucket = self.occupied.trailing_zeros() as usize;
        self.occupied &= self.occupied - 1;
        let mut events = std::mem::replace(&mut self.buckets[bucket], std::mem::take(&mut self.spare));
        self.reached = events.iter().map(|(at, _)| *at).min()?;
        for (at, event) in events.drain(..) {
            self.place(at, event);
        }
        self.spare = events;
        Some(())
    }

    /// Events that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use std::collections::BTreeSet;

    #[test]
    fn events_come_in_the_order_of_time_and_then_of_arrival() {
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let (mut agenda, mut model) = (Agenda::default(), BTreeSet::new());
        let mut now = 0;
        for number in 0..100_000u64 {
            let ahead = 1u64 << rng.random_range(0..40);
            let at = now + rng.random_range(0..ahead);
            agenda.push(Time::from_picos(at), number);
            model.insert((at, number));
            if rng.random_range(0..3) > 0 {
                let (time, event) = agenda.pop().unwrap();
                assert_eq!(Some((time.as_picos(), event)), model.pop_first());
                now = time.as_picos();
            }
        }
        while let Some((time, event)) = agenda.pop() {
            assert_eq!(Some((time.as_picos(), event)), model.pop_first());
        }
        assert!(model.is_empty() && agenda.is_empty());
    }

    #[test]
    fn the_past_happens_now() {
        let mut agenda = Agenda::default();
        agenda.push(Time::from_nanos(5), 'a');
        assert_eq!(agenda.pop(), Some((Time::from_nanos(5), 'a')));
        agenda.push(Time::ZERO, 'b');
        assert_eq!(agenda.pop(), Some((Time::from_nanos(5), 'b')));
    }
}
