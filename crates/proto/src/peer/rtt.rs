use crate::{Config, Instant};
use std::time::Duration;

/// Round-trip time to a peer: the shortest lately, which bounds how much to send unscheduled, and the usual one with
/// its variation, which says when a packet is late (RFC 6298's filter).
#[derive(Debug, Default)]
pub(crate) struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    /// Shortest in the current and in the previous interval.
    shortest: [Option<Duration>; 2],
    interval_began: Instant,
}

impl Rtt {
    /// After this time without a sample as short, a longer round trip is believed.
    const INTERVAL: Duration = Duration::from_secs(5);

    pub(crate) fn sample(&mut self, now: Instant, rtt: Duration) {
        let rtt = rtt.max(Duration::from_nanos(100));
        if now.saturating_since(self.interval_began) >= Rtt::INTERVAL {
            self.shortest = [None, self.shortest[0]];
            self.interval_began = now;
        }
        self.shortest[0] = Some(self.shortest[0].map_or(rtt, |old| old.min(rtt)));
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
        self.shortest.iter().flatten().min().copied()
    }

    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Silence after which something expected counts as lost.
    pub(crate) fn timeout(&self, config: &Config) -> Duration {
        match self.smoothed {
            Some(smoothed) => (smoothed * 2 + self.variation * 4).clamp(config.resend_min, config.resend_max),
            None => config.resend_start,
        }
    }

    /// Time for packets to be reordered in the network before a gap counts as a loss.
    pub(crate) fn reordering(&self, config: &Config) -> Duration {
        self.shortest().unwrap_or(config.resend_start / 4).min(config.resend_max)
    }
}
