//! Contents of messages.

use bytes::Bytes;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Random bytes of which every message is a prefix: no copy is made to send one.
#[derive(Clone, Debug)]
pub(crate) struct Payload(Bytes);

impl Payload {
    /// For messages of at most `longest` bytes.
    pub(crate) fn new(longest: u32) -> Payload {
        let mut bytes = vec![0; longest as usize];
        Pcg64Mcg::seed_from_u64(1).fill_bytes(&mut bytes);
        Payload(Bytes::from(bytes))
    }

    /// A message; no longer than the longest.
    pub(crate) fn message(&self, length: u32) -> Bytes {
        self.0.slice(..(length as usize).min(self.0.len()))
    }
}
