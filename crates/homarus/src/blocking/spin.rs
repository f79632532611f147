use homarus_proto::Instant;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How a blocking endpoint waits for packets.
///
/// To be woken costs several microseconds, about as much as a round trip within a rack. Spinning saves that, and keeps a
/// core busy.
///
/// ```
/// # fn main() -> Result<(), homarus::Error> {
/// use homarus::blocking::{Endpoint, Spin};
///
/// // A thread with a core to itself.
/// let endpoint = Endpoint::builder().spin(Spin::Always).bind_blocking("127.0.0.1:0")?;
/// # drop(endpoint);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spin {
    /// Sleep at once.
    Never,
    /// Spin for so long after the last packet, then sleep. After some waits that took longer, sleep at once, and only
    /// now and then try whether spinning pays again.
    For(Duration),
    /// Never sleep, nor let others have the processor: for threads that have one to themselves.
    Always,
}

impl Default for Spin {
    /// Spins for 50 µs: enough for round trips on one switch.
    fn default() -> Self {
        Spin::For(Duration::from_micros(50))
    }
}

/// Waits in a row in which spinning was no use, after which it is given up.
const DISAPPOINTMENTS: u32 = 8;
/// Of how many waits one tries again.
const TRY_AGAIN: u32 = 16;

/// Whether spinning has paid lately.
#[derive(Debug, Default)]
pub(super) struct Habit {
    /// Waits since the last in which it did.
    disappointments: AtomicU32,
}

impl Habit {
    pub(super) fn begin(&self, spin: Spin, now: Instant) -> Spinning<'_> {
        let disappointments = self.disappointments.load(Ordering::Relaxed);
        let tries = disappointments < DISAPPOINTMENTS || disappointments.is_multiple_of(TRY_AGAIN);
        let limit = match spin {
            Spin::For(limit) if tries => limit,
            Spin::For(_) | Spin::Never => Duration::ZERO,
            Spin::Always => Duration::MAX,
        };
        Spinning { habit: self, limit, since: now, paid: false }
    }
}

/// One wait, by spinning as long as that is worth while.
pub(super) struct Spinning<'a> {
    habit: &'a Habit,
    limit: Duration,
    since: Instant,
    paid: bool,
}

impl Spinning<'_> {
    /// Whether to go on; `now` is asked only if that depends on the time.
    pub(super) fn goes_on(&self, now: impl FnOnce() -> Instant) -> bool {
        match self.limit {
            Duration::ZERO => false,
            Duration::MAX => true,
            limit => now().saturating_since(self.since) < limit,
        }
    }

    /// Whether to let others have the processor in between: the peer may need this very one to answer.
    pub(super) fn is_generous(&self) -> bool {
        self.limit < Duration::MAX
    }

    /// Notes that packets came at `now`, which is to its credit unless it had been given up.
    pub(super) fn renew(&mut self, now: Instant) {
        self.since = now;
        self.paid = !self.limit.is_zero();
    }

    /// Notes that it was in vain.
    pub(super) fn give_up(&mut self) {
        self.limit = Duration::ZERO;
        self.paid = false;
    }
}

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        let habit = &self.habit.disappointments;
        if self.paid {
            habit.store(0, Ordering::Relaxed);
        } else {
            // Wraps around after years, to try again.
            habit.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_micros(50);

    fn spins(habit: &Habit, comes_after: Duration) -> bool {
        let mut spinning = habit.begin(Spin::For(LIMIT), Instant::ZERO);
        let spun = spinning.goes_on(|| Instant::ZERO);
        if spinning.goes_on(|| Instant::ZERO + comes_after) {
            spinning.renew(Instant::ZERO + comes_after);
        }
        spun
    }

    #[test]
    fn stops_spinning_where_it_does_not_pay_and_notices_when_it_does() {
        let habit = Habit::default();
        let slow = (0..1000).filter(|_| spins(&habit, LIMIT * 2)).count();
        assert!((20..200).contains(&slow), "{slow} of 1000");
        let quick = (0..1000).filter(|_| spins(&habit, LIMIT / 2)).count();
        assert!(quick > 900, "{quick} of 1000");
    }

    #[test]
    fn always_and_never_do_not_depend_on_time() {
        let habit = Habit::default();
        let no_clock = || -> Instant { panic!("no need for the time") };
        assert!(habit.begin(Spin::Always, Instant::ZERO).goes_on(no_clock));
        assert!(!habit.begin(Spin::Never, Instant::ZERO).goes_on(no_clock));
    }
}
