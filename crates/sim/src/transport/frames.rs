/// How a message is cut into frames: equal ones, of which the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Contents of a full frame, bytes.
    pub payload: u32,
    /// What a frame has around its contents, preamble and gap included, bytes.
    pub overhead: u32,
    /// No frame is smaller, bytes on the wire.
    pub smallest: u32,
}

/// The smallest Ethernet frame, with preamble and gap, bytes.
pub const SMALLEST_FRAME: u32 = 84;

impl Frames {
    /// The Homa paper's (SIGCOMM'18 simulations): 1,442 bytes in a full frame of 1,538.
    pub const PAPER: Frames = Frames { payload: 1_442, overhead: 96, smallest: SMALLEST_FRAME };

    /// How many frames a message takes; at least one.
    pub fn count(self, length: u32) -> u32 {
        length.div_ceil(self.payload).max(1)
    }

    /// Contents of one of a message's frames, bytes.
    pub fn contents(self, length: u32, frame: u32) -> u32 {
        length.saturating_sub(frame * self.payload).min(self.payload)
    }

    /// Bytes on the wire of a frame with so much in it.
    pub fn wire(self, contents: u32) -> u32 {
        (contents + self.overhead).max(self.smallest)
    }

    /// Bytes on the wire of one of a message's frames.
    pub fn wire_of(self, length: u32, frame: u32) -> u32 {
        self.wire(self.contents(length, frame))
    }

    /// Bytes on the wire of all frames of a message.
    pub fn total(self, length: u32) -> u64 {
        let last = self.count(length) - 1;
        u64::from(last) * u64::from(self.wire(self.payload)) + u64::from(self.wire_of(length, last))
    }

    /// The frames of a message, bytes on the wire.
    pub fn of(self, length: u32) -> impl Iterator<Item = u32> {
        (0..self.count(length)).map(move |frame| self.wire_of(length, frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_hold_the_message() {
        for length in [0, 1, 1_441, 1_442, 1_443, 100_000] {
            let frames = Frames::PAPER;
            let contents: u32 = (0..frames.count(length)).map(|frame| frames.contents(length, frame)).sum();
            assert_eq!(contents, length);
            assert_eq!(frames.of(length).map(u64::from).sum::<u64>(), frames.total(length));
        }
        assert_eq!(Frames::PAPER.of(1_443).collect::<Vec<_>>(), [1_538, 97]);
        assert_eq!(Frames::PAPER.of(0).collect::<Vec<_>>(), [96]);
    }
}
