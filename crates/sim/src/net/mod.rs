//! Links, queues and switches.

mod network;
mod packet;
mod port;
mod topology;

pub use network::{Counts, Network, NetworkRules, Paths};
pub use packet::{Ecn, Packet};
pub use port::{Hop, Marking, Node, Order, PortCounters, PortRules, PortSpec};
pub use topology::{Delays, LeafSpine, Topology};

pub(crate) use network::Event;
