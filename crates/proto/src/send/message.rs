use super::repairs::{Repairs, Shrink, UnderWay};
use crate::{Instant, Payload};
use std::ops::Range;

/// A message being sent, or kept until the other side certainly has it.
#[derive(Debug)]
pub(crate) struct Outgoing {
    payload: Payload,
    /// Payload bytes in a full packet. Retransmissions keep the packet boundaries, which Linux insists on; where the path
    /// turns out not to take packets of this size, `repairs` says how they are cut.
    packet_len: u32,
    /// Bytes that are sent without grants. Packets never straddle this limit.
    unscheduled: u32,
    /// Bytes that may be sent: packets that begin below it.
    granted: u32,
    /// Bytes sent at least once.
    sent: u32,
    /// What was asked for again. Most messages arrive, so this is not part of what each of them holds.
    repairs: Option<Box<Repairs>>,
    /// Priority of unscheduled bytes, as of when they leave.
    pub(crate) unscheduled_priority: u8,
    /// Priority that the last grant named.
    scheduled_priority: u8,
    /// When the first packet left, until a grant has given a round-trip sample from it.
    pub(crate) rtt_probe: Option<Instant>,
    /// When a packet last left.
    pub(crate) last_sent: Instant,
    /// Whether the message is an empty one whose only packet has not been sent yet.
    empty_unsent: bool,
}

/// One packet's part of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) range: Range<u32>,
    /// What the `incoming` field says.
    pub(crate) incoming: u32,
    pub(crate) retransmit: bool,
    pub(crate) priority: u8,
}

/// What a RESEND led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResendOutcome {
    /// Bytes were queued for retransmission.
    Queued,
    /// Nothing of the range has been sent yet, so there is nothing to repeat.
    NotSentYet,
    /// It was repeated so recently that it may be under way.
    JustSent,
}

impl Outgoing {
    pub(crate) fn new(payload: Payload, packet_len: u32, unscheduled: u32) -> Outgoing {
        let length = payload.len() as u32;
        let unscheduled = unscheduled.min(length);
        Outgoing {
            empty_unsent: length == 0,
            payload,
            packet_len,
            unscheduled,
            granted: unscheduled,
            sent: 0,
            repairs: None,
            unscheduled_priority: 7,
            scheduled_priority: 0,
            rtt_probe: None,
            last_sent: Instant::ZERO,
        }
    }

    pub(crate) fn length(&self) -> u32 {
        self.payload.len() as u32
    }

    pub(crate) fn sent(&self) -> u32 {
        self.sent
    }

    pub(crate) fn granted(&self) -> u32 {
        self.granted
    }

    /// Whether it takes more than one packet.
    pub(crate) fn is_long(&self) -> bool {
        self.length() > self.packet_len
    }

    pub(crate) fn wholly_unscheduled(&self) -> bool {
        self.unscheduled == self.length()
    }

    /// Bytes not sent yet: what SRPT orders by.
    pub(crate) fn remaining(&self) -> u32 {
        self.length() - self.sent
    }

    /// Whether everything went out at least once and nothing waits to be repeated.
    pub(crate) fn all_sent(&self) -> bool {
        self.remaining() == 0 && !self.to_repair() && !self.empty_unsent
    }

    /// Whether a packet could be sent now.
    pub(crate) fn sendable(&self) -> bool {
        self.sent < self.granted || self.empty_unsent || self.to_repair()
    }

    fn to_repair(&self) -> bool {
        self.repairs.as_ref().is_some_and(|repairs| !repairs.ranges.is_empty())
    }

    fn repairs(&mut self) -> &mut Repairs {
        self.repairs.get_or_insert_default()
    }

    pub(crate) fn slice(&self, range: Range<u32>) -> Payload {
        self.payload.slice(range.start as usize..range.end as usize)
    }

    /// Allows bytes up to `offset`. Returns whether that was news.
    pub(crate) fn grant(&mut self, offset: u32, priority: u8) -> bool {
        self.scheduled_priority = priority;
        let offset = offset.min(self.length());
        let news = offset > self.granted;
        self.granted = self.granted.max(offset);
        news
    }

