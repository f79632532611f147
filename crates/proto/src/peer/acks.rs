use crate::wire::{Ack, MAX_ACKS};

/// Acks that wait for a packet to ride on.
#[derive(Debug, Default)]
pub(crate) struct WaitingAcks {
    acks: [Ack; MAX_ACKS],
    count: usize,
}

impl WaitingAcks {
    /// Adds an ack; false if there is no room, so that an ACK packet must be sent.
    pub(crate) fn push(&mut self, ack: Ack) -> bool {
        if self.count == MAX_ACKS {
            return false;
        }
        self.acks[self.count] = ack;
        self.count += 1;
        true
    }

    /// Takes the newest, to ride on a request.
    pub(crate) fn pop(&mut self) -> Option<Ack> {
        self.count = self.count.checked_sub(1)?;
        Some(std::mem::take(&mut self.acks[self.count]))
    }

    /// Takes all, for an ACK packet.
    pub(crate) fn take(&mut self) -> (u16, [Ack; MAX_ACKS]) {
        let WaitingAcks { acks, count } = std::mem::take(self);
        (count as u16, acks)
    }
}
