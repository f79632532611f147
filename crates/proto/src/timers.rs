use crate::Instant;
use crate::rpc::RpcKey;

/// Nanoseconds of a tick, as a power of two: about a microsecond.
const TICK_BITS: u32 = 10;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// Enough for every time that an `Instant` can be.
const LEVELS: usize = (64 - TICK_BITS).div_ceil(SLOT_BITS) as usize;

/// When to look at which RPC: a hierarchical timing wheel, constant time for each timer whatever their number.
///
/// Timers are not cancelled. Each RPC remembers the one that counts, and others fire without effect.
#[derive(Debug)]
pub(crate) struct Timers {
    /// All timers before this tick have fired.
    elapsed: u64,
    levels: Vec<Level>,
    /// Timers already due when they were set.
    due: Vec<(u64, RpcKey)>,
    len: usize,
}

#[derive(Debug)]
struct Level {
    /// One bit a slot that is not empty.
    occupied: u64,
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    /// The first timer's tick.
    first: u64,
    timers: Vec<(u64, RpcKey)>,
}

impl Timers {
    pub(crate) fn new() -> Timers {
        let level =
            || Level { occupied: 0, slots: (0..SLOTS).map(|_| Slot { first: u64::MAX, timers: Vec::new() }).collect() };
        Timers { elapsed: 0, levels: (0..LEVELS).map(|_| level()).collect(), due: Vec::new(), len: 0 }
    }

    /// The time at which a timer for `at` really fires: not before, and at most a tick later.
    pub(crate) fn rounded(at: Instant) -> Instant {
        let mask = (1 << TICK_BITS) - 1;
        Instant::from_nanos(at.as_nanos().saturating_add(mask) & !mask)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Sets a timer; `at` must be rounded.
    pub(crate) fn insert(&mut self, at: Instant, rpc: RpcKey) {
        self.len += 1;
        self.place(at.as_nanos() >> TICK_BITS, rpc);
    }

    fn place(&mut self, tick: u64, rpc: RpcKey) {
        if tick <= self.elapsed {
            self.due.push((tick, rpc));
            return;
        }
        let level = level_of(self.elapsed, tick);
        let slot = slot_of(level, tick);
        let entry = &mut self.levels[level].slots[slot];
        entry.first = entry.first.min(tick);
        entry.timers.push((tick, rpc));
        self.levels[level].occupied |= 1 << slot;
    }

    /// When the first timer is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        if !self.due.is_empty() {
            return Some(Instant::from_nanos(self.elapsed << TICK_BITS));
        }
        let (level, slot, _) = self.next_slot()?;
        Some(Instant::from_nanos(self.levels[level].slots[slot].first << TICK_BITS))
    }

    /// Level, slot and first tick of the earliest slot with timers.
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        for (level, wheel) in self.levels.iter().enumerate() {
            if wheel.occupied == 0 {
                continue;
            }
            let shift = SLOT_BITS * level as u32;
            let now_slot = (self.elapsed >> shift) as u32 % SLOTS as u32;
            let ahead = wheel.occupied.rotate_right(now_slot).trailing_zeros();
            let slot = (now_slot + ahead) as usize % SLOTS;
            let round = SLOTS as u64;
            let position = (self.elapsed >> shift) / round * round + slot as u64;
            let position = if slot < now_slot as usize { position + round } else { position };
            return Some((level, slot, (position << shift).max(self.elapsed)));
        }
        None
    }

    /// Takes the timers that are due at `now` into `fired`, with the times for which they were set. Returns whether
    /// there were any.
    pub(crate) fn fire(&mut self, now: Instant, fired: &mut Vec<(Instant, RpcKey)>) -> bool {
        let now = now.as_nanos() >> TICK_BITS;
        while let Some((level, slot, tick)) = self.next_slot().filter(|(_, _, tick)| *tick <= now) {
            self.elapsed = tick;
            self.levels[level].occupied &= !(1 << slot);
            let entry = &mut self.levels[level].slots[slot];
            entry.first = u64::MAX;
            let mut timers = std::mem::take(&mut entry.timers);
            for (tick, rpc) in timers.drain(..) {
                self.place(tick, rpc);
            }
            self.levels[level].slots[slot].timers = timers;
        }
        self.elapsed = self.elapsed.max(now);
        self.len -= self.due.len();
        fired.extend(self.due.drain(..).map(|(tick, rpc)| (Instant::from_nanos(tick << TICK_BITS), rpc)));
        !fired.is_empty()
    }
}

/// The lowest level on which `tick` is less than a round away from `elapsed`.
fn level_of(elapsed: u64, tick: u64) -> usize {
    let highest_bit = 63 - (elapsed ^ tick).leading_zeros();
    (highest_bit / SLOT_BITS) as usize
}

fn slot_of(level: usize, tick: u64) -> usize {
    (tick >> (SLOT_BITS * level as u32)) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fires_each_timer_once_and_in_time(
            timers in prop::collection::vec(0u64..1 << 42, 1..100),
            steps in prop::collection::vec(1u64..1 << 38, 1..200),
        ) {
            let mut wheel = Timers::new();
            let mut pending: Vec<Instant> = Vec::new();
            let mut now = Instant::ZERO;
            let mut fired = Vec::new();
            for (index, step) in steps.iter().enumerate() {
                if let Some(after) = timers.get(index) {
                    let at = Timers::rounded(Instant::from_nanos(now.as_nanos() + after));
                    wheel.insert(at, RpcKey::new(0));
                    pending.push(at);
                }
                if let Some(next) = wheel.next() {
                    let first = pending.iter().min().unwrap();
                    prop_assert!(next == *first || (*first <= now && next <= now));
                }
                now = Instant::from_nanos(now.as_nanos() + step);
                fired.clear();
                wheel.fire(now, &mut fired);
                let limit = now;
                for (at, _) in &fired {
                    prop_assert!(*at <= limit);
                    let found = pending.iter().position(|other| other == at);
                    prop_assert!(found.is_some());
                    pending.swap_remove(found.unwrap());
                }
                let tick = |at: &Instant| at.as_nanos() >> TICK_BITS;
                prop_assert!(pending.iter().all(|at| tick(at) > tick(&limit)), "all due timers fired");
                prop_assert_eq!(wheel.len(), pending.len());
            }
        }
    }
}