    /// Takes the next packet to send, or `None` if all that may be sent was. The path takes `most` bytes of payload.
    pub(crate) fn next_chunk(&mut self, now: Instant, most: u32) -> Option<Chunk> {
        self.fit(most);
        if self.to_repair() {
            let whole = self.repairs().ranges[0].clone();
            let end = self.packet_at(whole.start).end.min(whole.end);
            let repairs = self.repairs();
            if end == whole.end {
                repairs.ranges.remove(0);
            } else {
                repairs.ranges[0].start = end;
            }
            let priority = repairs.priority;
            self.last_sent = now;
            return Some(Chunk { range: whole.start..end, incoming: whole.end, retransmit: true, priority });
        }
        if self.sent >= self.granted && !self.empty_unsent {
            return None;
        }
        let start = self.sent;
        let end = self.packet_at(start).end;
        self.empty_unsent = false;
        self.sent = end;
        self.last_sent = now;
        let restarted = self.repairs.as_ref().is_some_and(|repairs| repairs.restarted);
        if start == 0 && !self.wholly_unscheduled() && !restarted {
            self.rtt_probe = Some(now);
        }
        let priority = if start < self.unscheduled || self.length() == 0 {
            self.unscheduled_priority
        } else {
            self.scheduled_priority
        };
        // Of what is repeated it says where that ends.
        let incoming = if restarted && start >= self.unscheduled { self.granted.max(end) } else { self.unscheduled };
        Some(Chunk { range: start..end, incoming, retransmit: restarted, priority })
    }

    /// Payload bytes in a full packet of what is sent for the first time now.
    fn present_packet_len(&self) -> u32 {
        let shrunk = self.repairs.as_ref().and_then(|repairs| repairs.shrinks.last());
        shrunk.map_or(self.packet_len, |shrink| shrink.packet_len)
    }

    /// From now on the path takes only `most` bytes of payload.
    fn fit(&mut self, most: u32) {
        if most < self.present_packet_len() {
            let at = self.sent;
            self.repairs().shrinks.push(Shrink { at, packet_len: most });
        }
    }

    /// The packet that contains `offset`. What had been sent when the path shrank is cut within its packets, the rest
    /// anew from there.
    fn packet_at(&self, offset: u32) -> Range<u32> {
        let (length, limit) = (self.length(), self.unscheduled);
        let end = if offset < limit { limit } else { length };
        let mut packet = cut(if offset < limit { 0 } else { limit }, self.packet_len, offset, end);
        for Shrink { at, packet_len } in self.repairs.iter().flat_map(|repairs| &repairs.shrinks) {
            packet = match offset < *at {
                true => cut(packet.start, *packet_len, offset, packet.end),
                false => cut(if offset < limit { *at } else { limit.max(*at) }, *packet_len, offset, end),
            };
        }
        packet
    }

    /// Queues the packets that overlap `offset..offset + length` for retransmission, as far as they were sent; a
    /// negative `length` means all that was sent. Asking beyond the granted bytes grants them.
    /// What may be under way is not repeated.
    pub(crate) fn resend(
        &mut self,
        now: Instant,
        under_way: UnderWay,
        (offset, length): (u32, i32),
        priority: u8,
    ) -> ResendOutcome {
        let message_length = self.length();
        let end = match u32::try_from(length) {
            Ok(length) => offset.saturating_add(length).min(message_length),
            Err(_) => self.sent,
        };
        self.granted = self.granted.max(end);
        if self.empty_unsent {
            return ResendOutcome::NotSentYet;
        }
        if message_length == 0 {
            self.start_over();
            return ResendOutcome::Queued;
        }
        // Who asks for what lies beyond the message has its length wrong: any packet tells.
        let offset = offset.min(message_length - 1);
        let end = end.max(offset + 1).min(self.sent);
        if offset >= end {
            return ResendOutcome::NotSentYet;
        }
        let repeated = self.repairs.as_ref().is_some_and(|repairs| repairs.repeat.is_some());
        let streaming = now < self.last_sent + under_way.usual && !repeated;
        let end = if streaming { end.min(self.sent.saturating_sub(under_way.bytes)) } else { end };
        if offset >= end {
            return ResendOutcome::JustSent;
        }
        self.rtt_probe = None;
        // Not above what the message had at first: a retransmission that was not needed must not delay what was.
        self.repairs().priority = (priority & 7).min(self.unscheduled_priority);
        let start = self.packet_at(offset).start;
        let end = self.packet_at(end - 1).end.min(self.sent);
        if self.repairs().was_just_sent(now, under_way, start..end) {
            return ResendOutcome::JustSent;
        }
        self.repairs().add(start..end);
        ResendOutcome::Queued
    }

