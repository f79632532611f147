//! Which answers are acceptable: the table in the module's documentation.

use super::pcap::Frame;
use crate::kernel::wire::{Body, Kind, Packet};
use homarus_proto::Instant;
use std::ops::Range;
use std::time::Duration;

/// How often a peer is told the cutoffs at most.
const CUTOFFS_INTERVAL: Duration = Duration::from_millis(1);

/// What the captured peer answered to the packet at `index`: the first packet of it that can be an answer, before the
/// other side asks the same again.
pub(super) fn captured_answer(frames: &[Frame], index: usize) -> Option<Kind> {
    let asked = &frames[index];
    let question = asked.homa()?;
    let candidates: &[Kind] = match question.kind() {
        Kind::Resend => &[Kind::Busy, Kind::Unknown, Kind::Data],
        Kind::NeedAck => &[Kind::Ack, Kind::Resend],
        Kind::Unknown if question.sender_id & 1 == 1 => &[Kind::Data],
        Kind::Data => &[Kind::Cutoffs],
        _ => return None,
    };
    let same = |frame: &Frame| {
        frame.homa().is_some_and(|packet| packet.sender_id == question.sender_id && packet.kind() == Kind::Data)
    };
    if question.kind() == Kind::Data && frames[..index].iter().any(same) {
        // One packet of a message tells the version.
        return None;
    }
    for frame in &frames[index + 1..] {
        let Some(packet) = frame.homa().filter(|packet| packet.sender_id & !1 == question.sender_id & !1) else {
            continue;
        };
        if packet.sender_id == question.sender_id {
            if packet.kind() == question.kind() && question.kind() != Kind::Data {
                return None;
            }
            continue;
        }
        let again = matches!(&packet.body, Body::Data(data) if data.retransmit);
        if candidates.contains(&packet.kind()) && (packet.kind() != Kind::Data || again) {
            return Some(packet.kind());
        }
    }
    None
}

/// What the endpoint did at the instant when a packet came.
pub(super) struct Reaction<'a> {
    /// When.
    pub(super) now: Instant,
    /// What it sent.
    pub(super) sent: &'a [Packet],
    /// When it last sent CUTOFFS.
    pub(super) cutoffs_at: Option<Instant>,
    /// Bytes of its message that it had sent before.
    pub(super) sent_before: u32,
    /// Whether the RPC has ended here as its client.
    pub(super) is_over: bool,
}

/// Why a reaction is not acceptable, if it is not.
pub(super) fn objection(question: &Packet, captured: Kind, reaction: &Reaction<'_>) -> Option<String> {
    let of_rpc = |packet: &&Packet| packet.sender_id == question.sender_id ^ 1;
    let has = |kind: Kind| reaction.sent.iter().filter(of_rpc).any(|packet| packet.kind() == kind);
    let again = || -> Vec<Range<u32>> {
        let ranges = reaction.sent.iter().filter(of_rpc).filter_map(|packet| match &packet.body {
            Body::Data(data) if data.retransmit => {
                let offset = packet.offset(data);
                Some(offset..offset + data.contents.len() as u32)
            }
            _ => None,
        });
        ranges.collect()
    };
    let fine = match (&question.body, captured) {
        (Body::Resend { offset, length, .. }, Kind::Data) => {
            let end = u32::try_from(*length).map_or(reaction.sent_before, |length| offset + length);
            has(Kind::Busy) || covers(&again(), *offset..end.min(reaction.sent_before))
        }
        (Body::NeedAck, Kind::Resend) if reaction.is_over => has(Kind::Ack),
        (Body::NeedAck, Kind::Resend) => has(Kind::Resend) || has(Kind::Busy),
        (Body::Unknown, Kind::Data) => again().iter().any(|range| range.start == 0),
        (Body::Data(_), Kind::Cutoffs) => {
            reaction.cutoffs_at.is_some_and(|at| reaction.now.saturating_since(at) < CUTOFFS_INTERVAL)
        }
        (_, kind) => has(kind),
    };
    let sent: Vec<Kind> = reaction.sent.iter().map(Packet::kind).collect();
    (!fine)
        .then(|| format!("{:?} was answered by {sent:?}, and by the captured peer with {captured:?}", question.kind()))
}

/// Whether ranges cover one.
fn covers(ranges: &[Range<u32>], wanted: Range<u32>) -> bool {
    let mut at = wanted.start;
    while at < wanted.end {
        match ranges.iter().find(|range| range.contains(&at)) {
            Some(range) => at = range.end,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::wire::Data;

    fn packet(sender_id: u64, body: Body) -> Packet {
        let (sport, dport, sequence, doff) = (1, 2, 0, 0);
        Packet { sport, dport, sequence, doff, flags: 0, checksum: 0, urgent: 0, sender_id, body }
    }

    fn data(offset: u32, length: usize, retransmit: bool) -> Body {
        Body::Data(Data {
            message_length: 10_000,
            incoming: 10_000,
            ack: (0, 0),
            cutoff_version: 1,
            retransmit,
            pad: [0; 3],
            segment_offset: Some(offset),
            contents: vec![0; length],
        })
    }

    fn is_fine(question: Body, captured: Kind, answers: Vec<Body>) -> bool {
        let sent: Vec<Packet> = answers.into_iter().map(|body| packet(9, body)).collect();
        let now = Instant::from_nanos(5_000_000);
        let reaction = Reaction { now, sent: &sent, cutoffs_at: None, sent_before: 3_000, is_over: false };
        objection(&packet(8, question), captured, &reaction).is_none()
    }

    #[test]
    fn wrong_answers_are_objected_to() {
        let resend = |length| Body::Resend { offset: 0, length, priority: 7 };
        assert!(is_fine(resend(-1), Kind::Busy, vec![Body::Busy]));
        assert!(!is_fine(resend(-1), Kind::Busy, vec![]));
        assert!(!is_fine(resend(-1), Kind::Unknown, vec![Body::Busy]));
        assert!(is_fine(resend(-1), Kind::Data, vec![data(0, 1_500, true), data(1_500, 1_500, true)]));
        assert!(!is_fine(resend(-1), Kind::Data, vec![data(0, 1_500, true)]), "half of what was sent");
        assert!(!is_fine(resend(1_000), Kind::Data, vec![data(0, 1_500, false)]), "not marked as sent again");
        assert!(!is_fine(Body::NeedAck, Kind::Ack, vec![Body::Busy]));
        assert!(is_fine(Body::NeedAck, Kind::Resend, vec![Body::Busy]));
        assert!(!is_fine(Body::Unknown, Kind::Data, vec![data(1_500, 1_500, true)]));
        assert!(!is_fine(data(0, 10, false), Kind::Cutoffs, vec![]));
    }

    #[test]
    fn answers_about_other_rpcs_do_not_count() {
        let sent = [packet(11, Body::Busy)];
        let now = Instant::from_nanos(5_000_000);
        let reaction = Reaction { now, sent: &sent, cutoffs_at: None, sent_before: 0, is_over: false };
        let question = packet(8, Body::Resend { offset: 0, length: -1, priority: 7 });
        assert!(objection(&question, Kind::Busy, &reaction).is_some());
    }
}
