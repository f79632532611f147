use crate::rpc::RpcKey;
use std::collections::VecDeque;

/// Whose turn it is to ask a peer for retransmission: one RPC at a time.
///
/// When a link is congested or a peer is slow, every RPC to it looks lost at once. Were all to ask, the retransmissions
/// would add to the congestion. But where thousands of short messages were lost together, one at a time would take
/// seconds: as long as turns are answered, each next one is shared by twice as many.
#[derive(Debug, Default)]
pub(crate) struct ResendTurn {
    holder: Option<RpcKey>,
    /// Turns answered in a row, up to as many as make the largest share.
    answered: u32,
    /// Whether the holder has asked since it got the turn.
    asked: bool,
    /// RPCs that wait, each with its birth: the key of one that ended meanwhile may belong to another now.
    waiting: VecDeque<(RpcKey, u64)>,
}

impl ResendTurn {
    /// Takes the turn for `rpc`, which then asks, or if another RPC has it, makes `rpc` wait for its own; `queued`
    /// says whether it already does, and is kept up to date.
    pub(crate) fn acquire(&mut self, rpc: RpcKey, born: u64, queued: &mut bool) -> bool {
        match self.holder {
            Some(holder) if holder != rpc => {
                if !*queued {
                    self.waiting.push_back((rpc, born));
                    *queued = true;
                }
                false
            }
            _ => {
                self.holder = Some(rpc);
                self.asked = true;
                true
            }
        }
    }

    /// The most that share a turn, as a power of two.
    const WIDEST: u32 = 6;

    /// Notes that the holder's question was answered, or that it was not.
    pub(crate) fn note_outcome(&mut self, answered: bool) {
        self.answered = if answered { (self.answered + 1).min(ResendTurn::WIDEST) } else { 0 };
    }

    /// Takes those who ask along with the new holder of the turn.
    pub(crate) fn companions(&mut self) -> impl Iterator<Item = (RpcKey, u64)> + '_ {
        let most = ((1 << self.answered) - 1).min(self.waiting.len());
        self.waiting.drain(..most)
    }

    pub(crate) fn is_held_by(&self, rpc: RpcKey) -> bool {
        self.holder == Some(rpc)
    }

    /// Whether `rpc` has the turn and has used it.
    pub(crate) fn was_used_by(&self, rpc: RpcKey) -> bool {
        self.is_held_by(rpc) && self.asked
    }

    /// Ends the holder's turn and gives it to the next RPC that `still_there`; the caller must have that one look at
    /// once whether it still needs it.
    pub(crate) fn pass(&mut self, mut still_there: impl FnMut(RpcKey, u64) -> bool) -> Option<RpcKey> {
        self.holder = None;
        self.asked = false;
        while let Some((rpc, born)) = self.waiting.pop_front() {
            if still_there(rpc, born) {
                self.holder = Some(rpc);
                break;
            }
        }
        self.holder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_asks_at_a_time_and_the_others_in_their_order() {
        let (first, second, third) = (RpcKey::new(1), RpcKey::new(2), RpcKey::new(3));
        let mut turn = ResendTurn::default();
        let mut queued = [false; 3];
        assert!(turn.acquire(first, 1, &mut queued[0]));
        assert!(!turn.acquire(second, 2, &mut queued[1]) && !turn.acquire(third, 3, &mut queued[2]));
        assert!(!turn.acquire(second, 2, &mut queued[1]), "it waits already");
        assert_eq!(queued, [false, true, true]);
        assert_eq!(turn.pass(|rpc, _| rpc != second), Some(third), "the second has ended meanwhile");
        assert!(turn.is_held_by(third) && !turn.was_used_by(third));
        assert_eq!(turn.pass(|_, _| true), None);
    }

    #[test]
    fn turns_are_shared_by_more_as_long_as_they_are_answered() {
        let mut turn = ResendTurn::default();
        turn.acquire(RpcKey::new(0), 0, &mut false);
        for rpc in 1..1_000 {
            turn.acquire(RpcKey::new(rpc), rpc as u64, &mut false);
        }
        assert_eq!(turn.companions().count(), 0);
        for expected in [1, 3, 7, 15, 31, 63, 63] {
            turn.note_outcome(true);
            assert_eq!(turn.companions().count(), expected);
        }
        turn.note_outcome(false);
        assert_eq!(turn.companions().count(), 0);
    }
}
