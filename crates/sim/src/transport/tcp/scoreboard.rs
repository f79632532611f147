use super::segment::Blocks;
use crate::Time;
use std::collections::VecDeque;

/// What is known of each segment that has been sent and not been acknowledged, and which of them are lost: RACK (RFC 8985). A
/// segment is lost when one that was sent after it has arrived, once three such have (the classic threshold) or
/// a quarter of the round trip has passed. Each segment is looked at a bounded number of times a transmission.
#[derive(Debug)]
pub(super) struct Scoreboard {
    /// By sequence number.
    flight: VecDeque<Sent>,
    /// The first byte that is not acknowledged; the first segment begins there.
    una: u64,
    /// Segments that have left at the front: the number of the first.
    popped: u64,
    sacked: u32,
    lost: u32,
    /// Latest time at which a segment was sent that has arrived, and what its round trip was.
    arrived_sent: Time,
    arrived_rtt: Time,
    /// The shortest round trip seen.
    shortest: Time,
    /// Whether segments have overtaken one another.
    reordered: bool,
    /// Whether segments that were sent again are in the network.
    mending: bool,
    /// Apart, for most connections seldom need it.
    mend: Box<Mend>,
}

/// How far losses have been found and repaired.
#[derive(Debug, Default)]
struct Mend {
    /// Originals with lower numbers have arrived, or are lost, or have been sent again.
    judged: u64,
    /// No segment with a lower number waits to be sent again.
    repaired: u64,
    /// Numbers of segments that were sent again and when, in this order.
    again: VecDeque<(u64, Time)>,
    /// The blocks of the last acknowledgement: nothing in them is news.
    known: [(u64, u64); 3],
}

/// A segment that was sent. 16 bytes: there are many.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    /// The low bits of its sequence number: windows are shorter than 4 GiB.
    start: u32,
    length: u16,
    state: State,
    /// Whether it was sent more than once: its round trip is not known (Karn).
    again: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    UnderWay,
    Arrived,
    /// Waits to be sent again.
    Lost,
}

/// What an acknowledgement has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Segments that have arrived and were not known to.
    pub(super) segments: u32,
    /// The round trip of the oldest segment that left the window and was sent once.
    pub(super) rtt: Option<Time>,
}

/// Segments that must have arrived behind a gap before it counts as a loss at once (RFC 5681).
const THRESHOLD: u32 = 3;

impl Scoreboard {
    pub(super) fn new() -> Scoreboard {
        Scoreboard {
            flight: VecDeque::new(),
            una: 0,
            popped: 0,
            sacked: 0,
            lost: 0,
            arrived_sent: Time::ZERO,
            arrived_rtt: Time::ZERO,
            shortest: Time::NEVER,
            reordered: false,
            mending: false,
            mend: Box::default(),
        }
    }

    pub(super) fn una(&self) -> u64 {
        self.una
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flight.is_empty()
    }

    /// Segments sent and not acknowledged, whatever is known of them.
    pub(super) fn outstanding(&self) -> u32 {
        self.flight.len() as u32
    }

