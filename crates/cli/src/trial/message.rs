use super::Spec;
use anyhow::{Result, bail};

/// The contents of a request: a sequence number at both ends, a fixed pattern between.
#[derive(Clone)]
pub struct Message {
    bytes: Vec<u8>,
    stamp: u64,
}

impl Message {
    /// Bytes of a sequence number.
    pub const STAMP: usize = 8;
    /// Fewest bytes that hold both sequence numbers.
    pub const SHORTEST: usize = 2 * Message::STAMP;

    /// A message of `spec.size` bytes.
    pub fn new(spec: &Spec) -> Message {
        let bytes = (0..spec.size).map(|at| (at * 31 + 7) as u8).collect();
        Message { bytes, stamp: 0 }
    }

    /// The message with sequence number `stamp`.
    pub fn stamped(&mut self, stamp: u64) -> &[u8] {
        let end = self.bytes.len() - Message::STAMP;
        self.bytes[..Message::STAMP].copy_from_slice(&stamp.to_le_bytes());
        self.bytes[end..].copy_from_slice(&stamp.to_le_bytes());
        self.stamp = stamp;
        &self.bytes
    }

    /// Checks that `answer` is the server's to this message as stamped last.
    pub fn check(&self, spec: &Spec, answer: &[u8]) -> Result<()> {
        if answer != spec.answer(&self.bytes) {
            bail!(
                "the answer to request {} differs from what the server had to return: {} bytes expected, {} came",
                self.stamp,
                spec.answer_len(),
                answer.len()
            );
        }
        Ok(())
    }

    /// The sequence number of a request or answer.
    pub fn stamp_of(message: &[u8]) -> Option<u64> {
        Some(u64::from_le_bytes(*message.first_chunk()?))
    }

    /// Checks on the server's side that a long request is whole: the same sequence number at both ends.
    pub fn check_request(spec: &Spec, request: &[u8]) -> Result<()> {
        if request.len() != spec.size || request.first_chunk::<8>() != request.last_chunk::<8>() {
            bail!("a request of {} bytes arrived damaged: {} bytes expected", request.len(), spec.size);
        }
        Ok(())
    }
}
