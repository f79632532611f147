use crate::Instant;
use std::time::Duration;

/// The rate at which contents come in while there is always some under way: what the link of this host carries.
///
/// The fastest of lately counts, for slow senders make the others. It is a measure of the way in, where the pacer's is
/// one of the way out, which a host that mainly receives never fills.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// When the present chunk began, and what has come of it.
    began: Option<Instant>,
    bytes: u64,
    /// The chunks before, if nothing lies between: bytes and nanoseconds.
    previous: [(u64, u64); Arrivals::CHUNKS - 1],
    /// Chunks since the last rest.
    chunks: usize,
    /// Fastest in the current and in the previous interval, bytes per nanosecond.
    fastest: [f64; 2],
    interval_began: Instant,
}

impl Arrivals {
    /// Bytes of a chunk.
    const CHUNK: u64 = 65_536;
    /// Chunks of a sample: more than may be under way, for what a pause of this process has piled up comes at once.
    const CHUNKS: usize = 8;
    /// After this time without a sample as fast, a slower link is believed.
    const INTERVAL: Duration = Duration::from_secs(5);

    /// Notes that contents came.
    pub(crate) fn note(&mut self, now: Instant, bytes: u32) {
        let Some(began) = self.began else {
            self.began = Some(now);
            return;
        };
        self.bytes += u64::from(bytes);
        let elapsed = now.saturating_since(began).as_nanos() as u64;
        if self.bytes < Arrivals::CHUNK || elapsed == 0 {
            return;
        }
        if self.chunks + 1 >= Arrivals::CHUNKS {
            let (bytes, nanos) =
                self.previous.iter().fold((self.bytes, elapsed), |sum, chunk| (sum.0 + chunk.0, sum.1 + chunk.1));
            self.sample(now, bytes as f64 / nanos as f64);
        }
        self.previous[self.chunks % (Arrivals::CHUNKS - 1)] = (self.bytes, elapsed);
        self.chunks += 1;
        self.began = Some(now);
        self.bytes = 0;
    }

    /// Notes that nothing is under way, so that the time until more comes says nothing.
    pub(crate) fn rest(&mut self) {
        self.began = None;
        self.bytes = 0;
        self.chunks = 0;
    }

    /// Rate of the link, bytes per nanosecond, once it was seen full.
    pub(crate) fn rate(&self) -> Option<f64> {
        let fastest = self.fastest[0].max(self.fastest[1]);
        (fastest > 0.0).then_some(fastest)
    }

    fn sample(&mut self, now: Instant, rate: f64) {
        if now.saturating_since(self.interval_began) >= Arrivals::INTERVAL {
            self.fastest = [0.0, self.fastest[0]];
            self.interval_began = now;
        }
        self.fastest[0] = self.fastest[0].max(rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u32 = 1_412;

    /// Packets at a steady pace, handed over every `batch` packets.
    fn receive(arrivals: &mut Arrivals, begin: u64, packets: u64, nanos_a_packet: u64, batch: u64) -> u64 {
        for packet in 0..packets {
            let handed_over = (packet / batch + 1) * batch * nanos_a_packet;
            arrivals.note(Instant::from_nanos(begin + handed_over), PACKET);
        }
        begin + packets * nanos_a_packet
    }

    #[test]
    fn steady_packets_tell_the_rate_however_they_are_batched() {
        for batch in [1, 7, 40] {
            let mut arrivals = Arrivals::default();
            receive(&mut arrivals, 0, 1_000, 250_000, batch);
            let found = arrivals.rate().expect("a rate") * 250_000.0 / f64::from(PACKET);
            assert!((0.95..1.4).contains(&found), "batches of {batch}: {found} of the rate");
        }
    }

    #[test]
    fn a_pause_of_this_process_makes_no_fast_link() {
        let mut arrivals = Arrivals::default();
        let now = receive(&mut arrivals, 0, 1_000, 250_000, 1);
        let now = receive(&mut arrivals, now, 130, 250_000, 130);
        receive(&mut arrivals, now, 1_000, 250_000, 1);
        let found = arrivals.rate().expect("a rate") * 250_000.0 / f64::from(PACKET);
        assert!((0.95..1.7).contains(&found), "{found} of the rate");
    }

    #[test]
    fn time_with_nothing_under_way_does_not_count() {
        let mut arrivals = Arrivals::default();
        let mut now = 0;
        for _ in 0..10 {
            now = receive(&mut arrivals, now, 600, 1_000, 1) + 1_000_000_000;
            arrivals.rest();
        }
        let found = arrivals.rate().expect("a rate") * 1_000.0 / f64::from(PACKET);
        assert!((0.99..1.01).contains(&found), "{found} of the rate");
    }

    #[test]
    fn short_messages_alone_tell_nothing() {
        let mut arrivals = Arrivals::default();
        for message in 0..1_000 {
            receive(&mut arrivals, message * 1_000_000, 10, 1_000, 1);
            arrivals.rest();
        }
        assert_eq!(arrivals.rate(), None);
    }

    #[test]
    fn a_slower_link_is_believed_after_a_while() {
        let mut arrivals = Arrivals::default();
        let now = receive(&mut arrivals, 0, 1_000, 1_000, 1);
        receive(&mut arrivals, now, 60_000, 250_000, 1);
        let found = arrivals.rate().expect("a rate") * 250_000.0 / f64::from(PACKET);
        assert!((0.95..1.1).contains(&found), "{found} of the rate");
    }
}
