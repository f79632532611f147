use super::config::{FIRST_PRIORITY, WAITING_ACKS};
use super::wire::Ack;
use homarus_proto::Instant;

/// What a host knows of another, by address.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer {
    /// Its cutoffs, and their version; 0: not heard yet.
    pub(super) cutoffs: ([u32; 8], u16),
    /// When ours were last sent to it.
    pub(super) cutoffs_sent_at: Option<Instant>,
    /// Acks that wait for a packet to ride on, oldest first.
    acks: Vec<Ack>,
}

impl Peer {
    /// Priority of unscheduled bytes to it.
    pub(super) fn unscheduled_priority(&self, length: u32) -> u8 {
        if self.cutoffs.1 == 0 { FIRST_PRIORITY } else { priority_by(&self.cutoffs.0, length) }
    }

    /// Makes an ack wait; if too many do, gives those that waited, for an ACK packet.
    pub(super) fn add_ack(&mut self, ack: Ack) -> Option<Vec<Ack>> {
        if self.acks.len() == WAITING_ACKS {
            return Some(self.take_acks());
        }
        self.acks.push(ack);
        None
    }

    /// The newest ack, to ride on a request.
    pub(super) fn pop_ack(&mut self) -> Option<Ack> {
        self.acks.pop()
    }

    /// All acks, for an ACK packet.
    pub(super) fn take_acks(&mut self) -> Vec<Ack> {
        std::mem::take(&mut self.acks)
    }
}

/// The highest priority whose cutoff admits a message of that length, else the lowest that has one.
pub(super) fn priority_by(cutoffs: &[u32; 8], length: u32) -> u8 {
    let fits = (0..8).rev().find(|level| cutoffs[*level] >= length);
    fits.or((0..8).find(|level| cutoffs[*level] > 0)).unwrap_or(0) as u8
}
