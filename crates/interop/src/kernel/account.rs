//! What the model holds against the peer that it talks to.

use super::wire::Kind;
use homarus_proto::Instant;
use std::ops::Range;

/// A packet that the Linux module would have dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// When it came.
    pub at: Instant,
    /// Its type, as far as it can be told.
    pub kind: Option<Kind>,
    /// Its sender's id of the RPC; 0 if it cannot be told.
    pub id: u64,
    /// Why it was of no use.
    pub why: Why,
}

/// Why a packet is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Shorter than its type.
    TooShort,
    /// Of no type that there is.
    UnknownType,
    /// An ACK that claims more acks than there is room for.
    TooManyAcks,
    /// DATA without contents.
    Empty,
    /// DATA that reaches beyond the end of its message.
    BeyondEnd {
        /// Where it begins.
        offset: u32,
        /// Bytes in the message.
        length: u32,
    },
    /// DATA with another message length than the first packet of the message.
    OtherLength {
        /// What the first packet said.
        first: u32,
        /// What this one says.
        now: u32,
    },
    /// A message longer than Linux takes, bytes.
    TooLong(u32),
    /// DATA with bytes on both sides of a gap's edge.
    Straddles {
        /// Its part of the message.
        packet: Range<u32>,
        /// The edge.
        edge: u32,
    },
    /// For a port that nobody has opened.
    NoSuchPort(u16),
    /// About an RPC that there never was.
    NeverKnown,
    /// About an RPC that has ended, or a part of it that is over. Any network that delays or repeats packets makes
    /// such; they do no harm.
    Stale,
    /// DATA that had come before. The same applies.
    Duplicate,
}

impl Why {
    /// Whether a peer that makes no mistakes can cause it, on a network that loses, delays and repeats packets.
    pub fn is_harmless(&self) -> bool {
        matches!(self, Why::Stale | Why::Duplicate)
    }
}

/// A packet that the Linux module takes, and that no Linux peer sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// When it came.
    pub at: Instant,
    /// Its type.
    pub kind: Kind,
    /// Its sender's id of the RPC.
    pub id: u64,
    /// What is wrong with it.
    pub rule: Rule,
}

/// A rule that a packet breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Reserved fields, or the type's data offset, do not hold what they must.
    Fields,
    /// DATA begins beyond what was unscheduled, granted or asked for.
    NotGranted,
    /// `incoming` exceeds the message, or differs among first transmissions.
    Incoming,
    /// `incoming` of a retransmission is not the end of the range that is sent again.
    RetransmittedRange,
    /// A retransmission says where it belongs only in `sequence`.
    ImplicitRetransmission,
    /// A retransmission of what was never asked for.
    UnaskedRetransmission,
    /// Control packets travel at the highest priority, DATA at one of eight.
    Priority,
    /// Unscheduled DATA that knows the receiver's cutoffs travels at another priority than they say.
    Cutoffs,
    /// A grant beyond the end of the message.
    Grant,
    /// A request to send again what the message does not have.
    Resend,
    /// UNKNOWN that answers no RESEND.
    UnaskedUnknown,
    /// BUSY that answers neither RESEND nor NEED_ACK.
    UnaskedBusy,
    /// CUTOFFS that Linux, which reads them as signed numbers, would take for negative, or version 0.
    CutoffsValue,
    /// CUTOFFS that answer no DATA with another version.
    UnaskedCutoffs,
    /// NEED_ACK before the whole response was sent, or from a client.
    NeedAck,
    /// An ack for a response that has not come.
    Ack,
}
