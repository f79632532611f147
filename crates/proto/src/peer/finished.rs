/// Remembers which of a peer's requests were executed and forgotten, so that a late duplicate is not executed again.
///
/// A client's ids rise, so a bitmap over the latest of them does; a few are kept, because a peer that restarts begins
/// anew elsewhere while duplicates of its old requests may still be under way.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    windows: Vec<Window>,
}

/// One bit an id, for the ids up to `newest` as far as they fit.
#[derive(Debug)]
struct Window {
    newest: u64,
    bits: Vec<u64>,
}

impl Finished {
    /// Ids further apart than this are from different lives of the peer.
    const ERA: u64 = 1 << 31;

    /// Lives of the peer that are remembered. Over IP a peer is a host, on which each client has its own.
    const LIVES: usize = 16;

    /// Notes that the request with this id need not be executed any more, if it is of a life that made requests. Who
    /// forges such notes cannot make the endpoint forget.
    pub(crate) fn insert_unseen(&mut self, id: u64) {
        if self.windows.iter().any(|window| window.is_near(id / 2)) {
            self.insert(id);
        }
    }

    /// Notes that the request with this id has been executed.
    pub(crate) fn insert(&mut self, id: u64) {
        let number = id / 2;
        let found = self.windows.iter().position(|window| window.is_near(number));
        let index = found.unwrap_or_else(|| {
            self.windows.truncate(Finished::LIVES - 1);
            self.windows.insert(0, Window { newest: number, bits: vec![0; Window::FIRST_WORDS] });
            0
        });
        self.windows[index].insert(number);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    pub(crate) fn contains(&self, id: u64) -> bool {
        let number = id / 2;
        self.windows.iter().any(|window| window.contains(number))
    }
}

impl Window {
    const FIRST_WORDS: usize = 4;
    /// 65,536 ids: some 40 ms of the fastest peer, more than any duplicate is late in a data centre.
    const MAX_WORDS: usize = 1024;

    fn is_near(&self, number: u64) -> bool {
        self.newest.abs_diff(number) < Finished::ERA
    }

    fn slot(&self, number: u64) -> (usize, u64) {
        ((number / 64) as usize % self.bits.len(), 1 << (number % 64))
    }

    fn contains(&self, number: u64) -> bool {
        let covered = number <= self.newest && self.word_age(number) < self.bits.len() as u64;
        let (word, bit) = self.slot(number);
        covered && self.bits[word] & bit != 0
    }

    /// Words between the newest id's and this one's.
    fn word_age(&self, number: u64) -> u64 {
        self.newest / 64 - number / 64
    }

    fn insert(&mut self, number: u64) {
        if number > self.newest {
            self.move_on(number);
        }
        let age = self.word_age(number);
        self.grow(age + 1);
        if age < self.bits.len() as u64 {
            let (word, bit) = self.slot(number);
            self.bits[word] |= bit;
        }
    }

    /// Makes `number` the newest, and forgets what no longer fits.
    fn move_on(&mut self, number: u64) {
        let ahead = number / 64 - self.newest / 64;
        if self.overwrites(ahead) {
            self.grow(self.bits.len() as u64 + ahead);
        }
        let words = self.bits.len() as u64;
        for step in 1..=ahead.min(words) {
            self.bits[((self.newest / 64 + step) % words) as usize] = 0;
        }
        self.newest = number;
    }

    /// Whether words in use would be reused when the newest id moves on by so many words.
    fn overwrites(&self, ahead: u64) -> bool {
        let words = self.bits.len() as u64;
        (1..=ahead.min(words)).any(|step| self.bits[((self.newest / 64 + step) % words) as usize] != 0)
    }

    /// Makes room for so many words, as far as the bound allows.
    fn grow(&mut self, words: u64) {
        let old = self.bits.len();
        let wanted = words.next_power_of_two().min(Window::MAX_WORDS as u64) as usize;
        if wanted <= old {
            return;
        }
        let mut bits = vec![0; wanted];
        for age in 0..old as u64 {
            let Some(word) = (self.newest / 64).checked_sub(age) else {
                break;
            };
            bits[word as usize % wanted] = self.bits[word as usize % old];
        }
        self.bits = bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn remembers_the_latest(ids in prop::collection::vec(0u64..20_000, 1..300)) {
            let base = 0x1234_5678_0000_0000;
            let mut finished = Finished::default();
            let mut model = HashSet::new();
            for id in ids {
                finished.insert(base + 2 * id);
                model.insert(id);
            }
            for id in 0..20_000 {
                prop_assert_eq!(finished.contains(base + 2 * id), model.contains(&id), "id {}", id);
            }
        }
    }

    #[test]
    fn survives_a_restart_of_the_peer() {
        let mut finished = Finished::default();
        finished.insert(1 << 50);
        finished.insert(1 << 20);
        assert!(finished.contains(1 << 50) && finished.contains(1 << 20));
        assert!(!finished.contains((1 << 20) + 2));
    }

    #[test]
    fn memory_is_bounded() {
        let mut finished = Finished::default();
        (0..1_000_000).for_each(|id| finished.insert(2 * id));
        assert!(finished.windows.iter().all(|window| window.bits.len() <= Window::MAX_WORDS));
        assert!(finished.contains(2 * 999_999) && finished.contains(2 * (999_999 - 60_000)));
    }
}