    /// Starts over, for a receiver that does not know the message: the unscheduled part goes out again, the rest waits
    /// for grants again. Not if the receiver may not know it because it is still under way; then this returns false.
    pub(crate) fn restart(&mut self, now: Instant, under_way: UnderWay) -> bool {
        if now < self.last_sent + under_way.time(self.repairs().restarts, under_way.longest_whole) {
            return false;
        }
        self.repairs().restarts += 1;
        self.start_over();
        true
    }

    fn start_over(&mut self) {
        self.empty_unsent = self.length() == 0;
        self.granted = self.unscheduled;
        self.sent = 0;
        self.rtt_probe = None;
        self.packet_len = self.present_packet_len();
        let repairs = self.repairs();
        repairs.shrinks.clear();
        repairs.ranges.clear();
        repairs.repeat = None;
        repairs.restarted = true;
    }
}

/// The piece that contains `offset`, of those of `len` bytes into which the bytes from `from` to `end` are cut.
fn cut(from: u32, len: u32, offset: u32, end: u32) -> Range<u32> {
    let start = from + (offset - from) / len * len;
    start..start.saturating_add(len).min(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn message(length: usize, unscheduled: u32) -> Outgoing {
        Outgoing { unscheduled_priority: 5, ..Outgoing::new(Payload::Phantom(length), 1424, unscheduled) }
    }

    fn ranges(message: &mut Outgoing) -> Vec<Range<u32>> {
        std::iter::from_fn(|| message.next_chunk(Instant::ZERO, u32::MAX).map(|chunk| chunk.range)).collect()
    }

    #[test]
    fn packets_break_at_the_unscheduled_limit() {
        let mut message = message(100_000, 40_000);
        let unscheduled = ranges(&mut message);
        assert_eq!(unscheduled.last(), Some(&(39_872..40_000)));
        message.grant(100_000, 3);
        let scheduled = ranges(&mut message);
        assert_eq!(scheduled.first(), Some(&(40_000..41_424)));
        assert_eq!(scheduled.last().map(|range| range.end), Some(100_000));
        assert!(message.all_sent());
    }

    #[test]
    fn an_empty_message_is_one_packet() {
        let mut message = message(0, 40_000);
        assert!(message.sendable() && !message.all_sent());
        assert_eq!(ranges(&mut message), vec![0..0]);
        assert!(message.all_sent());
        assert_eq!(message.resend(Instant::ZERO, UnderWay::default(), (0, -1), 7), ResendOutcome::Queued);
        assert_eq!(ranges(&mut message), vec![0..0]);
    }

    #[test]
    fn retransmissions_keep_packet_boundaries() {
        let mut message = message(10_000, 40_000);
        ranges(&mut message);
        assert_eq!(message.resend(Instant::ZERO, UnderWay::default(), (1500, 1500), 7), ResendOutcome::Queued);
        assert_eq!(ranges(&mut message), vec![1424..2848, 2848..4272]);
    }

    #[test]
    fn a_resend_beyond_the_granted_bytes_grants_them() {
        let mut message = message(100_000, 40_000);
        ranges(&mut message);
        assert_eq!(message.resend(Instant::ZERO, UnderWay::default(), (40_000, 10_000), 7), ResendOutcome::NotSentYet);
        assert_eq!(message.granted(), 50_000);
    }

    #[test]
    fn what_was_just_repeated_is_not_repeated_again() {
        let mut message = message(20_000, 40_000);
        ranges(&mut message);
        let (usual, longest) = (Duration::from_micros(100), Duration::from_micros(300));
        let under_way = UnderWay { usual, longest, ..UnderWay::default() };
        let mut ask =
            |micros: u64, offset| message.resend(Instant::from_nanos(micros * 1000), under_way, (offset, 1000), 7);
        assert_eq!(ask(0, 0), ResendOutcome::Queued);
        assert_eq!(ask(90, 0), ResendOutcome::JustSent);
        assert_eq!(ask(110, 0), ResendOutcome::Queued);
        assert_eq!(ask(250, 0), ResendOutcome::JustSent, "the second time takes twice as long");
        assert_eq!(ask(260, 10_000), ResendOutcome::Queued, "another gap");
    }

    #[test]
    fn a_message_under_way_does_not_start_over() {
        let mut message = message(20_000, 40_000);
        ranges(&mut message);
        let (usual, longest_whole) = (Duration::from_micros(100), Duration::from_micros(300));
        let under_way = UnderWay { usual, longest_whole, ..UnderWay::default() };
        let mut restart = |micros: u64| {
            let begun = message.restart(Instant::from_nanos(micros * 1000), under_way);
            while message.next_chunk(Instant::from_nanos(micros * 1000), u32::MAX).is_some() {}
            begun
        };
        assert!(!restart(90) && restart(100));
        assert!(!restart(290) && restart(300), "the second time takes twice as long");
        assert!(!restart(590) && restart(600), "but no longer than the longest");
        assert!(!restart(890) && restart(900));
    }

    #[test]
    fn packets_shrink_with_the_path() {
        let mut message = message(3000, 40_000);
        assert_eq!(message.next_chunk(Instant::ZERO, u32::MAX).map(|chunk| chunk.range), Some(0..1424));
        let rest: Vec<_> = std::iter::from_fn(|| message.next_chunk(Instant::ZERO, 1000).map(|c| c.range)).collect();
        assert_eq!(rest, [1424..2424, 2424..3000]);
        message.resend(Instant::ZERO, UnderWay::default(), (0, -1), 7);
        assert_eq!(ranges(&mut message), [0..1000, 1000..1424, 1424..2424, 2424..3000]);
    }

    #[test]
    fn retransmissions_do_not_outrank_the_message() {
        let mut message = message(20_000, 40_000);
        ranges(&mut message);
        for (asked, given) in [(7, 5), (5, 5), (2, 2)] {
            message.resend(Instant::ZERO, UnderWay::default(), (0, 1000), asked);
            assert_eq!(message.next_chunk(Instant::ZERO, u32::MAX).map(|chunk| chunk.priority), Some(given));
            ranges(&mut message);
        }
    }

    /// Linux drops a packet that straddles the edge of a gap, whatever became of the path meanwhile.
    #[test]
    fn packets_are_cut_within_their_boundaries_when_the_path_shrinks() {
        let mut message = message(10_000, 40_000);
        for _ in 0..4 {
            message.next_chunk(Instant::ZERO, 1424);
        }
        let sent = |message: &mut Outgoing, most| -> Vec<Range<u32>> {
            std::iter::from_fn(|| message.next_chunk(Instant::ZERO, most).map(|chunk| chunk.range)).collect()
        };
        let rest = sent(&mut message, 1204);
        assert_eq!((rest[0].clone(), rest[1].clone()), (5696..6900, 6900..8104));
        message.resend(Instant::ZERO, UnderWay::default(), (1424, 1424), 7);
        assert_eq!(sent(&mut message, 1204), vec![1424..2628, 2628..2848]);
        message.resend(Instant::from_nanos(1 << 40), UnderWay::default(), (1424, 1424), 7);
        assert_eq!(sent(&mut message, 700), vec![1424..2124, 2124..2628, 2628..2848]);
        message.resend(Instant::from_nanos(1 << 41), UnderWay::default(), (6900, 1204), 7);
        assert_eq!(sent(&mut message, 700), vec![6900..7600, 7600..8104]);
    }

    #[test]
    fn overlapping_resends_merge() {
        let mut message = message(20_000, 40_000);
        ranges(&mut message);
        for offset in [0, 5696, 2848, 1424] {
            message.resend(Instant::ZERO, UnderWay::default(), (offset, 1424), 7);
        }
        assert_eq!(message.repairs().ranges, vec![0..4272, 5696..7120]);
    }
}
