use crate::{Config, Instant};
use std::time::Duration;

/// Round-trip time to a peer: the shortest lately, which bounds how much to send unscheduled, and the usual one with
/// its variation, which says when a packet is late (RFC 6298's filter).
#[derive(Debug)]
pub(crate) struct Rtt {
    /// Nanoseconds, as all times here: `Duration` costs more on a path that every RPC takes.
    smoothed: Option<u64>,
    variation: u64,
    /// Shortest in the current and in the previous interval; `u64::MAX` where there was no sample.
    shortest: [u64; 2],
    interval_began: Instant,
    /// `shortest` as one byte, for the peer.
    told: u8,
    /// The peer's own shortest round trip to us, and the byte that said so.
    hint: Option<u64>,
    hinted: u8,
    /// Twice the longest silence that turned out to be none of loss: what had been asked for was under way.
    late: u64,
    /// Packets from beyond a gap that make it count as lost; more where packets were found to be reordered.
    reordering: u32,
}

impl Default for Rtt {
    fn default() -> Rtt {
        Rtt {
            smoothed: None,
            variation: 0,
            shortest: [u64::MAX; 2],
            interval_began: Instant::ZERO,
            told: 0,
            hint: None,
            hinted: 0,
            late: 0,
            reordering: Rtt::REORDERING,
        }
    }
}

impl Rtt {
    /// After this time without a sample as short, a longer round trip is believed.
    const INTERVAL: Duration = Duration::from_secs(5);

    /// Nanoseconds; what took longer was not the network but a clock that jumped.
    const LONGEST: u64 = 60_000_000_000;

    /// As in RFC 9002 §6.1.1.
    const REORDERING: u32 = 3;
    const MAX_REORDERING: u32 = 256;

    /// Packets from beyond a gap that make it count as lost.
    pub(crate) fn reordering_packets(&self) -> u32 {
        self.reordering
    }

    /// Notes that a packet which had counted as lost was only late.
    pub(crate) fn was_reordered(&mut self) {
        self.reordering = (self.reordering * 2).min(Rtt::MAX_REORDERING);
    }

    /// The shortest round trip measured here as one byte, an eighth of an octave a step from 100 ns; 0: not measured.
    pub(crate) fn to_hint(&self) -> u8 {
        self.told
    }

    /// Takes what the peer has measured.
    pub(crate) fn take_hint(&mut self, hint: u8) {
        if hint != self.hinted && hint > 0 {
            self.hinted = hint;
            self.hint = Some((100.0 * (f64::from(hint) / 8.0).exp2()) as u64);
        }
    }

    /// Notes that something came as it was sent at first, after it had been waited for so long that it was asked for.
    pub(crate) fn was_late(&mut self, by: Duration) {
        self.late = self.late.max(2 * u64::try_from(by.as_nanos()).unwrap_or(u64::MAX).min(Rtt::LONGEST));
    }

    pub(crate) fn sample(&mut self, now: Instant, sent_at: Instant) {
        let measured = self.measured();
        let rtt = now.as_nanos().saturating_sub(sent_at.as_nanos()).clamp(100, Rtt::LONGEST);
        if now.saturating_since(self.interval_began) >= Rtt::INTERVAL {
            self.shortest = [u64::MAX, self.shortest[0]];
            self.interval_began = now;
        }
        self.shortest[0] = self.shortest[0].min(rtt);
        if self.measured() != measured || self.told == 0 {
            // Every packet tells it, and logarithms are slow.
            self.told = (8.0 * (self.measured() as f64 / 100.0).log2()).round().clamp(1.0, 255.0) as u8;
        }
        self.late -= self.late / 8;
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.variation = rtt / 2;
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(rtt)) / 4;
                self.smoothed = Some((smoothed * 7 + rtt) / 8);
            }
        }
    }

    /// The shortest round trip lately, by whichever side has seen a shorter one: what one side measures can have the
    /// other's queue or its order of grants in it.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        let shortest = self.measured().min(self.hint.unwrap_or(u64::MAX));
        (shortest < u64::MAX).then_some(Duration::from_nanos(shortest))
    }

    /// The shortest measured here, nanoseconds.
    fn measured(&self) -> u64 {
        self.shortest[0].min(self.shortest[1])
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(Duration::from_nanos)
    }

    /// Silence after which something expected counts as lost. What was measured may exceed `resend_max`: to ask before
    /// an answer can be there would only add to what it waits behind.
    pub(crate) fn timeout(&self, config: &Config) -> Duration {
        let usual = match (self.smoothed, self.hint) {
            (Some(smoothed), _) => smoothed * 2 + self.variation * 4,
            (None, Some(hint)) => (hint * 6).min(config.resend_max.as_nanos() as u64),
            (None, None) => config.resend_start.as_nanos() as u64,
        };
        let longest = config.resend_max.max(config.dead_after / 8);
        Duration::from_nanos(usual.max(self.late)).clamp(config.resend_min, longest)
    }

    /// Time for packets to be reordered in the network before a gap counts as a loss.
    pub(crate) fn reordering_time(&self, config: &Config) -> Duration {
        self.shortest().unwrap_or(config.resend_start / 4).min(config.resend_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_says_the_round_trip_within_five_per_cent() {
        for micros in [1, 10, 47, 1000, 200_000] {
            let (mut ours, mut theirs) = (Rtt::default(), Rtt::default());
            ours.sample(Instant::from_nanos(micros * 1000), Instant::ZERO);
            theirs.take_hint(ours.to_hint());
            let hinted = theirs.hint.unwrap() as f64 / (micros as f64 * 1000.0);
            assert!((0.95..1.05).contains(&hinted), "{micros} µs: {hinted}");
        }
        assert_eq!(Rtt::default().to_hint(), 0);
    }

    #[test]
    fn the_longest_times_do_no_harm() {
        let (config, mut rtt) = (Config::default(), Rtt::default());
        for _ in 0..3 {
            rtt.sample(Instant::FAR_FUTURE, Instant::ZERO);
            rtt.was_late(Duration::MAX);
            assert!(rtt.timeout(&config) <= config.dead_after);
            assert!(rtt.to_hint() > 0);
        }
    }

    #[test]
    fn what_was_late_is_waited_for_longer_for_a_while() {
        let (config, mut rtt) = (Config::default(), Rtt::default());
        rtt.sample(Instant::from_nanos(50_000), Instant::ZERO);
        assert_eq!(rtt.timeout(&config), config.resend_min);
        rtt.was_late(Duration::from_millis(4));
        assert_eq!(rtt.timeout(&config), Duration::from_millis(8));
        (0..30).for_each(|_| rtt.sample(Instant::from_nanos(50_000), Instant::ZERO));
        assert_eq!(rtt.timeout(&config), config.resend_min);
    }
}
