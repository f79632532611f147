use crate::Time;

/// When slow start ends before a loss, as Linux's CUBIC decides it (HyStart): once the acknowledgements of one window arrive,
/// closely spaced, for longer than half the shortest round trip, so that the window covers half the path. Its other sign, a
/// round trip that is 4 ms longer than the shortest, needs queues that data centres do not have.
#[derive(Debug, Default)]
pub(super) struct HyStart {
    /// The window that is measured ends with this byte, and its first and last acknowledgements came then.
    end: u64,
    begun: Time,
    last: Time,
}

/// Smaller windows are not looked at, segments.
const LEAST: f64 = 16.0;
/// Acknowledgements of one train are no further apart.
const SPACING: Time = Time::from_micros(2_000);

impl HyStart {
    /// An acknowledgement up to `una` came while `next` was the next byte to be sent. Returns whether slow start is over.
    pub(super) fn is_over(&mut self, now: Time, una: u64, next: u64, window: f64, shortest: Time) -> bool {
        if una > self.end {
            *self = HyStart { end: next, begun: now, last: now };
        }
        if window < LEAST || now - self.last > SPACING {
            return false;
        }
        self.last = now;
        (now - self.begun) * 2 > shortest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let mut hystart = HyStart::default();
        let mut at =
            |micros, una, next| hystart.is_over(Time::from_micros(micros), una, next, 20.0, Time::from_micros(100));
        assert!(!at(0, 1, 100));
        assert!(!at(50, 50, 150));
        assert!(at(51, 60, 160));
        assert!(!at(52, 101, 200), "the next window");
        assert!(!at(3_000, 110, 210), "too late to belong to the train");
    }
}
