//! What messages contain: slices of one pool of random bytes, so that no run has to make or copy contents.

use bytes::Bytes;
use homarus_proto::Payload;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::LazyLock;

/// Longest message with real contents, bytes.
pub const LONGEST: usize = 1 << 20;

const POOL: usize = 2 * LONGEST;

static CONTENTS: LazyLock<Bytes> = LazyLock::new(|| {
    let mut pool = vec![0; POOL];
    Pcg64Mcg::seed_from_u64(0x0068_6f6d_6172_7573).fill_bytes(&mut pool);
    pool.into()
});

/// The contents of a message, by description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Real bytes: that part of the pool.
    Real {
        /// Where they begin.
        start: u32,
        /// How many.
        len: u32,
    },
    /// A length only, bytes.
    Phantom(u32),
}

impl Message {
    /// Real contents that depend on `key`. Panics if `len` exceeds [`LONGEST`].
    pub fn real(key: u64, len: usize) -> Message {
        assert!(len <= LONGEST, "{len} bytes of contents");
        let start = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LONGEST.ilog2());
        Message::Real { start: start as u32, len: len as u32 }
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        match self {
            Message::Real { len, .. } | Message::Phantom(len) => len as usize,
        }
    }

    /// Whether the length is zero.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// As a payload to send.
    pub fn payload(self) -> Payload {
        match self {
            Message::Real { start, len } => Payload::Bytes(CONTENTS.slice(start as usize..(start + len) as usize)),
            Message::Phantom(len) => Payload::Phantom(len as usize),
        }
    }

    /// Whether `payload` is this message.
    pub fn is(self, payload: &Payload) -> bool {
        match self {
            Message::Real { .. } => *payload == self.payload(),
            Message::Phantom(len) => payload.len() == len as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differs_by_key_and_by_any_byte() {
        let message = Message::real(1, 3_000);
        assert!(message.is(&message.payload()));
        assert!(!message.is(&Message::real(2, 3_000).payload()));
        let mut bytes = message.payload().into_bytes().to_vec();
        bytes[1_234] ^= 1;
        assert!(!message.is(&bytes.into()));
    }
}
