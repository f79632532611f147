use super::setup::TcpSetup;
use crate::Time;

/// The retransmission timeout (RFC 6298).
#[derive(Debug)]
pub(super) struct Rto {
    /// Smoothed round trip; [`Time::ZERO`] before the first measurement.
    smoothed: Time,
    variation: Time,
    timeout: Time,
    minimum: Time,
    maximum: Time,
    /// Timeouts in a row: each doubles the next.
    backoff: u32,
}

impl Rto {
    pub(super) fn new(setup: &TcpSetup) -> Rto {
        Rto {
            smoothed: Time::ZERO,
            variation: Time::ZERO,
            timeout: setup.minimum_rto,
            minimum: setup.minimum_rto,
            maximum: setup.maximum_rto,
            backoff: 0,
        }
    }

    /// A round trip was measured: gains of 1/8 and 1/4.
    #[inline]
    pub(super) fn measure(&mut self, rtt: Time) {
        if self.smoothed == Time::ZERO {
            self.smoothed = rtt;
            self.variation = Time::from_picos(rtt.as_picos() / 2);
        } else {
            let (smoothed, rtt) = (self.smoothed.as_picos(), rtt.as_picos());
            let variation = self.variation.as_picos();
            self.variation = Time::from_picos(variation - variation / 4 + smoothed.abs_diff(rtt) / 4);
            self.smoothed = Time::from_picos(smoothed - smoothed / 8 + rtt / 8);
        }
        self.timeout = (self.smoothed + self.variation * 4).max(self.minimum);
    }

    /// Something new was acknowledged. Timestamps tell that it answers the last transmission (RFC 7323 §4.2), so that no
    /// further measurement is needed before the backoff ends.
    #[inline]
    pub(super) fn note_progress(&mut self) {
        self.backoff = 0;
    }

    /// Time from now until all counts as lost.
    #[inline]
    pub(super) fn timeout(&self) -> Time {
        (self.timeout * (1 << self.backoff)).min(self.maximum)
    }

    /// It was in vain.
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(20);
    }

    pub(super) fn smoothed(&self) -> Time {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_round_trip_doubles_and_has_bounds() {
        let setup = TcpSetup { minimum_rto: Time::from_micros(200), ..TcpSetup::LINUX };
        let mut rto = Rto::new(&setup);
        assert_eq!(rto.timeout(), Time::from_micros(200));
        rto.measure(Time::from_micros(100));
        assert_eq!(rto.timeout(), Time::from_micros(300), "RTT + 4 × RTT / 2");
        rto.measure(Time::from_micros(180));
        assert_eq!(rto.smoothed(), Time::from_micros(110));
        assert_eq!(rto.timeout(), Time::from_micros(110 + 4 * (50 - 50 / 4) + 4 * (80 / 4) - 2));
        for _ in 0..200 {
            rto.measure(Time::from_micros(100));
        }
        assert_eq!(rto.timeout(), Time::from_micros(200), "the minimum");
        rto.back_off();
        rto.back_off();
        assert_eq!(rto.timeout(), Time::from_micros(800));
        for _ in 0..100 {
            rto.back_off();
        }
        assert_eq!(rto.timeout(), setup.maximum_rto);
        rto.note_progress();
        assert_eq!(rto.timeout(), Time::from_micros(200), "progress ends the backoff");
    }
}
