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
}

impl Default for Rtt {
    fn default() -> Rtt {
        Rtt { smoothed: None, variation: 0, shortest: [u64::MAX; 2], interval_began: Instant::ZERO }
    }
}

impl Rtt {
    /// After this time without a sample as short, a longer round trip is believed.
    const INTERVAL: Duration = Duration::from_secs(5);

    pub(crate) fn sample(&mut self, now: Instant, sent_at: Instant) {
        let rtt = now.as_nanos().saturating_sub(sent_at.as_nanos()).max(100);
        if now.saturating_since(self.interval_began) >= Rtt::INTERVAL {
            self.shortest = [u64::MAX, self.shortest[0]];
            self.interval_began = now;
        }
        self.shortest[0] = self.shortest[0].min(rtt);
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

    pub(crate) fn shortest(&self) -> Option<Duration> {
        let shortest = self.shortest[0].min(self.shortest[1]);
        (shortest < u64::MAX).then_some(Duration::from_nanos(shortest))
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(Duration::from_nanos)
    }

    /// Silence after which something expected counts as lost.
    pub(crate) fn timeout(&self, config: &Config) -> Duration {
        match self.smoothed {
            Some(smoothed) => {
                Duration::from_nanos(smoothed * 2 + self.variation * 4).clamp(config.resend_min, config.resend_max)
            }
            None => config.resend_start,
        }
    }

    /// Time for packets to be reordered in the network before a gap counts as a loss.
    pub(crate) fn reordering(&self, config: &Config) -> Duration {
        self.shortest().unwrap_or(config.resend_start / 4).min(config.resend_max)
    }
}
