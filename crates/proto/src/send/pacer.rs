use crate::Instant;
use std::time::Duration;

/// Keeps this host's device queue short, so that the order of sending is decided here and not in a FIFO below.
///
/// The link's rate is not configured: the driver reports how many of our bytes still wait in the device queue, and
/// while the queue is never empty between two reports, what left it in that time is the link's rate.
#[derive(Debug)]
pub(crate) struct Pacer {
    enabled: bool,
    /// Whether the driver has reported at all; one that cannot is not paced.
    reported: bool,
    /// Bytes waiting at the last report.
    queued: u64,
    /// Bytes given to the driver since.
    sent: u64,
    reported_at: Instant,
    /// Bytes per nanosecond, once a queue was seen draining.
    rate: Option<f64>,
    /// Bytes and time over which the queue has stayed non-empty, until they suffice for a sample.
    drained: u64,
    drained_in: Duration,
}

impl Pacer {
    /// Most bytes sent between two reports while the link's rate is unknown: one segmentation burst.
    const BURST: u64 = 65_536;
    /// Bytes sent without asking for a report, when the queue was empty.
    const UNREPORTED: u64 = 16_384;
    /// The queue is kept long enough to cover this delay of the sender's own wake-ups, nanoseconds, …
    const COVER: f64 = 150_000.0;
    /// … and on slow links so many packets, for a wake-up costs as much as a few.
    const PACKETS: u64 = 4;
    /// Shortest time over which the drain is measured.
    const SAMPLE: Duration = Duration::from_micros(300);

    pub(crate) fn new(enabled: bool) -> Pacer {
        Pacer {
            enabled,
            reported: false,
            queued: 0,
            sent: 0,
            reported_at: Instant::ZERO,
            rate: None,
            drained: 0,
            drained_in: Duration::ZERO,
        }
    }

    /// Measured rate of the link, bytes per nanosecond.
    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Bytes that may have left and not arrived within a round trip; 0 while the rate is unknown.
    pub(crate) fn in_flight(&self, round_trip: Duration, mtu: u32) -> u64 {
        let carried = |rate: f64| (rate * round_trip.as_nanos() as f64) as u64;
        self.rate.map_or(0, |rate| carried(rate) + self.limit(mtu))
    }

    /// Whether a packet may go to the device now.
    pub(crate) fn has_room(&self, now: Instant, mtu: u32) -> bool {
        !self.reported || self.backlog(now) < self.limit(mtu)
    }

    /// Whether a short packet may go to the device although there is no room for others.
    pub(crate) fn has_room_for_short(&self, now: Instant, mtu: u32) -> bool {
        !self.reported || self.backlog(now) < 2 * self.limit(mtu)
    }

    /// Whether the driver should report the device queue.
    pub(crate) fn wants_report(&self) -> bool {
        self.enabled && (self.queued > 0 || self.sent >= Pacer::UNREPORTED)
    }

    /// When there may be room again, given that there is none now.
    pub(crate) fn retry_at(&self, now: Instant, mtu: u32) -> Instant {
        let excess = self.backlog(now).saturating_sub(self.limit(mtu) / 2) as f64;
        let wait = self.rate.map_or(100_000.0, |rate| excess / rate);
        now + Duration::from_nanos(wait.clamp(20_000.0, 5_000_000.0) as u64)
    }

    /// Accounts for a packet given to the driver.
    pub(crate) fn sent(&mut self, bytes: u64) {
        if self.enabled {
            self.sent += bytes;
        }
    }

    /// Takes the driver's word on how many bytes wait.
    pub(crate) fn report(&mut self, now: Instant, queued: u64) {
        if !self.enabled {
            return;
        }
        self.reported = true;
        let elapsed = now.saturating_since(self.reported_at);
        let left = (self.queued + self.sent).saturating_sub(queued);
        if self.queued > 0 && queued > 0 {
            self.drained += left;
            self.drained_in += elapsed;
            if self.drained_in >= Pacer::SAMPLE && self.drained > 0 {
                self.sample(self.drained as f64 / self.drained_in.as_nanos() as f64);
                self.restart_sample();
            }
        } else {
            self.restart_sample();
            // The queue ran empty in between, so the link is at least this fast.
            if let Some(rate) = self.rate.filter(|_| elapsed >= Pacer::SAMPLE) {
                self.rate = Some(rate.max(left as f64 / elapsed.as_nanos() as f64));
            }
        }
        self.queued = queued;
        self.sent = 0;
        self.reported_at = self.reported_at.max(now);
    }

    fn restart_sample(&mut self) {
        self.drained = 0;
        self.drained_in = Duration::ZERO;
    }

    fn sample(&mut self, rate: f64) {
        self.rate = Some(self.rate.map_or(rate, |old| old + (rate - old) / 8.0));
    }

    /// Bytes believed to wait in the device queue.
    fn backlog(&self, now: Instant) -> u64 {
        let queued = self.queued + self.sent;
        match self.rate {
            Some(rate) => {
                let elapsed = now.saturating_since(self.reported_at).as_nanos() as f64;
                queued.saturating_sub((elapsed * rate) as u64)
            }
            None => queued,
        }
    }

    /// Bytes that may wait in the device queue.
    fn limit(&self, mtu: u32) -> u64 {
        match self.rate {
            Some(rate) => (Pacer::PACKETS * u64::from(mtu)).max((rate * Pacer::COVER) as u64),
            None => Pacer::BURST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device queue that drains at `rate` bytes per nanosecond.
    fn run(rate: f64, millis: u64) -> (Pacer, u64) {
        let mut pacer = Pacer::new(true);
        let (mut queue, mut longest) = (0.0_f64, 0.0_f64);
        for step in 0..millis * 20 {
            let now = Instant::from_nanos(step * 50_000);
            queue = (queue - rate * 50_000.0).max(0.0);
            if pacer.wants_report() {
                pacer.report(now, queue as u64);
            }
            while pacer.has_room(now, 1500) && queue < 1e7 {
                queue += 1500.0;
                pacer.sent(1500);
                if pacer.wants_report() {
                    pacer.report(now, queue as u64);
                }
            }
            if step > 400 {
                longest = longest.max(queue);
            }
        }
        (pacer, longest as u64)
    }

    #[test]
    fn finds_slow_and_fast_links() {
        for megabits in [50.0, 1000.0, 10_000.0] {
            let rate = megabits / 8000.0;
            let (pacer, longest) = run(rate, 200);
            let found = pacer.rate().expect("rate was found");
            assert!((0.8..1.25).contains(&(found / rate)), "{megabits} Mbit/s: found {found}, is {rate}");
            assert!(longest <= 12_000 + (rate * 300_000.0) as u64, "{megabits} Mbit/s: {longest} bytes queued");
        }
    }
}
