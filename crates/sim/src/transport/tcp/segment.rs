/// What a packet of TCP carries.
#[derive(Clone, Debug)]
pub struct TcpSegment {
    /// All bytes before it have arrived at this packet's sender.
    pub(super) ack: u64,
    /// Where the connection is found at the packet's sender.
    pub(super) here: u32,
    /// Where it is found at the receiver; [`UNKNOWN`] until that has told.
    pub(super) there: u32,
    /// Which of the connections that one host has opened to the other it is.
    pub(super) number: u32,
    pub(super) flags: u8,
    /// Bytes of data.
    pub(super) length: u16,
    pub(super) body: Body,
}

/// No place yet.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// The sender opened the connection.
pub(super) const OPENER: u8 = 1;
/// The acknowledgement tells of marks (ECE).
pub(super) const ECHO: u8 = 2;
/// The window has been reduced because of marks (CWR).
pub(super) const REDUCED: u8 = 4;

/// Data, or what an acknowledgement alone tells. A receiver with gaps acknowledges every segment at once, so that data need
/// not carry blocks.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Data { seq: u64, ends: Ends },
    Blocks(Blocks),
}

/// Up to three ranges that have arrived behind a gap, from and to, counted from the acknowledgement (RFC 2018). Unused ones
/// are empty.
pub(super) type Blocks = [(u32, u32); 3];

/// The messages that end within a segment. What real applications find in their bytes travels beside them here.
#[derive(Clone, Debug, Default)]
pub(super) enum Ends {
    #[default]
    None,
    One(End),
    Many(Box<[End]>),
}

/// A message ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) id: u32,
    /// Bytes of the segment that belong to it or to messages before it.
    pub(super) at: u16,
    /// A request or a response: its acknowledgement may travel with what answers it.
    pub(super) interactive: bool,
}

impl Ends {
    pub(super) fn as_slice(&self) -> &[End] {
        match self {
            Ends::None => &[],
            Ends::One(end) => std::slice::from_ref(end),
            Ends::Many(ends) => ends,
        }
    }
}

/// Ethernet's header, checksum, preamble and gap.
const ETHERNET: u32 = 38;
/// The smallest frame, with preamble and gap.
const SMALLEST: u32 = 84;

/// Bytes on the wire of a segment.
pub(super) const fn frame(headers: u32, payload: u32) -> u32 {
    let bytes = ETHERNET + headers + payload;
    if bytes < SMALLEST { SMALLEST } else { bytes }
}

/// Bytes of the option that carries blocks, padding included.
pub(super) fn option_bytes(blocks: &Blocks) -> u32 {
    match blocks.iter().filter(|(from, to)| to > from).count() as u32 {
        0 => 0,
        count => 4 + 8 * count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::TcpSetup;

    #[test]
    fn segments_are_small_in_memory_and_of_the_right_size_on_the_wire() {
        assert!(size_of::<TcpSegment>() <= 56, "{}", size_of::<TcpSegment>());
        assert_eq!(TcpSetup::LINUX.frames(1_448 + 1).collect::<Vec<_>>(), [1_538, 91]);
        assert_eq!(frame(52, 0), 90);
        assert_eq!(frame(40, 0), 84, "without timestamps an acknowledgement is a minimum frame");
        assert_eq!(option_bytes(&[(1, 2), (3, 4), (0, 0)]), 20);
    }
}
