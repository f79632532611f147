use std::collections::{BTreeSet, HashMap};

/// Messages that come from one sender, by their numbers. Frames come in any order and more than once.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Every message below this has arrived whole.
    below: u32,
    /// Messages above that have arrived whole.
    whole: BTreeSet<u32>,
    parts: HashMap<u32, Parts>,
}

/// What is there of one message: one bit a frame.
#[derive(Debug)]
struct Parts {
    words: Vec<u64>,
    missing: u32,
}

impl Arrivals {
    /// One of a message's frames has come. Returns whether the message is complete by it.
    pub(super) fn add(&mut self, number: u32, frame: u32, frames: u32) -> bool {
        if number < self.below || self.whole.contains(&number) {
            return false;
        }
        if frames > 1 {
            let words = frames.div_ceil(64) as usize;
            let parts = self.parts.entry(number).or_insert_with(|| Parts { words: vec![0; words], missing: frames });
            let (word, bit) = (&mut parts.words[frame as usize / 64], 1 << (frame % 64));
            parts.missing -= u32::from(*word & bit == 0);
            *word |= bit;
            if parts.missing > 0 {
                return false;
            }
            self.parts.remove(&number);
        }
        self.whole.insert(number);
        while self.whole.remove(&self.below) {
            self.below += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_complete_once() {
        let mut arrivals = Arrivals::default();
        assert!(arrivals.add(1, 0, 1));
        assert!(!arrivals.add(1, 0, 1));
        for frame in (1..100).rev() {
            assert!(!arrivals.add(0, frame, 100));
            assert!(!arrivals.add(0, frame, 100));
        }
        assert!(arrivals.add(0, 0, 100));
        assert!(!arrivals.add(0, 0, 100));
        assert_eq!((arrivals.below, arrivals.whole.len(), arrivals.parts.len()), (2, 0, 0));
    }
}
