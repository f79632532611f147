use homarus_proto::Instant;
use std::time::Duration;

/// A host's own clock: the world's time and an offset, which a jump changes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    ahead_nanos: i64,
}

impl Clock {
    /// A clock that shows `ahead` when the world's time is zero.
    pub fn new(ahead: Duration) -> Clock {
        Clock { ahead_nanos: i64::try_from(ahead.as_nanos()).unwrap_or(i64::MAX / 2) }
    }

    /// What this clock shows at `world`.
    pub fn read(&self, world: Instant) -> Instant {
        Instant::from_nanos(world.as_nanos().saturating_add_signed(self.ahead_nanos))
    }

    /// The world's time when this clock will show `local`.
    pub fn when(&self, local: Instant) -> Instant {
        Instant::from_nanos(local.as_nanos().saturating_add_signed(-self.ahead_nanos))
    }

    /// Moves the clock by `nanos`, backwards if negative.
    pub fn jump(&mut self, nanos: i64) {
        self.ahead_nanos = self.ahead_nanos.saturating_add(nanos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_both_ways() {
        let mut clock = Clock::new(Duration::from_nanos(100));
        let world = Instant::from_nanos(1_000);
        assert_eq!(clock.read(world), Instant::from_nanos(1_100));
        assert_eq!(clock.when(Instant::from_nanos(1_100)), world);
        clock.jump(-300);
        assert_eq!(clock.read(world), Instant::from_nanos(800));
        clock.jump(-5_000);
        assert_eq!(clock.read(world), Instant::ZERO);
    }
}
