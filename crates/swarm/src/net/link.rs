use homarus_proto::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// A host's link to the switch. No rate means no limit: packets take no time but the delay.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// From the host to the switch, bits per second.
    pub up_rate: Option<u64>,
    /// From the switch to the host, bits per second.
    pub down_rate: Option<u64>,
    /// Between host and switch, each way.
    pub delay: Duration,
    /// Most bytes that wait at the switch port before the downlink, over all priorities.
    pub port_buffer: usize,
    /// Bytes in the host's own queue from which on the socket takes no more.
    pub send_buffer: u64,
}

impl LinkSpec {
    /// The same rate both ways, a deep buffer at the switch and the usual one in the socket.
    pub fn symmetric(rate: u64, delay: Duration) -> LinkSpec {
        LinkSpec { up_rate: Some(rate), down_rate: Some(rate), delay, port_buffer: 64 << 20, send_buffer: 212_992 }
    }

    /// No limit but a delay.
    pub fn ideal(delay: Duration) -> LinkSpec {
        LinkSpec { up_rate: None, down_rate: None, delay, port_buffer: usize::MAX, send_buffer: u64::MAX }
    }
}

/// Time that `bytes` take at `rate` bits per second.
pub(super) fn transmission_time(bytes: usize, rate: u64) -> Duration {
    Duration::from_nanos(bytes as u64 * 8_000_000_000 / rate.max(1))
}

/// The host's own queue and link toward the switch, first in first out.
#[derive(Clone, Debug)]
pub(super) struct Uplink {
    rate: Option<u64>,
    free_at: Instant,
}

impl Uplink {
    pub(super) fn new(rate: Option<u64>) -> Uplink {
        Uplink { rate, free_at: Instant::ZERO }
    }

    /// Bytes that wait or are being sent.
    pub(super) fn backlog(&self, now: Instant) -> u64 {
        let nanos = self.free_at.saturating_since(now).as_nanos() as u64;
        self.rate.map_or(0, |rate| (u128::from(nanos) * u128::from(rate)).div_ceil(8_000_000_000) as u64)
    }

    /// When no more than `bytes` will wait.
    pub(super) fn drained_to(&self, bytes: u64) -> Instant {
        self.rate.map_or(Instant::ZERO, |rate| self.free_at - transmission_time(bytes as usize, rate))
    }

    /// Queues a packet and gives the time when its last bit will have left.
    pub(super) fn send(&mut self, now: Instant, bytes: usize) -> Instant {
        let Some(rate) = self.rate else { return now };
        self.free_at = self.free_at.max(now) + transmission_time(bytes, rate);
        self.free_at
    }
}

/// The switch port before a host: eight strict priorities and one buffer.
#[derive(Clone, Debug)]
pub(super) struct Downlink {
    pub(super) rate: Option<u64>,
    queues: [VecDeque<(usize, usize)>; 8],
    occupied: u8,
    bytes: usize,
    capacity: usize,
    pub(super) busy: bool,
    pub(super) peak: usize,
    pub(super) dropped: u64,
}

impl Downlink {
    pub(super) fn new(rate: Option<u64>, capacity: usize) -> Downlink {
        Downlink { rate, queues: Default::default(), occupied: 0, bytes: 0, capacity, busy: false, peak: 0, dropped: 0 }
    }

    /// Queues a packet by its key; false if the buffer has no room for it.
    pub(super) fn push(&mut self, key: usize, priority: u8, bytes: usize) -> bool {
        if self.bytes + bytes > self.capacity {
            self.dropped += 1;
            return false;
        }
        let level = usize::from(priority & 7);
        self.queues[level].push_back((key, bytes));
        self.occupied |= 1 << level;
        self.bytes += bytes;
        self.peak = self.peak.max(self.bytes);
        true
    }

    /// Takes the first packet of the highest priority, and its length.
    pub(super) fn pop(&mut self) -> Option<(usize, usize)> {
        let level = self.occupied.checked_ilog2()? as usize;
        let (key, bytes) = self.queues[level].pop_front()?;
        if self.queues[level].is_empty() {
            self.occupied &= !(1 << level);
        }
        self.bytes -= bytes;
        Some((key, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uplink_is_first_in_first_out() {
        let mut uplink = Uplink::new(Some(8_000_000_000));
        let start = Instant::from_nanos(100);
        assert_eq!(uplink.send(start, 1_000), Instant::from_nanos(1_100));
        assert_eq!(uplink.send(start, 500), Instant::from_nanos(1_600));
        assert_eq!(uplink.backlog(start), 1_500);
        assert_eq!(uplink.backlog(Instant::from_nanos(1_500)), 100);
        assert_eq!(uplink.drained_to(500), Instant::from_nanos(1_100));
        assert_eq!(uplink.backlog(Instant::from_nanos(9_000)), 0);
    }

    #[test]
    fn downlink_is_strict_and_bounded() {
        let mut port = Downlink::new(Some(1), 300);
        assert!(port.push(1, 0, 100));
        assert!(port.push(2, 7, 100));
        assert!(port.push(3, 0, 100));
        assert!(!port.push(4, 7, 1));
        assert_eq!((port.peak, port.dropped), (300, 1));
        let order: Vec<usize> = std::iter::from_fn(|| port.pop().map(|(key, _)| key)).collect();
        assert_eq!(order, [2, 1, 3]);
    }
}
