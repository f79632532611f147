use super::Segment;
use crate::Time;

/// The receiving half of a queue pair: takes packets in order only.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Receiver {
    expected: u64,
    unanswered: u32,
    /// A missing packet is asked for once.
    asked: bool,
    notified_at: Option<Time>,
}

/// What a receiver does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    /// Whether it is the next one, and not a copy or beyond a gap.
    pub(super) in_order: bool,
    pub(super) answer: Option<Segment>,
}

impl Receiver {
    /// `asks`: the packet asks for an acknowledgement.
    pub(super) fn take(&mut self, psn: u64, asks: bool, ack_every: u32) -> Taken {
        if psn > self.expected {
            let first = !std::mem::replace(&mut self.asked, true);
            return Taken { in_order: false, answer: first.then_some(Segment::Nak(self.expected)) };
        }
        let in_order = psn == self.expected;
        if in_order {
            self.expected += 1;
            self.unanswered += 1;
            self.asked = false;
        }
        let answers = asks || self.unanswered >= ack_every;
        if answers {
            self.unanswered = 0;
        }
        Taken { in_order, answer: answers.then_some(Segment::Ack(self.expected)) }
    }

    /// Whether the sender is told of a mark now.
    pub(super) fn notifies(&mut self, now: Time, every: Time) -> bool {
        let due = self.notified_at.is_none_or(|at| now.since(at) >= every);
        if due {
            self.notified_at = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_beyond_a_gap_are_refused_and_the_gap_is_told_of_once() {
        let mut receiver = Receiver::default();
        let ack = |psn| Some(Segment::Ack(psn));
        assert_eq!(receiver.take(0, false, 1), Taken { in_order: true, answer: ack(1) });
        assert_eq!(receiver.take(2, false, 1), Taken { in_order: false, answer: Some(Segment::Nak(1)) });
        assert_eq!(receiver.take(3, true, 1), Taken { in_order: false, answer: None });
        assert_eq!(receiver.take(1, false, 4), Taken { in_order: true, answer: None });
        assert_eq!(receiver.take(0, true, 4), Taken { in_order: false, answer: ack(2) });
        assert_eq!(receiver.take(3, false, 4).answer, Some(Segment::Nak(2)));
    }

    #[test]
    fn marks_are_told_of_now_and_then() {
        let mut receiver = Receiver::default();
        let told = (0..100).filter(|at| receiver.notifies(Time::from_micros(*at), Time::from_micros(50))).count();
        assert_eq!(told, 2);
    }
}
