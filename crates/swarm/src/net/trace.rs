use super::Packet;
use homarus_proto::Instant;

/// A running hash over all that happens: two runs with the same hash took the same course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> Self {
        TraceHash(0x9e37_79b9_7f4a_7c15)
    }
}

impl TraceHash {
    /// The hash so far.
    pub fn value(self) -> u64 {
        self.0
    }

    /// Takes in one number.
    pub fn add(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }

    /// Takes in a packet: when, between whom, the header and the length.
    pub fn add_packet(&mut self, now: Instant, packet: &Packet) {
        self.add(now.as_nanos());
        self.add(u64::from(packet.to().port()) << 32 | packet.transmit.len() as u64);
        for chunk in packet.transmit.header().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }
}
