use super::{HostId, Packet};
use homarus_proto::{Discard, Instant};

/// Something that an observer of the network sees.
#[derive(Debug)]
pub enum Sight<'a> {
    /// A host handed a packet to its uplink.
    Sent(&'a Packet),
    /// The judge dropped it.
    Lost(&'a Packet),
    /// The buffer of a switch port was full.
    Overflow(&'a Packet),
    /// A switch port begins to send a packet down to its host.
    Downlink {
        /// The receiver.
        host: HostId,
        /// When its last bit will have been sent.
        until: Instant,
        /// The packet.
        packet: &'a Packet,
    },
    /// A packet reached an endpoint.
    Delivered {
        /// The receiver.
        host: HostId,
        /// The packet.
        packet: &'a Packet,
        /// What the endpoint made of it.
        result: Result<(), Discard>,
    },
    /// A packet went to an address where nobody lives.
    Outside(&'a Packet),
}

/// Is shown everything that happens on the network.
pub type Observer = Box<dyn FnMut(Instant, Sight<'_>)>;
