//! Links, queues and switches.

mod control;
mod credits;
mod network;
mod packet;
mod pfc;
mod port;
mod topology;

pub use control::FlowControl;
pub use credits::CreditRules;
pub use network::{Counts, Network, NetworkRules, Paths};
pub use packet::{Ecn, Packet};
pub use pfc::PfcRules;
pub use port::{Hop, Marking, Node, Order, PortCounters, PortRules, PortSpec};
pub use topology::{Delays, LeafSpine, Topology};

pub(crate) use network::Event;