    /// Segments that are in the network, as far as is known.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.flight.len() as u32 - self.sacked - self.lost
    }

    /// Segments that wait to be sent again.
    #[inline]
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether there is more to look at than a window without gaps.
    #[inline]
    pub(super) fn has_gaps(&self) -> bool {
        self.sacked > 0 || self.lost > 0 || self.mending
    }

    pub(super) fn shortest_rtt(&self) -> Time {
        self.shortest
    }

    /// A new segment is sent.
    #[inline]
    pub(super) fn push(&mut self, now: Time, seq: u64, length: u16) {
        self.flight.push_back(Sent { at: now, start: seq as u32, length, state: State::UnderWay, again: false });
    }

    /// All bytes before `ack` have arrived.
    #[inline]
    pub(super) fn acknowledge(&mut self, now: Time, ack: u64) -> News {
        let (base, upto) = (self.una as u32, (ack - self.una) as u32);
        let arrived_before = self.arrived_sent;
        let mut news = News::default();
        while let Some(front) = self.flight.front() {
            if front.start.wrapping_sub(base) + u32::from(front.length) > upto {
                break;
            }
            let sent = *front;
            self.flight.pop_front();
            self.popped += 1;
            if sent.state == State::Arrived {
                self.sacked -= 1;
                continue;
            }
            news.segments += 1;
            self.lost -= u32::from(sent.state == State::Lost);
            self.note_arrival(now, &sent);
            if !sent.again {
                let rtt = now - sent.at;
                news.rtt = news.rtt.or(Some(rtt));
                self.shortest = self.shortest.min(rtt);
                self.reordered |= sent.at < arrived_before;
            }
        }
        self.una = ack;
        news
    }

    /// The segments in these blocks have arrived. Returns how many were not known to.
    pub(super) fn note_blocks(&mut self, now: Time, blocks: &Blocks) -> u32 {
        let before = self.sacked;
        let blocks = blocks.map(|(from, to)| (self.una + u64::from(from), self.una + u64::from(to)));
        for (mut from, to) in blocks {
            for known in self.mend.known {
                if (known.0..=known.1).contains(&from) {
                    from = from.max(known.1);
                }
            }
            if from < to {
                self.note_block(now, from.max(self.una), to);
            }
        }
        self.mend.known = blocks;
        self.sacked - before
    }

    fn note_block(&mut self, now: Time, from: u64, to: u64) {
        let base = self.una as u32;
        let (from, to) = ((from - self.una) as u32, (to - self.una) as u32);
        let mut index = self.flight.partition_point(|sent| sent.start.wrapping_sub(base) < from);
        let arrived_before = self.arrived_sent;
        while let Some(sent) = self.flight.get_mut(index)
            && sent.start.wrapping_sub(base) < to
        {
            if sent.state != State::Arrived {
                self.lost -= u32::from(sent.state == State::Lost);
                self.sacked += 1;
                sent.state = State::Arrived;
                let sent = *sent;
                self.reordered |= !sent.again && sent.at < arrived_before;
                self.note_arrival(now, &sent);
            }
            index += 1;
        }
    }

    #[inline]
    fn note_arrival(&mut self, now: Time, sent: &Sent) {
        let rtt = now - sent.at;
        // What came sooner than any round trip answers an earlier transmission.
        if sent.at > self.arrived_sent && !(sent.again && rtt < self.shortest) {
            self.arrived_sent = sent.at;
            self.arrived_rtt = rtt;
        }
    }

    /// Finds what is lost. `recovering`: losses are being repaired, the patience is over. Returns when to look again if
    /// nothing comes.
    pub(super) fn judge(&mut self, now: Time, recovering: bool) -> Time {
        let hurry = !self.reordered && (recovering || self.sacked >= THRESHOLD);
        let patience = if hurry { Time::ZERO } else { Time::from_picos(self.shortest.as_picos() / 4) };
        let allowed = self.arrived_rtt + patience;
        let mut look_again = Time::NEVER;
        self.mend.judged = self.mend.judged.max(self.popped);
        while let Some(sent) = self.flight.get((self.mend.judged - self.popped) as usize).copied() {
            if sent.state == State::UnderWay && !sent.again {
                if sent.at >= self.arrived_sent {
                    break;
                }
                if sent.at + allowed > now {
                    look_again = sent.at + allowed;
                    break;
                }
                self.mark_lost(self.mend.judged);
            }
            self.mend.judged += 1;
        }
        while let Some((number, at)) = self.mend.again.front().copied() {
            let place = number.checked_sub(self.popped).and_then(|index| self.flight.get(index as usize));
            if place.is_some_and(|sent| sent.state == State::UnderWay && sent.at == at) {
                if at >= self.arrived_sent {
                    break;
                }
                if at + allowed > now {
                    look_again = look_again.min(at + allowed);
                    break;
                }
                self.mark_lost(number);
            }
            self.mend.again.pop_front();
        }
        self.mending = !self.mend.again.is_empty();
        look_again
    }

    fn mark_lost(&mut self, number: u64) {
        self.flight[(number - self.popped) as usize].state = State::Lost;
        self.lost += 1;
        self.mend.repaired = self.mend.repaired.min(number);
    }

    /// Nothing has come for so long that all that has not arrived counts as lost.
    pub(super) fn lose_all(&mut self) {
        for sent in &mut self.flight {
            if sent.state == State::UnderWay {
                sent.state = State::Lost;
                self.lost += 1;
            }
        }
        self.mend.again.clear();
        self.mending = false;
        self.mend.judged = self.popped + self.flight.len() as u64;
        self.mend.repaired = self.popped;
    }

    /// Sends the first lost segment again: its sequence number and length.
    pub(super) fn repair(&mut self, now: Time) -> Option<(u64, u16)> {
        if self.lost == 0 {
            return None;
        }
        self.mend.repaired = self.mend.repaired.max(self.popped);
        while self.flight.get((self.mend.repaired - self.popped) as usize)?.state != State::Lost {
            self.mend.repaired += 1;
        }
        self.lost -= 1;
        Some(self.send_again(now, self.mend.repaired))
    }

    /// Sends the last segment again, to learn what has become of the window.
    pub(super) fn probe(&mut self, now: Time) -> Option<(u64, u16)> {
        let last = self.popped + self.flight.len() as u64 - 1;
        (self.flight.back()?.state == State::UnderWay).then(|| self.send_again(now, last))
    }

    fn send_again(&mut self, now: Time, number: u64) -> (u64, u16) {
        let sent = &mut self.flight[(number - self.popped) as usize];
        sent.state = State::UnderWay;
        sent.again = true;
        sent.at = now;
        self.mend.again.push_back((number, now));
        self.mending = true;
        (self.una + u64::from(sent.start.wrapping_sub(self.una as u32)), sent.length)
    }
}
