use super::segment::{End, Ends};
use super::sender::Chunk;
use std::collections::VecDeque;

/// The messages of a stream that are not wholly acknowledged.
#[derive(Debug, Default)]
pub(super) struct Messages {
    queue: VecDeque<Written>,
    /// How many of them have been sent to the end.
    finished: usize,
}

#[derive(Clone, Copy, Debug)]
struct Written {
    end: u64,
    id: u32,
    interactive: bool,
}

impl Messages {
    /// The application has written a message: the stream's bytes up to `end` that no earlier one has.
    pub(super) fn push(&mut self, end: u64, id: u32, interactive: bool) {
        self.queue.push_back(Written { end, id, interactive });
    }

    /// The messages that end in a segment that is sent now, and the one that it begins with.
    #[inline]
    pub(super) fn within(&mut self, chunk: &Chunk) -> (Ends, u32) {
        let end = chunk.seq + u64::from(chunk.length);
        let first = match chunk.again {
            false => self.finished,
            true => self.queue.partition_point(|message| message.end <= chunk.seq),
        };
        let current = self.queue.get(first).map_or(u32::MAX, |message| message.id);
        let count = self.queue.range(first..).take_while(|message| message.end <= end).count();
        if !chunk.again {
            self.finished += count;
        }
        let mut ends = self.queue.range(first..first + count).map(|message| End {
            id: message.id,
            at: (message.end - chunk.seq) as u16,
            interactive: message.interactive,
        });
        let ends = match count {
            0 => Ends::None,
            1 => ends.next().map_or(Ends::None, Ends::One),
            _ => Ends::Many(ends.collect()),
        };
        (ends, current)
    }

    /// All before `ack` has arrived. Returns whether messages that are not answered have, to their ends.
    #[inline]
    pub(super) fn forget(&mut self, ack: u64) -> bool {
        let mut one_way = false;
        while let Some(message) = self.queue.front()
            && message.end <= ack
        {
            one_way |= !message.interactive;
            self.queue.pop_front();
            self.finished -= 1;
        }
        one_way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_know_the_messages_that_end_in_them() {
        let mut messages = Messages::default();
        for (end, id) in [(100, 7), (150, 8), (3_000, 9)] {
            messages.push(end, id, id == 8);
        }
        let chunk = |seq, again| Chunk { seq, length: 1_448, again, tell_reduced: false };
        let end = |id, at| End { id, at, interactive: id == 8 };
        let (ends, first) = messages.within(&chunk(0, false));
        assert_eq!((ends.as_slice(), first), (&[end(7, 100), end(8, 150)][..], 7));
        assert_eq!(messages.within(&chunk(1_448, false)).0.as_slice(), []);
        assert_eq!(messages.within(&chunk(2_896, false)).0.as_slice(), [end(9, 104)]);
        assert!(messages.forget(1_448));
        assert_eq!(messages.within(&chunk(2_896, true)).0.as_slice(), [end(9, 104)], "sent again");
        assert!(!messages.forget(2_896));
        assert!(messages.forget(3_000));
    }
}
