use crate::kernel::wire::{Body, Packet};
use homarus_proto::Instant;
use std::fmt;
use std::time::Duration;

/// A packet on its way, as the judge and the trace see it.
#[derive(Clone, Debug)]
pub struct Sight {
    /// When it was sent.
    pub at: Instant,
    /// Whether the model sent it; otherwise the endpoint did.
    pub from_kernel: bool,
    /// The packet, without contents.
    pub packet: Packet,
    /// Bytes of contents.
    pub contents: usize,
    /// Its priority.
    pub priority: u8,
}

impl Sight {
    /// Whether it is DATA that is sent for the first time.
    pub fn is_first_copy(&self) -> bool {
        matches!(&self.packet.body, Body::Data(data) if !data.retransmit)
    }

    /// Offset of DATA.
    pub fn data_offset(&self) -> Option<u32> {
        match &self.packet.body {
            Body::Data(data) => Some(self.packet.offset(data)),
            _ => None,
        }
    }
}

impl fmt::Display for Sight {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.at.as_nanos() / 1_000;
        let sender = if self.from_kernel { "kernel " } else { "homarus" };
        write!(out, "{micros:>10} µs {sender} p{} {:x} ", self.priority, self.packet.sender_id)?;
        match &self.packet.body {
            Body::Data(data) => {
                let start = self.packet.offset(data);
                let end = start as usize + self.contents;
                write!(out, "DATA {start}..{end} of {}, incoming {}", data.message_length, data.incoming)?;
                write!(out, ", ack {:x}, cutoffs {}", data.ack.0, data.cutoff_version)?;
                if data.retransmit { write!(out, ", again") } else { Ok(()) }
            }
            other => write!(out, "{other:?}"),
        }
    }
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Deliver,
    /// It is lost.
    Lose,
    /// It arrives later than others.
    Delay(Duration),
    /// It arrives, and again after this time.
    Repeat(Duration),
}

/// Decides the fate of packets.
pub type Judge = Box<dyn FnMut(&Sight) -> Fate>;
