use super::super::Frames;
use crate::Time;
use std::collections::VecDeque;

/// The sending half of a queue pair: messages one after the other, their packets numbered through.
#[derive(Debug)]
pub(super) struct Queue<C> {
    pub(super) congestion: C,
    /// Pacing: the next packet begins no earlier.
    pub(super) ready_at: Time,
    pub(super) place: Place,
    /// When what is unacknowledged is given up.
    pub(super) deadline: Time,
    /// Whether a timer stands for that.
    pub(super) watched: bool,
    messages: VecDeque<Sending>,
    unacknowledged: u64,
    next: u64,
    end: u64,
}

/// Where a queue waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Idle,
    Ready,
    Pacing,
}

#[derive(Clone, Copy, Debug)]
struct Sending {
    first: u64,
    frames: u32,
    length: u32,
    message: u32,
    answer: bool,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) psn: u64,
    pub(super) wire: u32,
    pub(super) message: u32,
    pub(super) ends: Option<(u32, bool)>,
}

impl<C> Queue<C> {
    pub(super) fn new(congestion: C) -> Queue<C> {
        Queue {
            congestion,
            ready_at: Time::ZERO,
            place: Place::Idle,
            deadline: Time::NEVER,
            watched: false,
            messages: VecDeque::new(),
            unacknowledged: 0,
            next: 0,
            end: 0,
        }
    }

    pub(super) fn add(&mut self, message: u32, answer: bool, length: u32, frames: u32) {
        self.messages.push_back(Sending { first: self.end, frames, length, message, answer });
        self.end += u64::from(frames);
    }

    pub(super) fn has_more(&self) -> bool {
        self.next < self.end
    }

    pub(super) fn has_unacknowledged(&self) -> bool {
        self.unacknowledged < self.next
    }

    pub(super) fn unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    /// Takes the next packet.
    pub(super) fn take_next(&mut self, frames: Frames) -> Option<Next> {
        let psn = self.next;
        let place = self.messages.partition_point(|sending| sending.first + u64::from(sending.frames) <= psn);
        let sending = self.messages.get(place)?;
        let frame = (psn - sending.first) as u32;
        let ends = (frame + 1 == sending.frames).then_some((sending.message, sending.answer));
        self.next += 1;
        Some(Next { psn, wire: frames.wire_of(sending.length, frame), message: sending.message, ends })
    }

    /// Everything below `psn` has arrived. Returns whether that is news.
    pub(super) fn acknowledge(&mut self, psn: u64) -> bool {
        if psn <= self.unacknowledged {
            return false;
        }
        self.unacknowledged = psn;
        // After going back, packets sent before may turn out to have arrived.
        self.next = self.next.max(psn);
        while self.messages.front().is_some_and(|sending| sending.first + u64::from(sending.frames) <= psn) {
            self.messages.pop_front();
        }
        true
    }

    /// Goes on with `psn`. Returns how many packets that were sent come again.
    pub(super) fn go_back(&mut self, psn: u64) -> u64 {
        if psn < self.unacknowledged || psn >= self.next {
            return 0;
        }
        let again = self.next - psn;
        self.next = psn;
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: Frames = Frames { payload: 1_000, overhead: 82, smallest: 84 };

    fn send(queue: &mut Queue<()>) -> Vec<(u64, Option<u32>)> {
        let mut sent = Vec::new();
        while let Some(next) = queue.take_next(FRAMES) {
            sent.push((next.psn, next.ends.map(|(message, _)| message)));
        }
        sent
    }

    #[test]
    fn messages_follow_each_other_and_a_gap_is_sent_again_from_its_beginning() {
        let mut queue = Queue::new(());
        queue.add(7, false, 2_500, 3);
        queue.add(8, true, 10, 1);
        assert_eq!(send(&mut queue), [(0, None), (1, None), (2, Some(7)), (3, Some(8))]);
        assert!(queue.acknowledge(1));
        assert_eq!(queue.go_back(1), 3);
        assert_eq!(queue.go_back(1), 0, "it has gone back already");
        assert_eq!(send(&mut queue), [(1, None), (2, Some(7)), (3, Some(8))]);
        assert!(queue.acknowledge(4) && !queue.acknowledge(2));
        assert!(!queue.has_unacknowledged() && !queue.has_more());
    }

    #[test]
    fn what_has_arrived_meanwhile_is_not_sent_again() {
        let mut queue = Queue::new(());
        queue.add(7, false, 2_500, 3);
        assert_eq!(send(&mut queue).len(), 3);
        queue.go_back(0);
        assert!(queue.acknowledge(2));
        assert_eq!(send(&mut queue), [(2, Some(7))]);
    }
}
